"""Comparators to measure others against: one that knows the answer, one that knows nothing, and one that is wrong."""

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import attrs
import gymnasium as gym

from agentkit.comparison import PREFERENCES, Comparator, Comparison
from agentkit.envs.alfworld.engines import Engine
from agentkit.envs.alfworld.env import ALFWorldEnv
from agentkit.envs.alfworld.planner import plan_length

_SWAPPED = {"A": "B", "B": "A"}


class OracleComparator:
    """The upper bound on ALFWorld: prefers the action after which fewer steps remain on a shortest plan.

    It plays each action in the very game that ``env`` runs and brings that back, so it can be asked only about the
    state that the environment is in. An action after which nothing wins has infinitely many steps to go.

    Args:
        env: an `ALFWorldEnv`, with any wrappers.
        margin: the smallest difference of steps to go that is no tie, at least 1.

    Raises:
        TypeError: the environment is not ALFWorld's.
        ValueError: ``margin`` is below 1.
    """

    def __init__(self, env: gym.Env, margin: int = 1):
        if not isinstance(env.unwrapped, ALFWorldEnv):
            raise TypeError(f"OracleComparator plans in an ALFWorldEnv, got {type(env.unwrapped).__name__}")
        if margin < 1:
            raise ValueError(f"margin is a number of steps and must be at least 1, got {margin!r}")
        self._env = env.unwrapped
        self.margin = margin

    def __call__(self, comparisons: Sequence[Comparison]) -> list[str]:
        """One preference for each comparison, in order.

        Raises:
            ValueError: a comparison is of another state than the environment's, or the game is one that only the stock
                engine plays, whose state cannot be read.
        """
        engine = self._env.engine
        present = engine.snapshot()
        try:
            admissible = engine.restore(present).admissible_commands
            actions = dict.fromkeys(action for c in comparisons for action in _actions_here(c, admissible))
            to_go = {action: _steps_to_go(engine, present, action) for action in actions}
        finally:
            engine.restore(present)
        return [self._preference(to_go[c.a], to_go[c.b]) for c in comparisons]

    def _preference(self, a: float, b: float) -> str:
        if a == b or abs(a - b) < self.margin:
            return "T"
        return "A" if a < b else "B"


def _actions_here(comparison: Comparison, admissible: Sequence[str]) -> tuple[str, str]:
    if comparison.admissible_actions and comparison.admissible_actions != tuple(admissible):
        raise ValueError(
            "the oracle knows only the state that its environment is in, whose admissible actions are not those of "
            f"the comparison of {comparison.a!r} and {comparison.b!r}"
        )
    return comparison.a, comparison.b


def _steps_to_go(engine: Engine, present: Any, action: str) -> float:
    """The length of a shortest plan after an action; infinite when nothing wins any more."""
    if engine.world is None:
        raise ValueError("the game is left to the stock engine, whose state the oracle cannot read")
    engine.restore(present)
    engine.step(action)
    length = plan_length(engine.world, engine.state)
    return math.inf if length is None else length


@attrs.frozen
class RandomComparator:
    """Answers at random, the same whenever it is asked the same: what any gate has to beat.

    The two orders of a pair are independent draws, so that an alternative wins in both with probability 1/9 (1/4 where
    ``options`` has no tie).

    Args:
        seed: of the draws.
        options: what is drawn from, uniformly.

    Raises:
        ValueError: an option is none of "A", "B", "T".
    """

    seed: int = 0
    options: tuple[str, ...] = attrs.field(
        default=PREFERENCES,
        converter=tuple,
        validator=[attrs.validators.min_len(1), attrs.validators.deep_iterable(attrs.validators.in_(PREFERENCES))],
    )

    def __call__(self, comparisons: Sequence[Comparison]) -> list[str]:
        """One preference for each comparison, in order."""
        return [self.options[self._draw(comparison) % len(self.options)] for comparison in comparisons]

    def _draw(self, comparison: Comparison) -> int:
        seen = repr((self.seed, *attrs.astuple(comparison, recurse=False))).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.sha256(seen).digest()[:8], "big")


@attrs.frozen
class WrongComparator:
    """Prefers whatever another comparator does not: the worst advice there is. Ties stay ties."""

    comparator: Comparator

    def __call__(self, comparisons: Sequence[Comparison]) -> list[str | None]:
        """One preference for each comparison, in order; None where the other has no answer."""
        return [_SWAPPED.get(answer, answer) if answer else None for answer in self.comparator(comparisons)]
