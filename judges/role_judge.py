"""`RoleJudge`: TRIAGE's typed credit. Each action is decisive, exploration, no-progress or regression."""

import attrs

from agentkit.decisions import DecisionModel, Query, Question
from agentkit.judges.rendering import render_steps
from agentkit.trajectory import Trajectory

ROLES: tuple[str, ...] = ("decisive", "exploration", "no-progress", "regression")

SYSTEM = (
    "You type the actions of an agent in a text environment. The roles are: decisive (verifiable progress towards the "
    "goal), exploration (reveals relevant state), no-progress (harmless, but nothing gained), regression (undoes "
    "progress, or repeats without learning anything). Answer with one role."
)
QUESTION = "Consider step {n}: {action}\nWhich role did it play: decisive, exploration, no-progress or regression?"


@attrs.frozen
class RoleJudge:
    """``judge(trajectory) -> T role names``; None where the model gave no answer.

    The model sees the goal and up to ``window`` action-observation pairs on each side of the action. The outcome is
    hidden: neither the reward nor whether the episode was won is shown, and the last observation of an episode that
    terminated is left out, since it can give the outcome away.

    Args:
        model: a decision model.
        window: pairs shown before and after the action; TRIAGE uses 5.
        threshold: below this probability of the chosen role the judge abstains.
        name: the judge's name.
    """

    model: DecisionModel
    window: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    threshold: float = 0.0
    name: str = "roles"

    def __call__(self, trajectory: Trajectory) -> list[str | None]:
        """T role names, asked in one batch."""
        if not len(trajectory):
            return []
        decisions = self.model([self._query(trajectory, t) for t in range(len(trajectory))])
        if len(decisions) != len(trajectory):
            raise ValueError(f"the model gave {len(decisions)} decisions for {len(trajectory)} queries")
        return [None if not d.probabilities or max(d.probabilities) < self.threshold else d.choice for d in decisions]

    def _query(self, trajectory: Trajectory, t: int) -> Query:
        first, last = max(0, t - self.window), t + 1 + self.window
        steps = list(trajectory.steps)
        if trajectory.terminated:
            steps[-1] = attrs.evolve(steps[-1], feedback="(not shown)")
        context = f"Goal: {trajectory.goal}\n\n{render_steps(steps[first:last], first + 1)}"
        text = QUESTION.format(n=t + 1, action=trajectory.steps[t].action)
        return Query(context, Question(text, "choice", ROLES), SYSTEM)
