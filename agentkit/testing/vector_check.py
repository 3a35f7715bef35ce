"""Checks that an environment behaves in a vector as it does alone."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode, VectorEnv

from agentkit.envs.vector import vectorize
from agentkit.testing.playing import Chooser, Turn, act, difference, ensure, start
from agentkit.wrappers.vector.infos import info_of

SEEDS = (11, 12)


def check_vectors(
    build: Callable[[], gym.Env],
    *,
    autoreset_modes: Sequence[AutoresetMode] = tuple(AutoresetMode),
    steps: int = 12,
    actions: Sequence[str] = (),
    copy: Callable[[], gym.Env] | None = None,
    wrap: Callable[[VectorEnv], VectorEnv] | None = None,
) -> None:
    """Two copies in Sync and Async vectors: every text, reward, flag and info is that of the same copy played alone.

    Args:
        build: builds one copy; it is pickled for the Async vector's workers.
        autoreset_modes: the modes to try.
        steps: how many vector steps.
        actions: what to do where the environment lists no admissible actions.
        copy: builds what the vector is made of, where ``wrap`` adds to it what ``build`` has further; None = ``build``.
        wrap: what to put around the vector; None = nothing.

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
            inside = vectorize([copy or build] * len(SEEDS), mode=mode, autoreset_mode=autoreset_mode)
            vector = inside if wrap is None else wrap(inside)
            _compare(vector, f"{mode} vector, autoreset {autoreset_mode.value}", expected)


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


def _compare(vector: VectorEnv, name: str, expected: Sequence[Sequence[Turn]]) -> None:
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


def _drive(vector: VectorEnv, plans: Sequence[Sequence[Turn]]) -> list[list[Turn]]:
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
