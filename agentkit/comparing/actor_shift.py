"""Do preferences between actions change with the actor that plays on?"""

from collections import Counter
from collections.abc import Mapping, Sequence

import attrs

from agentkit.tables import text_table


@attrs.frozen(kw_only=True)
class ActorShift:
    """Pairs that are no ties under one actor, by what they are under another."""

    same: int
    tie: int
    reverse: int

    @property
    def pairs(self) -> int:
        """All of them."""
        return self.same + self.tie + self.reverse

    def share(self, kind: str) -> float:
        """Of "same", "tie" or "reverse", in [0, 1]; 0 without pairs."""
        return getattr(self, kind) / self.pairs if self.pairs else 0.0


def actor_shift(first: Sequence[str], second: Sequence[str]) -> ActorShift:
    """Compare the labels of the same pairs under two continuation actors (COTA's Table 13).

    Args:
        first: "A", "B" or "T" for each pair under the first actor; its ties are left out.
        second: those under the second.

    Raises:
        ValueError: they are not equally many, or a label is none of the three.

    >>> actor_shift("AABT", "ATAA")
    ActorShift(same=1, tie=1, reverse=1)
    """
    if len(first) != len(second):
        raise ValueError(f"need the labels of the same pairs, got {len(first)} and {len(second)}")
    unknown = (set(first) | set(second)) - {"A", "B", "T"}
    if unknown:
        raise ValueError(f"labels must be 'A', 'B' or 'T', got {min(unknown)!r}")
    kinds = Counter(_kind(a, b) for a, b in zip(first, second, strict=True) if a != "T")
    return ActorShift(same=kinds["same"], tie=kinds["tie"], reverse=kinds["reverse"])


def _kind(first: str, second: str) -> str:
    if second == "T":
        return "tie"
    return "same" if first == second else "reverse"


def shift_table(shifts: Mapping[str, ActorShift]) -> str:
    """A row a change of actor, with the shares of same, tie and reverse among the pairs that were no ties."""
    rows = [
        [name, str(s.pairs), *(f"{s.share(kind):.1%}" for kind in ("same", "tie", "reverse"))]
        for name, s in shifts.items()
    ]
    return text_table(["actor shift", "pairs", "same", "tie", "reverse"], rows)
