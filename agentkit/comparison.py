"""Two candidate actions in one state: what a comparator is asked."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import attrs

Preference: TypeAlias = Literal["A", "B", "T"]
PREFERENCES: tuple[str, ...] = ("A", "B", "T")


@attrs.frozen
class Comparison:
    """Which of two actions is better here: ``a``, ``b``, or neither (T, a tie)?"""

    goal: str
    history: tuple[tuple[str, str], ...] = attrs.field(converter=tuple)
    """The executed (action, observation) pairs so far, oldest first."""
    observation: str
    a: str
    b: str
    admissible_actions: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    """Every action valid now; empty when the environment is open-ended."""


Comparator: TypeAlias = Callable[[Sequence[Comparison]], Sequence[str | None]]
"""``comparator(comparisons) -> "A" | "B" | "T"`` for each, in order; None for one that it could not answer."""
