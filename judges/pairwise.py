"""`PairwiseComparator`: a decision model that says which of two actions is better, or that neither is."""

from collections.abc import Sequence

import attrs

from agentkit.comparison import PREFERENCES, Comparison
from agentkit.decisions import DecisionModel, Query, Question

SYSTEM = "You compare two actions of an agent in a text environment. Answer A, B or T (tie)."
QUESTION = "Action A: {a}\nAction B: {b}\nWhich action is better now? Answer A, B or T."


@attrs.frozen
class PairwiseComparator:
    """``comparator(comparisons) -> "A" | "B" | "T"`` for each, asked in one batch.

    An unscored decision counts as a tie, so that nothing is withheld on the word of a model that did not answer.

    Args:
        model: a decision model.
        history: how many past (action, observation) pairs it is shown.
        ties: ask for A / B / T, or for A / B only.
    """

    model: DecisionModel
    history: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    ties: bool = True

    def __call__(self, comparisons: Sequence[Comparison]) -> list[str]:
        """One preference for each comparison, in order."""
        decisions = self.model([self.query(comparison) for comparison in comparisons])
        return ["T" if d.choice is None else d.choice for d in decisions]

    def query(self, comparison: Comparison) -> Query:
        """What the model is asked about one comparison."""
        past = comparison.history[-self.history :] if self.history else ()
        lines = [f"Goal: {comparison.goal}"]
        lines += [f"Action: {action}\nResult: {observation}" for action, observation in past]
        lines.append(f"Current observation: {comparison.observation}")
        text = QUESTION.format(a=comparison.a, b=comparison.b)
        options = PREFERENCES if self.ties else PREFERENCES[:2]
        return Query("\n".join(lines), Question(text, "choice", options), SYSTEM)
