"""`StepJudge`: asks a decision model about every action of a trajectory."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import attrs

from agentkit.decisions import Decision, DecisionModel, Query, Question, Verdict
from agentkit.judges.rendering import render_opening, render_steps
from agentkit.trajectory import Trajectory

Context: TypeAlias = Literal["prefix", "hindsight"]

SYSTEM = "You judge the actions of an agent in a text environment. Answer with one word, yes or no."
QUESTIONS: dict[str, str] = {
    "progress": "Consider step {n}: {action}\nDid this action help achieve the goal? Answer yes or no.",
    "value": "Consider step {n}: {action}\nWill the task succeed after this action? Answer yes or no.",
}
"""The two questions of *Actor, Judge, or Teacher?*; a text of your own may use ``{n}``, ``{action}`` and ``{goal}``."""


def _default_name(judge: "StepJudge") -> str:
    return f"{judge.context}-{judge.question}" if judge.question in QUESTIONS else judge.context


@attrs.frozen
class StepJudge:
    """One score in [0, 1] for each action: the model's probability of "yes".

    Args:
        model: a decision model, ``model(queries) -> decisions``.
        context: what the model sees. ``"hindsight"``: the whole trajectory; ``"prefix"``: everything up to and
            including the action, without what it led to.
        question: ``"progress"``, ``"value"``, or a text of your own with ``{n}``, ``{action}``, ``{goal}``.
        name: the name under which the scores are kept.

    A decision that is unscored (time-out, refusal) gives an unscored verdict with the same reason.
    """

    model: DecisionModel
    context: Context = attrs.field(default="hindsight", validator=attrs.validators.in_(("prefix", "hindsight")))
    question: str = "progress"
    name: str = attrs.field(default=attrs.Factory(_default_name, takes_self=True))

    def __call__(self, trajectory: Trajectory) -> list[Verdict]:
        """T verdicts, asked in one batch."""
        return self._ask(trajectory, range(len(trajectory)))

    def score_last(self, trajectory: Trajectory) -> Verdict:
        """The last action's verdict alone, which is all that an online wrapper needs after a step."""
        return self._ask(trajectory, [len(trajectory) - 1])[0]

    def queries(self, trajectory: Trajectory) -> list[Query]:
        """What is asked about each action, in order."""
        return [self._query(trajectory, t) for t in range(len(trajectory))]

    def _ask(self, trajectory: Trajectory, indices: Sequence[int]) -> list[Verdict]:
        queries = [self._query(trajectory, t) for t in indices]
        if not queries:
            return []
        decisions: Sequence[Decision] = self.model(queries)
        if len(decisions) != len(queries):
            raise ValueError(f"the model gave {len(decisions)} decisions for {len(queries)} queries")
        return [decision.verdict() for decision in decisions]

    def _query(self, trajectory: Trajectory, t: int) -> Query:
        seen = trajectory.steps if self.context == "hindsight" else trajectory.steps[:t]
        body = render_steps(seen)
        context = "\n\n".join(part for part in (render_opening(trajectory), body) if part)
        template = QUESTIONS.get(self.question, self.question)
        text = template.format(n=t + 1, action=trajectory.steps[t].action, goal=trajectory.goal)
        return Query(context, Question(text), SYSTEM)
