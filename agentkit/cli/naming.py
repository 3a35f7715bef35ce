"""Environments and actors by the names that the command line takes."""

import difflib
from typing import Any

import gymnasium as gym

import agentkit  # noqa: F401 - registers the environments
from agentkit.rollout import Actor

ACTORS = ("random", "expert", "explorer", "readout")


def make_env(env_id: str, **options: Any) -> gym.Env:
    """``gymnasium.make`` with the options that are set.

    Raises:
        ValueError: there is no environment of that id; the message lists those of agentkit.
    """
    if env_id not in gym.registry:
        known = sorted(name for name in gym.registry if name.startswith("agentkit/"))
        raise ValueError(f"no environment {env_id!r}{_near(env_id, known)}; agentkit has {', '.join(known)}")
    return gym.make(env_id, **{name: value for name, value in options.items() if value is not None})


def make_actor(name: str, env: gym.Env, seed: int) -> Actor:
    """The actor of that name, for that environment.

    Raises:
        ValueError: there is no actor of that name.
        ImportError: it needs an extra that is missing.
    """
    if name == "random":
        from agentkit.actors import RandomActor

        return RandomActor(seed)
    if name in ("expert", "explorer"):
        from agentkit.actors import ExpertActor

        return ExpertActor("planner" if name == "expert" else name, env)
    if name == "readout":
        from agentkit.actors import ConstrainedReadoutActor
        from agentkit.models import ConstrainedReadout, smollm2

        return ConstrainedReadoutActor(ConstrainedReadout(*smollm2()))
    raise ValueError(f"no actor {name!r}{_near(name, ACTORS)}; choose from {', '.join(ACTORS)}")


def _near(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
