"""`check_text_env`: does an environment follow the text-environment contract?"""

import itertools
import math
import pickle
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode

from agentkit.envs.contract import contract_violations
from agentkit.testing.pickling import pickled
from agentkit.testing.playing import Chooser, Turn, act, difference, ensure, play, replay, start
from agentkit.testing.snapshot_check import can_branch, check_snapshot
from agentkit.testing.vector_check import check_vectors

NONSENSE = "agentkit check: no such action"


def check_text_env(
    env: gym.Env, *, seed: int = 7, max_steps: int = 60, actions: Sequence[str] = (), stochastic: bool = False
) -> None:
    """Raise AssertionError, with one sentence, for the first way in which ``env`` breaks the contract.

    Checked: info on every reset and step; observations and actions in their spaces; the same seed and actions give the
    same episode, in ``env``, in a pickled copy, and after other episodes; a no-op repeated stays a no-op; an action
    that is not a str raises TypeError; a step before the reset or after the end raises; `snapshot` and `restore` where
    it has them; two copies in Sync and Async vectors keep their texts.

    Args:
        env: the environment; it must pickle, since the copies are made that way.
        seed: of the episode that is played with random admissible actions.
        max_steps: the longest that episode may get.
        actions: what to do where the environment lists no admissible actions.
        stochastic: the same action in the same state may lead elsewhere (by chance, or because a gate withheld it),
            so a no-op repeated may change something.
    """
    blob = pickled(env)
    _check_before_reset(pickle.loads(blob))
    turns = list(play(env, seed, Chooser(env, seed, actions), max_steps))
    for number, turn in enumerate(turns):
        _check_turn(env, turn, "reset" if number == 0 else f"step {number} ({turn.action!r})")
    _check_constant(turns)
    _check_after_end(env, turns)
    _check_repeatable(env, pickle.loads(blob), seed, turns, actions)
    _check_no_ops(env, seed, turns, stochastic)
    _check_bad_actions(env, seed)
    if can_branch(env):
        check_snapshot(env, seed, turns)
    check_vectors(
        lambda: pickle.loads(blob), autoreset_modes=(AutoresetMode.NEXT_STEP,), steps=min(6, max_steps), actions=actions
    )


def _check_turn(env: gym.Env, turn: Turn, where: str) -> None:
    faults = contract_violations(turn.info)
    ensure(not faults, f"{where}: {'; '.join(faults)}")
    ensure(isinstance(turn.observation, str), f"{where}: the observation must be a str, got {turn.observation!r}")
    space = env.observation_space
    ensure(turn.observation in space, f"{where}: {turn.observation!r} is not in {space}")
    for action in turn.info["admissible_actions"]:
        ensure(action in env.action_space, f"{where}: the admissible action {action!r} is not in {env.action_space}")
    reward: Any = turn.reward
    ensure(not isinstance(reward, str) and math.isfinite(reward), f"{where}: the reward must be finite, got {reward!r}")
    for name, flag in (("terminated", turn.terminated), ("truncated", turn.truncated)):
        ensure(flag in (True, False), f"{where}: {name} must be a bool, got {flag!r}")


def _check_constant(turns: Sequence[Turn]) -> None:
    for key in ("task_id", "task_type"):
        values = list(dict.fromkeys(turn.info[key] for turn in turns))
        ensure(len(values) == 1, f"info[{key!r}] changed within one episode: {values}")


def _check_before_reset(env: gym.Env) -> None:
    error = _error_of(env, NONSENSE)
    # An AttributeError is what a forgotten check looks like.
    clear = error is not None and not isinstance(error, AttributeError)
    ensure(clear, f"a step before the first reset() must raise gymnasium.error.ResetNeeded or the like, got {error!r}")
    env.close()


def _check_after_end(env: gym.Env, turns: Sequence[Turn]) -> None:
    # A limit by `TimeLimit` is not the environment's own end: Gymnasium lets one step on.
    own_end = turns[-1].terminated or (turns[-1].truncated and not _has_time_limit(env))
    if own_end:
        choose = Chooser(env, 0)
        ensure(_error_of(env, choose(turns[0].info)), "a step after the end of an episode must raise until reset()")


def _has_time_limit(env: gym.Env) -> bool:
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.TimeLimit):
            return True
        env = env.env
    return False


def _error_of(env: gym.Env, action: Any) -> Exception | None:
    """What ``env.step(action)`` raises; None when it is accepted."""
    try:
        env.step(action)
    except Exception as error:
        return error
    return None


def _check_repeatable(env: gym.Env, copy: gym.Env, seed: int, turns: Sequence[Turn], actions: Sequence[str]) -> None:
    fault = difference(turns, replay(copy, seed, turns))
    ensure(fault is None, f"a pickled copy, reset with the same seed, differs: {fault}")
    list(itertools.islice(play(env, seed + 1, Chooser(env, seed + 1, actions), len(turns)), len(turns) // 2 + 1))
    fault = difference(turns, replay(env, seed, turns))
    ensure(fault is None, f"the same seed and actions differ after another episode: {fault}")
    copy.close()


def _check_no_ops(env: gym.Env, seed: int, turns: Sequence[Turn], stochastic: bool) -> None:
    """What changed nothing leaves the admissible actions as they were, and repeated changes nothing again."""
    for number, (before, turn) in enumerate(itertools.pairwise(turns), start=1):
        if turn.info["state_changed"] or turn.ended:
            continue
        was, now = before.info["admissible_actions"], turn.info["admissible_actions"]
        ensure(was == now, f"step {number} ({turn.action!r}) has state_changed False, but {was} became {now}")
        if not stochastic:
            replay(env, seed, turns[: number + 1])
            again = act(env, turn.action)
            where = f"step {number} ({turn.action!r})"
            ensure(not again.info["state_changed"], f"{where} changed nothing, but repeated it has state_changed True")
            return  # one is enough, and replaying can be slow


def _check_bad_actions(env: gym.Env, seed: int) -> None:
    listed = start(env, seed).info["admissible_actions"]
    error = _error_of(env, 3)
    ensure(isinstance(error, TypeError), f"an action that is not a str must raise TypeError; 3 gave {error!r}")
    ensure(str(error), "the TypeError for an action that is not a str must say something")
    if not listed:
        return
    try:
        turn = act(env, NONSENSE)
    except ValueError as unknown:
        ensure(NONSENSE in str(unknown), f"the error for an unknown action must name it, got {unknown}")
        turn = act(env, listed[0])
    else:
        # A forcing gate may have executed another action instead.
        replaced = turn.info.get("gate", {}).get("executed", NONSENSE) != NONSENSE
        changed = turn.info["state_changed"] and not replaced
        ensure(not changed, f"the inadmissible action {NONSENSE!r} was accepted and has state_changed True")
    faults = contract_violations(turn.info)
    ensure(not faults, f"after an inadmissible action: {'; '.join(faults)}")
