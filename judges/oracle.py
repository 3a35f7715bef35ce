"""`OracleJudge`: the environment's own ground truth as a judge, for measuring other judges against."""

from collections.abc import Sequence

import attrs

from agentkit.decisions import Verdict
from agentkit.trajectory import Step, Trajectory


@attrs.frozen
class OracleJudge:
    """Scores a step by what the environment says it did.

    A step that achieved a milestone gets ``milestone``, one that changed nothing ``no_op``, any other ``other``. A step
    about which the environment says nothing (``state_changed`` is None) is unscored.
    """

    milestone: float = 1.0
    other: float = 0.5
    no_op: float = 0.0
    name: str = "oracle"

    def __call__(self, trajectory: Trajectory) -> Sequence[Verdict]:
        """T verdicts."""
        return [self._score(step) for step in trajectory.steps]

    def _score(self, step: Step) -> Verdict:
        if step.milestones:
            return Verdict(self.milestone)
        if step.state_changed is None:
            return Verdict.no_score("the environment does not say whether the action changed anything")
        return Verdict(self.other if step.state_changed else self.no_op)
