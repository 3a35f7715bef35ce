"""What services are asked and what they answer, checked: options with names of their own, sound probabilities."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models.failures import ServiceError

logger = logging.getLogger(__name__)

ROUNDING = 0.02
"""How far a sum of probabilities may be from 1 to be taken for rounding; such answers are normalised."""

Ask: TypeAlias = Callable[[Sequence[Query]], Sequence[Decision]]
"""Sends one request about queries that share a context; raises `ServiceError`."""
Run: TypeAlias = Callable[[Sequence[Callable[[], Sequence[Decision]]]], Sequence[Sequence[Decision] | ServiceError]]


@attrs.frozen
class OptionNames:
    """Names for the options of a question that services accept: distinct, and none of them blank."""

    names: tuple[str, ...]
    index: tuple[int, ...]
    """For each option, which name is its own. Equal options have the same."""

    def spread(self, probabilities: Sequence[float]) -> list[float]:
        """Probabilities of the options from those of the names; equal options share equally."""
        return [probabilities[i] / self.index.count(i) for i in self.index]


def option_names(options: Sequence[str]) -> OptionNames:
    """Name the options.

    >>> option_names(["look", "", "look"])
    OptionNames(names=('look', '(nothing)'), index=(0, 1, 0))
    """
    distinct = list(dict.fromkeys(options))
    names: list[str] = []
    for option in distinct:
        name = option if option.strip() else "(nothing)"
        while name in names or (name != option and name in distinct):
            name += "'"
        names.append(name)
    return OptionNames(tuple(names), tuple(distinct.index(option) for option in options))


def sound_decision(
    question: Question, probabilities: Sequence[object], usage: Usage, label_mass: float | None = None
) -> Decision:
    """A decision if the probabilities are sound, else an unscored one that says what is wrong."""
    numbers = [float(p) for p in probabilities if isinstance(p, (int, float)) and not isinstance(p, bool)]
    if len(numbers) != len(probabilities) or len(numbers) != len(question.options):
        return Decision(question, unscored="the answer lacks the probability of an option", usage=usage)
    if not all(math.isfinite(p) and -ROUNDING <= p <= 1 + ROUNDING for p in numbers):
        return Decision(question, unscored="the answer holds a probability outside [0, 1]", usage=usage)
    clipped = [min(1.0, max(0.0, p)) for p in numbers]
    total = sum(clipped)
    if abs(total - 1) > ROUNDING:
        return Decision(question, unscored=f"the answer's probabilities sum to {total:.3g}", usage=usage)
    return Decision(question, tuple(p / total for p in clipped), label_mass, usage)


def groups_by_context(queries: Sequence[Query], size: int) -> list[list[int]]:
    """Indices of the queries that share system text and context, at most ``size`` to a group."""
    together: dict[tuple[str, str], list[int]] = {}
    for i, query in enumerate(queries):
        together.setdefault((query.system, query.context), []).append(i)
    return [indices[i : i + size] for indices in together.values() for i in range(0, len(indices), size)]


def ask_in_groups(queries: Sequence[Query], size: int, ask: Ask, run: Run) -> list[Decision]:
    """Ask a service about queries, those that share a context in one request, each answer in its place.

    A question with one option is certain and is not asked. A request that the service rejects is halved and asked
    again, so that one unacceptable question does not take the others with it.
    """
    decisions: list[Decision] = [Decision(q.question, unscored="not asked") for q in queries]
    open_questions = []
    for i, query in enumerate(queries):
        certain = certain_decision(query.question)
        if certain is None:
            open_questions.append(i)
        else:
            decisions[i] = certain
    asked = [queries[i] for i in open_questions]
    groups = [[open_questions[i] for i in group] for group in groups_by_context(asked, size)]
    while groups:
        answers = run([_request(ask, [queries[i] for i in group]) for group in groups])
        halves: list[list[int]] = []
        for group, answer in zip(groups, answers, strict=True):
            if isinstance(answer, ServiceError) and answer.rejected and len(group) > 1:
                halves += [group[: len(group) // 2], group[len(group) // 2 :]]
                continue
            for place, i in enumerate(group):
                failed = isinstance(answer, ServiceError)
                decisions[i] = Decision(queries[i].question, unscored=answer.reason) if failed else answer[place]
        groups = halves
    log_unscored(decisions)
    return decisions


def certain_decision(question: Question) -> Decision | None:
    """The decision on a choice whose options are all the same; None when there is something to ask."""
    if question.kind == "choice" and len(set(question.options)) == 1:
        return Decision(question, (1 / len(question.options),) * len(question.options))
    return None


def log_unscored(decisions: Sequence[Decision]) -> None:
    """One warning that counts a batch's unscored decisions by reason."""
    reasons = [decision.unscored for decision in decisions if decision.unscored is not None]
    if reasons:
        counts = {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}
        shown = "; ".join(f"{count} x {reason}" for reason, count in list(counts.items())[:5])
        logger.warning("%d of %d decisions are unscored: %s", len(reasons), len(decisions), shown)


def _request(ask: Ask, queries: Sequence[Query]) -> Callable[[], Sequence[Decision]]:
    return lambda: ask(queries)
