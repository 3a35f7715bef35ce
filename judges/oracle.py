"""The environment's own ground truth as judges, exact and deliberately noisy, for measuring other judges against."""

from collections.abc import Sequence

import attrs

from agentkit.decisions import Verdict
from agentkit.judges.noise import step_draws
from agentkit.judges.prompts import ROLES
from agentkit.trajectory import Step, Trajectory

_IS_SHARE = [attrs.validators.ge(0.0), attrs.validators.le(1.0)]


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


@attrs.frozen
class NoisyOracle:
    """An oracle that is wrong on purpose: with probability ``noise`` a step gets one of the three scores at random.

    A milestone's expected score exceeds a no-op's by (1 - noise) times the oracle's gap, so that tools which measure
    judges can be checked: 0 is the oracle, 1 knows nothing. What is drawn for a step depends on the seed and on the
    episode up to that step only, hence not on the order of the calls, nor on what follows.

    Args:
        noise: the share of steps that are scored at random, in [0, 1].
        seed: of the draws.
        oracle: the scores without noise.
        name: the judge's name.
    """

    noise: float = attrs.field(default=0.3, validator=_IS_SHARE)
    seed: int = 0
    oracle: OracleJudge = attrs.field(factory=OracleJudge)
    name: str = "noisy oracle"

    def __call__(self, trajectory: Trajectory) -> Sequence[Verdict]:
        """T verdicts; unscored where the oracle has no score."""
        scores = (self.oracle.milestone, self.oracle.other, self.oracle.no_op)
        return [
            Verdict(scores[draw.index(3)]) if verdict.score is not None and draw.share < self.noise else verdict
            for verdict, draw in zip(self.oracle(trajectory), step_draws(trajectory, self.seed), strict=True)
        ]


@attrs.frozen
class OracleRoles:
    """``judge(trajectory) -> T role names``: those that the environment recorded, with a share of them drawn at random.

    ALFWorld records them with ``oracle_roles=True``, WebShop always. A `RoleCreditWrapper` overwrites the roles of a
    trajectory with its own judge's, so record without one.

    Args:
        noise: the share of typed steps that get one of the four roles at random, in [0, 1].
        seed: of the draws; see `NoisyOracle`.
        name: the judge's name.
    """

    noise: float = attrs.field(default=0.0, validator=_IS_SHARE)
    seed: int = 0
    name: str = "oracle roles"

    def __call__(self, trajectory: Trajectory) -> list[str | None]:
        """T role names, None where none was recorded."""
        return [
            ROLES[draw.index(len(ROLES))] if step.role is not None and draw.share < self.noise else step.role
            for step, draw in zip(trajectory.steps, step_draws(trajectory, self.seed), strict=True)
        ]
