"""Checks that an environment behaves in a vector as it does alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from agentkit.envs.vector import vectorize
from agentkit.testing.playing import Chooser, Turn, act, difference, ensure, start

SEEDS = (11, 12)


def check_vectors(
    build: Callable[[], gym.Env],
    *,
    autoreset_modes: Sequence[AutoresetMode] = tuple(AutoresetMode),
    steps: int = 12,
    actions: Sequence[str] = (),
) -> None:
    """Two copies in Sync and Async vectors: every text, reward, flag and info is that of the same copy played alone.

    Args:
        build: builds one copy; it is pickled for the Async vector's workers.
        autoreset_modes: the modes to try.
        steps: how many vector steps.
        actions: what to do where the environment lists no admissible actions.

    Raises:
        AssertionError: with one sentence that names the vector, the copy and the first difference.
    """
    for autoreset_mode in autoreset_modes:
        expected = [_alone(build(), seed, autoreset_mode, steps, actions) for seed in SEEDS]
        if autoreset_mode is AutoresetMode.DISABLED:
            # Nothing may be stepped after an end, so all copies stop where the first one ended.
            shortest = min(map(len, expected))
            expected = [turns[:shortest] for turns in expected]
        for mode in ("sync", "async"):
            _compare(build, mode, autoreset_mode, expected)


def _alone(env: gym.Env, seed: int, autoreset_mode: AutoresetMode, steps: int, actions: Sequence[str]) -> list[Turn]:
    """What one copy has to do in a vector, worked out without one."""
    choose = Chooser(env, seed, actions)
    turns = [start(env, seed)]
    info, over = turns[0].info, False
    for _ in range(steps):
        action = choose(info)
        if over and autoreset_mode is AutoresetMode.DISABLED:
            break
        if over and autoreset_mode is AutoresetMode.NEXT_STEP:
            reset = start(env, None)
            turn, over = Turn(action, reset.observation, reset.info), False
        else:
            turn = act(env, action)
            over = turn.ended
        if over and autoreset_mode is AutoresetMode.SAME_STEP:
            turn, over = _with_reset(turn, start(env, None)), False
        turns.append(turn)
        info = turn.info
    env.close()
    return turns


def _with_reset(last: Turn, reset: Turn) -> Turn:
    info = {**reset.info, "final_obs": last.observation, "final_info": last.info}
    return Turn(last.action, reset.observation, info, last.reward, last.terminated, last.truncated)


def _compare(
    build: Callable[[], gym.Env],
    mode: Literal["sync", "async"],
    autoreset_mode: AutoresetMode,
    expected: Sequence[Sequence[Turn]],
) -> None:
    vector = vectorize([build] * len(expected), mode=mode, autoreset_mode=autoreset_mode)
    name = f"{mode} vector, autoreset {autoreset_mode.value}"
    try:
        found = _drive(vector, expected)
        for i, turns in enumerate(expected):
            fault = difference(turns, found[i])
            ensure(fault is None, f"{name}, copy {i}: alone and in the vector differ: {fault}")
        # A reset in the middle of whatever the copies were doing starts anew, and the first action counts.
        again = _drive(vector, [turns[:2] for turns in expected])
        for i, turns in enumerate(expected):
            fault = difference(turns[:2], again[i])
            ensure(fault is None, f"{name}, copy {i}: a second reset does not start anew: {fault}")
    finally:
        vector.close()


def _drive(vector: gym.vector.VectorEnv, plans: Sequence[Sequence[Turn]]) -> list[list[Turn]]:
    """Reset the vector, and do in each copy what its plan says."""
    seeds: Any = list(SEEDS)
    observations, infos = vector.reset(seed=seeds)
    found = [[Turn(None, observations[i], info_of(infos, i))] for i in range(len(plans))]
    for turns in zip(*(plan[1:] for plan in plans), strict=True):
        actions = tuple(turn.action for turn in turns)
        observations, rewards, terminations, truncations, infos = vector.step(actions)
        for i, action in enumerate(actions):
            turn = Turn(action, observations[i], info_of(infos, i), rewards[i], terminations[i], truncations[i])
            found[i].append(turn)
    return found


def info_of(infos: Mapping[str, Any], index: int) -> dict[str, Any]:
    """The info of one copy, out of the infos of a vector environment."""
    info = {}
    for key, column in infos.items():
        if not infos.get(f"_{key}", np.zeros(index + 1, bool))[index]:
            continue
        info[key] = info_of(column, index) if isinstance(column, Mapping) else column[index]
    return info
