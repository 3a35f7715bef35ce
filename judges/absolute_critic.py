"""`AbsoluteCritic`: a decision model that gives each action a value of its own, to be compared with comparing."""

from collections.abc import Sequence

import attrs

from agentkit.comparison import Comparison
from agentkit.decisions import DecisionModel, Query, Question, Verdict
from agentkit.judges.decision_state import current_observation, render_state

SYSTEM = "You estimate how well an agent in a text environment will do."
QUESTION = "Next action: {action}\nWill the agent reach the goal if it does this now? Answer yes or no."


@attrs.frozen
class AbsoluteCritic:
    """Q(state, action) in [0, 1], the model's probability that the goal is reached: COTA's absolute-Q critic.

    As a comparator, ``critic(comparisons) -> "A" | "B" | "T"``, the action with the higher value wins. Such an answer
    does not depend on the order of the two actions.

    Args:
        model: a decision model.
        history: how many past (action, observation) pairs it is shown.
        margin: values that differ by no more than this are a tie (a reading: the paper names no margin).
    """

    model: DecisionModel
    history: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    margin: float = attrs.field(default=0.0, validator=[attrs.validators.ge(0.0), attrs.validators.le(1.0)])

    def __call__(self, comparisons: Sequence[Comparison]) -> list[str | None]:
        """One preference for each comparison, in order; None where the model left an action unscored."""
        return [self._preference(a.score, b.score) for a, b in self.values(comparisons)]

    def values(self, comparisons: Sequence[Comparison]) -> list[tuple[Verdict, Verdict]]:
        """Q of both actions of each comparison; all are asked in one batch, an action of one state only once.

        Raises:
            ValueError: the model did not give one decision a query.
        """
        pairs = [(self.query(c, c.a), self.query(c, c.b)) for c in comparisons]
        queries = list(dict.fromkeys(query for pair in pairs for query in pair))
        decisions = list(self.model(queries)) if queries else []
        if len(decisions) != len(queries):
            raise ValueError(
                f"the model gave {len(decisions)} decisions for {len(queries)} queries; it must give one each"
            )
        verdicts = {query: decision.verdict() for query, decision in zip(queries, decisions, strict=True)}
        return [(verdicts[a], verdicts[b]) for a, b in pairs]

    def query(self, comparison: Comparison, action: str) -> Query:
        """What the model is asked about an action in the state of a comparison; training asks the same."""
        focus = (f"Goal: {comparison.goal}", current_observation(comparison))
        question = Question(QUESTION.format(action=action))
        return Query(render_state(comparison, self.history), question, SYSTEM, focus)

    def _preference(self, a: float | None, b: float | None) -> str | None:
        if a is None or b is None:
            return None
        if abs(a - b) <= self.margin:
            return "T"
        return "A" if a > b else "B"
