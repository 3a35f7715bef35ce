"""What happens to a context that is too long for a model: it loses its middle, visibly, and nothing else."""

import re
from collections.abc import Callable, Sequence

import attrs

from agentkit.decisions import Query

_LONGEST_UNIT = 400
"""Characters beyond which a line may be cut, at a space where it has one."""
_PIECES = re.compile(rf".{{1,{_LONGEST_UNIT}}}(?:\s+|$)|.{{1,{_LONGEST_UNIT}}}", re.DOTALL)


@attrs.frozen
class Shortened:
    """A query that fits, or fits as well as it can."""

    query: Query
    dropped: int
    """Tokens of the context that were left out."""


def shorten(query: Query, excess: int, count: Callable[[str], int]) -> Shortened:
    """Leave out at least ``excess`` tokens from the middle of the context, where that many may go.

    Kept are the first paragraph (the goal), the passages of ``query.focus`` (the step that is asked about) and, for as
    long as possible, both ends: what stands closest to the middle goes first, whole lines at a time. Each gap is
    marked with the number of tokens that stood there, so that the model and the reader see it.

    Args:
        query: what is asked.
        excess: by how many tokens it is too long.
        count: the tokens of a text.
    """
    units = _units(query.context)
    sizes = [count(unit) for unit in units]
    kept = [True] * len(units)
    middle = sum(sizes) / 2
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    protected = _protected(query, units)
    dropped = 0
    for i in sorted(range(len(units)), key=lambda i: abs(starts[i] + sizes[i] / 2 - middle)):
        marks = sum(count(_gap(1)) for i, keep in enumerate(kept) if not keep and (i == 0 or kept[i - 1]))
        if dropped - marks >= excess:
            break
        if i not in protected:
            kept[i] = False
            dropped += sizes[i]
    return Shortened(attrs.evolve(query, context=_with_gaps(units, sizes, kept)), dropped)


def _units(context: str) -> list[str]:
    """Lines, and pieces of very long ones; together they are the context."""
    units: list[str] = []
    for line in context.splitlines(keepends=True):
        units += _PIECES.findall(line) if len(line) > _LONGEST_UNIT else [line]
    return units


def _protected(query: Query, units: Sequence[str]) -> set[int]:
    """The units of the first paragraph and those that a passage of the focus touches."""
    first = query.context.find("\n\n")
    spans = [(0, first if first >= 0 else len(units[0]) if units else 0)]
    for passage in query.focus:
        start = query.context.find(passage) if passage else -1
        if start >= 0:
            spans.append((start, start + len(passage)))
    protected, position = set(), 0
    for i, unit in enumerate(units):
        if any(begin < position + len(unit) and position < end for begin, end in spans):
            protected.add(i)
        position += len(unit)
    return protected


def _gap(tokens: int) -> str:
    return f"[... {tokens} tokens left out ...]\n"


def _with_gaps(units: Sequence[str], sizes: Sequence[int], kept: Sequence[bool]) -> str:
    parts: list[str] = []
    gap = 0
    for unit, size, keep in zip(units, sizes, kept, strict=True):
        if keep and gap:
            parts.append(_gap(gap))
            gap = 0
        if keep:
            parts.append(unit)
        else:
            gap += size
    return "".join([*parts, _gap(gap)] if gap else parts)
