"""Checks that a snapshot holds everything that an episode depends on."""

import pickle
from collections.abc import Sequence

import gymnasium as gym
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from agentkit.testing.playing import Turn, act, difference, ensure, replay, same


def can_branch(env: gym.Env) -> bool:
    """There are ``snapshot`` and ``restore``, and no wrapper of Gymnasium's own whose state they would miss.

    `TimeLimit`, for one, goes on counting when the environment inside it goes back.
    """
    layer = env
    while isinstance(layer, gym.Wrapper):
        own = type(layer).__module__.startswith("gymnasium.")
        if own and not isinstance(layer, (OrderEnforcing, PassiveEnvChecker)):
            return False
        layer = layer.env
    return env.has_wrapper_attr("snapshot") and env.has_wrapper_attr("restore")


def check_snapshot(env: gym.Env, seed: int, turns: Sequence[Turn]) -> None:
    """Take a snapshot halfway through an episode, go on, come back, and go on once more in the same way.

    Args:
        env: an environment, or a stack of wrappers, with ``snapshot`` and ``restore``.
        seed: what the episode ``turns`` was reset with.
        turns: an episode of this environment.

    Raises:
        AssertionError: with one sentence that names the first difference.
    """
    half = (len(turns) + 1) // 2
    replay(env, seed, turns[:half])
    snapshot = pickle.loads(pickle.dumps(env.get_wrapper_attr("snapshot")()))
    rest = [act(env, turn.action) for turn in turns[half:]]
    observation, info = env.get_wrapper_attr("restore")(snapshot)
    seen = turns[half - 1].observation
    ensure(observation == seen, f"restore() gave {observation!r}, but the snapshot was taken at {seen!r}")
    for key in ("admissible_actions", "won", "goal"):
        was = turns[half - 1].info[key]
        ensure(same(info.get(key), was), f"restore() gave info[{key!r}] = {info.get(key)!r}, but it was {was!r}")
    fault = difference(rest, [act(env, turn.action) for turn in turns[half:]])
    ensure(fault is None, f"the same actions differ after restore(): {fault}")
