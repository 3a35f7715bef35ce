"""`PairwiseComparator`: a decision model that says which of two actions is better, or that neither is."""

from collections.abc import Sequence

import attrs

from agentkit.comparison import PREFERENCES, Comparison
from agentkit.decisions import Decision, DecisionModel, Query, Question
from agentkit.judges.decision_state import current_observation, render_state

SYSTEM = "You compare two actions of an agent in a text environment."
TIES = "Answer A, B or T (tie)."
NO_TIES = "Answer A or B."
QUESTION = "Action A: {a}\nAction B: {b}\nWhich action is better now? {answers}"


@attrs.frozen
class PairwiseComparator:
    """``comparator(comparisons) -> "A" | "B" | "T"`` for each, asked in one batch (COTA, arXiv 2608.21027).

    An unscored decision (time-out, refusal) gives None, which a gate counts as a failure and never acts on. Questions
    about one state begin alike, so that a local model encodes the state once.

    Args:
        model: a decision model.
        history: how many past (action, observation) pairs it is shown.
        ties: ask for A / B / T, or for A / B only.
    """

    model: DecisionModel
    history: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    ties: bool = True

    def __call__(self, comparisons: Sequence[Comparison]) -> list[str | None]:
        """One preference for each comparison, in order; None for one that the model did not answer."""
        return [decision.choice for decision in self.decide(comparisons)]

    def decide(self, comparisons: Sequence[Comparison]) -> list[Decision]:
        """The model's decision on each comparison, with the probability of every answer.

        Raises:
            ValueError: the model did not give one decision a query.
        """
        queries = [self.query(comparison) for comparison in comparisons]
        decisions = list(self.model(queries)) if queries else []
        if len(decisions) != len(queries):
            raise ValueError(
                f"the model gave {len(decisions)} decisions for {len(queries)} comparisons; it must give one each"
            )
        return decisions

    def query(self, comparison: Comparison) -> Query:
        """What the model is asked about one comparison; training asks the same (`comparator_examples`)."""
        options = PREFERENCES if self.ties else PREFERENCES[:2]
        text = QUESTION.format(a=comparison.a, b=comparison.b, answers=TIES if self.ties else NO_TIES)
        focus = (f"Goal: {comparison.goal}", current_observation(comparison))
        return Query(render_state(comparison, self.history), Question(text, "choice", options), SYSTEM, focus)
