"""`Rotated`: decisions that do not depend on the order in which options are listed."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import attrs
import numpy as np

from agentkit.decisions import Decision, DecisionModel, Query, Usage
from agentkit.models.identity import wrapped_identity

Rotations: TypeAlias = int | Literal["all", "adaptive"]


def _check_rotations(instance: "Rotated", attribute: "attrs.Attribute[Rotations]", value: Rotations) -> None:
    if value not in ("all", "adaptive") and not (isinstance(value, int) and value >= 1):
        raise ValueError(f"rotations must be 'all', 'adaptive' or a number of at least 1, got {value!r}")


@attrs.frozen
class Rotated:
    """Asks each choice under several rotations of its options, and averages the probabilities of every option.

    Under all K rotations each option stands once in every place, so a preference for places (or for the letters of
    `Lettered`) cancels. Predicates and scores, whose order carries meaning, are asked once.

    Cost: ``"all"`` asks K times as much, a number n at most n times. ``"adaptive"`` asks 2 and, only where they
    disagree on the best option, the other K - 2.

    Args:
        model: a decision model whose prompt lists the options, such as ``Lettered(readout)``.
        rotations: ``"all"``, ``"adaptive"``, or how many, evenly spread.

    A choice of which any rotation is unscored is unscored, since the rest would favour some places.
    """

    model: DecisionModel
    rotations: Rotations = attrs.field(default="all", validator=_check_rotations)

    @property
    def identity(self) -> str | None:
        """What the answers depend on, where the wrapped model says it."""
        return wrapped_identity(f"rotated {self.rotations}", self.model)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Rotated":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order; its usage is that of all rotations."""
        plans = [self._shifts(query) for query in queries]
        asked = self._ask(queries, [first for first, _ in plans])
        second = [rest if _undecided(found) else () for (_, rest), found in zip(plans, asked, strict=True)]
        more = self._ask(queries, second)
        return [_averaged(query, [*a, *b]) for query, a, b in zip(queries, asked, more, strict=True)]

    def _shifts(self, query: Query) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The rotations to ask at first, and those to ask where they disagree."""
        count = len(query.question.options)
        if query.question.kind != "choice":
            return (0,), ()
        if self.rotations == "adaptive":
            first = tuple(dict.fromkeys((0, count // 2)))
            return first, tuple(shift for shift in range(count) if shift not in first)
        wanted = count if self.rotations == "all" else min(count, int(self.rotations))
        return tuple(i * count // wanted for i in range(wanted)), ()

    def _ask(self, queries: Sequence[Query], shifts: Sequence[Sequence[int]]) -> list[list[Decision]]:
        """Decisions for every query and each of its shifts, with the options back in the query's own order."""
        flat = [(i, shift) for i, some in enumerate(shifts) for shift in some]
        answers = self.model([_rotated(queries[i], shift) for i, shift in flat]) if flat else ()
        found: list[list[Decision]] = [[] for _ in queries]
        for (i, shift), decision in zip(flat, answers, strict=True):
            back = np.roll(decision.probabilities, shift).tolist() if decision.unscored is None else ()
            found[i].append(attrs.evolve(decision, question=queries[i].question, probabilities=back))
        return found


def _rotated(query: Query, shift: int) -> Query:
    if not shift:
        return query
    options = query.question.options
    return attrs.evolve(query, question=attrs.evolve(query.question, options=options[shift:] + options[:shift]))


def _undecided(decisions: Sequence[Decision]) -> bool:
    return all(d.unscored is None for d in decisions) and len({d.choice for d in decisions}) > 1


def _averaged(query: Query, decisions: Sequence[Decision]) -> Decision:
    usage = sum((decision.usage for decision in decisions), Usage())
    for decision in decisions:
        if decision.unscored is not None:
            return Decision(query.question, usage=usage, unscored=decision.unscored)
    masses = [decision.label_mass for decision in decisions if decision.label_mass is not None]
    mean = np.mean([decision.probabilities for decision in decisions], axis=0)
    return Decision(query.question, mean.tolist(), float(np.mean(masses)) if masses else None, usage)
