"""What a comparator says about a proposed action: which alternatives win against it in both orders."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentkit.comparison import PREFERENCES, Comparator, Comparison

logger = logging.getLogger(__name__)

Candidates: TypeAlias = Callable[[str, Mapping[str, Any], str, int], Iterable[str]]
"""``candidates(observation, info, proposal, k) -> actions``"""


@attrs.frozen(kw_only=True)
class Examination:
    """A proposal and K alternatives, each compared with it in both orders."""

    proposal: str
    alternatives: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    """The alternatives that win against the proposal in both orders."""
    worse: tuple[str, ...] = ()
    """Those that lose against it in both orders."""
    comparisons: int = 0
    """How many were asked for."""
    unanswered: int = 0
    """How many of them got no usable answer."""
    failed: bool = False
    """The comparator, or the source of the candidates, left something unanswered."""

    @property
    def margin(self) -> float:
        """(preferred − worse) / K, in [-1, 1]: how clearly the alternatives beat the proposal; 0 without any."""
        if not self.alternatives:
            return 0.0
        return (len(self.preferred) - len(self.worse)) / len(self.alternatives)

    @property
    def preferred_share(self) -> float:
        """preferred / K, in [0, 1]; 0 without alternatives."""
        return len(self.preferred) / len(self.alternatives) if self.alternatives else 0.0


def propose_alternatives(
    candidates: Candidates, observation: str, info: Mapping[str, Any], proposal: str, k: int
) -> tuple[str, ...] | None:
    """At most ``k`` different candidates, none of them the proposal; None when their source failed.

    Raises:
        TypeError: they are not a sequence of strings.
    """
    try:
        drawn = candidates(observation, info, proposal, k)
        actions = list(drawn) if isinstance(drawn, Iterable) and not isinstance(drawn, str) else [drawn]
    except Exception as error:
        logger.warning("the candidates failed, the proposal goes through: %r", error)
        return None
    if isinstance(drawn, str) or not all(isinstance(action, str) for action in actions):
        raise TypeError(f"candidates must return a sequence of actions (str), got {drawn!r}")
    return tuple(action for action in dict.fromkeys(actions) if action != proposal)[:k]


def examine(comparator: Comparator, state: Comparison, proposal: str, alternatives: Sequence[str]) -> Examination:
    """Compare a proposal with alternatives, both orders of all pairs in one batch.

    Args:
        comparator: what is asked. Whatever it does not answer with A, B or T (it raises, gives None or something else,
            or too few answers) makes no alternative preferred, and is counted.
        state: where they are compared; its two actions are replaced.
        proposal: the action that the actor chose.
        alternatives: K other actions.
    """
    pairs = [(proposal, a) for a in alternatives] + [(a, proposal) for a in alternatives]
    answers = _ask(comparator, [attrs.evolve(state, a=a, b=b) for a, b in pairs])
    orders = zip(alternatives, answers[: len(alternatives)], answers[len(alternatives) :], strict=True)
    won = {a: (first, second) for a, first, second in orders}
    unanswered = answers.count(None)
    return Examination(
        proposal=proposal,
        alternatives=tuple(alternatives),
        preferred=tuple(a for a in alternatives if won[a] == ("B", "A")),
        worse=tuple(a for a in alternatives if won[a] == ("A", "B")),
        comparisons=len(pairs),
        unanswered=unanswered,
        failed=unanswered > 0,
    )


def copeland_wins(comparator: Comparator, state: Comparison, actions: Sequence[str]) -> dict[str, int]:
    """For each of N different actions, how many others it beats in both orders (Copeland's score); N (N − 1) are asked.

    What the comparator does not answer is no win. One action alone is not compared.
    """
    pairs = [(a, b) for a in actions for b in actions if a != b]
    if not pairs:
        return dict.fromkeys(actions, 0)
    asked = _ask(comparator, [attrs.evolve(state, a=a, b=b) for a, b in pairs])
    answers = dict(zip(pairs, asked, strict=True))
    return {a: sum(answers[a, b] == "A" and answers[b, a] == "B" for b in actions if b != a) for a in actions}


def _ask(comparator: Comparator, comparisons: Sequence[Comparison]) -> list[str | None]:
    """One answer each, None for what the comparator left unanswered."""
    nothing: list[str | None] = [None] * len(comparisons)
    try:
        answers = list(comparator(comparisons))
    except Exception as error:
        logger.warning("the comparator failed, the proposal goes through: %r", error)
        return nothing
    if len(answers) != len(comparisons):
        logger.warning("the comparator gave %d answers for %d comparisons: %r", len(answers), len(comparisons), answers)
        return nothing
    usable = [str(answer) if isinstance(answer, str) and answer in PREFERENCES else None for answer in answers]
    if None in usable:
        logger.warning("the comparator must answer 'A', 'B' or 'T', got %r", answers)
    return usable
