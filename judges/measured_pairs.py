"""What the reports on comparators and on critics share: pairs in batches, and means that may not exist."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from agentkit.branches import BranchPair

Progress: TypeAlias = Callable[[int, int], Any]
"""``progress(pairs done, pairs in all)``"""


def check_request(pairs: Sequence[BranchPair], **numbers: int) -> None:
    """Raises ValueError where there are no pairs, or a number is below 1."""
    if not pairs:
        raise ValueError("there are no pairs to measure on; collect more episodes, or choose another split")
    for name, value in numbers.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")


def batches(pairs: Sequence[BranchPair], size: int) -> Iterator[Sequence[BranchPair]]:
    """The pairs, at most ``size`` at a time."""
    return (pairs[i : i + size] for i in range(0, len(pairs), size))


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of no values."""
    return math.fsum(values) / len(values) if values else None


def as_text(value: float | None) -> str:
    """A number of a table; a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
