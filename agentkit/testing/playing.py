"""Plays environments for the checks, and compares what happened."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import gymnasium as gym
import numpy as np


@attrs.frozen
class Turn:
    """One reset (``action`` is None) or step, and what it returned."""

    action: Any
    observation: Any
    info: Mapping[str, Any]
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False

    @property
    def ended(self) -> bool:
        """The episode is over."""
        return bool(self.terminated or self.truncated)


def ensure(condition: Any, sentence: str) -> None:
    """Raise AssertionError with the sentence unless the condition holds; unlike `assert`, also under ``python -O``."""
    if not condition:
        raise AssertionError(sentence)


class Chooser:
    """Chooses an admissible action at random, or one of ``actions``, or a sample where the environment lists none."""

    def __init__(self, env: gym.Env, seed: int, actions: Sequence[str] = ()):
        self._rng = np.random.default_rng(seed)
        self._space, self._actions = env.action_space, tuple(actions)
        self._space.seed(seed)

    def __call__(self, info: Mapping[str, Any]) -> Any:
        options = info.get("admissible_actions") or self._actions
        return options[int(self._rng.integers(len(options)))] if options else self._space.sample()


def start(env: gym.Env, seed: int | None) -> Turn:
    """Reset."""
    observation, info = env.reset(seed=seed)
    return Turn(None, observation, info)


def act(env: gym.Env, action: Any) -> Turn:
    """Step."""
    observation, reward, terminated, truncated, info = env.step(action)
    return Turn(action, observation, info, reward, terminated, truncated)  # pyright: ignore[reportArgumentType]


def play(env: gym.Env, seed: int | None, choose: Chooser, limit: int) -> Iterator[Turn]:
    """One episode, turn by turn: the reset, then at most ``limit`` steps."""
    turn = start(env, seed)
    yield turn
    for _ in range(limit):
        if turn.ended:
            return
        turn = act(env, choose(turn.info))
        yield turn


def replay(env: gym.Env, seed: int | None, turns: Sequence[Turn]) -> list[Turn]:
    """The actions of an episode once more."""
    return [start(env, seed), *(act(env, turn.action) for turn in turns[1:])]


def difference(expected: Sequence[Turn], found: Sequence[Turn]) -> str | None:
    """The first place where two episodes differ, in words; None when they are the same."""
    for number, (a, b) in enumerate(zip(expected, found, strict=True)):
        where = "the reset" if number == 0 else f"step {number} ({a.action!r})"
        for field in ("observation", "reward", "terminated", "truncated"):
            if not same(getattr(a, field), getattr(b, field)):
                return f"{field} of {where} was {getattr(a, field)!r}, then {getattr(b, field)!r}"
        for key in [*a.info, *(key for key in b.info if key not in a.info)]:
            if not same(a.info.get(key), b.info.get(key)):
                return f"info[{key!r}] of {where} was {a.info.get(key)!r}, then {b.info.get(key)!r}"
    return None


def same(a: Any, b: Any) -> bool:
    """Equality that reaches into containers and holds NaN equal to NaN."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and same(a.tolist(), b.tolist())
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)
