"""`ExpertActor`: players to learn from and to measure against."""

import difflib
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from agentkit.envs.alfworld.explorer import Explorer

KINDS = ("planner", "explorer")


class ExpertActor:
    """An actor that solves the tasks of ALFWorld and WebShop.

    Args:
        kind: "planner" knows the whole state of the moment that ``env`` is in, and answers the environment's own
            ``expert_action()`` there (in ALFWorld the first action of a shortest plan); "explorer" plays ALFWorld
            knowing only what an agent has been shown in this episode, and searches.
        env: the environment that is played, with any wrappers; only the planner needs it.

    Raises:
        ValueError: the kind is unknown, or the planner has no environment.
        TypeError: the environment has no ``expert_action()``.
    """

    def __init__(self, kind: str = "planner", env: gym.Env | None = None):
        if kind not in KINDS:
            close = difflib.get_close_matches(str(kind), KINDS, n=1) or KINDS
            raise ValueError(f"unknown expert {kind!r}; did you mean {' or '.join(map(repr, close))}?")
        self._play = Explorer() if kind == "explorer" else _Planner(env)

    def reset(self) -> None:
        """Forget the last episode."""
        self._play.reset()

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action; the explorer's is always admissible or "look".

        Raises:
            ValueError: no plan wins from here, or the explorer does not understand the goal.
        """
        return self._play(observation, info)

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Remember a step that another player chose."""
        self._play.observe(observation, info, action)


class _Planner:
    def __init__(self, env: gym.Env | None):
        if env is None:
            raise ValueError("ExpertActor('planner') needs the environment: ExpertActor('planner', env)")
        if not hasattr(env.unwrapped, "expert_action"):
            raise TypeError(
                f"ExpertActor('planner') plays environments with an expert_action() method, such as ALFWorldEnv and "
                f"WebShopEnv, got {type(env.unwrapped).__name__}"
            )
        self._env: Any = env.unwrapped

    def reset(self) -> None:
        """Nothing to forget: the state says it all."""

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Nothing to remember either."""

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        return self._env.expert_action()
