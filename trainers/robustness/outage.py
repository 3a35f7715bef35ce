"""A judge that stops answering: wait for it, then train on the outcome alone, or stop.

A judge is *out* when, of the steps of a batch that it was asked about, at least a given share has no answer. Steps that
it declined to score (None, "the judge abstained") are answers. The unanswered episodes are asked about again, with
longer and longer pauses, until the judge is back or the pauses are used up.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import attrs
import gymnasium as gym

from agentkit.decisions import Verdict
from agentkit.episode import absorb_signals
from agentkit.extras import require
from agentkit.trainers.robustness.guarding import is_dropped
from agentkit.trajectory import Trajectory
from agentkit.verdicts import as_verdict
from agentkit.wrappers import JudgeRewardWrapper, RoleCreditWrapper
from agentkit.wrappers.roles import RoleGrader
from agentkit.wrappers.step_scores import ScoreGrader

logger = logging.getLogger(__name__)

ABSTAINED = as_verdict(None).unscored
OutageRule: TypeAlias = Literal["pause-then-outcome", "pause-then-stop", "outcome", "stop"]
Counts: TypeAlias = tuple[int, int]
"""Unanswered steps, and steps that the judge was asked about."""
JudgeInStack: TypeAlias = ScoreGrader | RoleGrader
"""A judge of an environment stack, as its wrapper uses it."""


class JudgeOutageError(RuntimeError):
    """A judge did not come back, and the rule is to stop."""


@attrs.frozen(kw_only=True)
class OutagePolicy:
    """When a judge is out, and what follows.

    Args:
        rule: ``"pause-..."`` asks again, with pauses; ``"...outcome"`` then leaves the whole batch without this judge's
            scores, so that it teaches by its outcome (and other terms) alone; ``"...stop"`` raises.
        share: the share of unanswered steps, in (0, 1], from which a judge is out.
        wait: seconds of all pauses of one outage together.
        first_pause: seconds of the first pause; each is twice the one before, at most ``longest_pause``.
        longest_pause: seconds.
    """

    rule: OutageRule = attrs.field(default="pause-then-outcome")
    share: float = 0.5
    wait: float = 600.0
    first_pause: float = 5.0
    longest_pause: float = 120.0

    def __attrs_post_init__(self) -> None:
        rules = ("pause-then-outcome", "pause-then-stop", "outcome", "stop")
        if self.rule not in rules:
            raise ValueError(f"on_judge_outage must be one of {', '.join(map(repr, rules))}, got {self.rule!r}")
        if not 0.0 < self.share <= 1.0:
            raise ValueError(f"judge_outage_share must be in (0, 1], got {self.share!r}")
        if not self.wait >= 0.0:
            raise ValueError(f"judge_outage_wait must be at least 0 seconds, got {self.wait!r}")


def judges_of(env: gym.Env) -> list[JudgeInStack]:
    """The judges of a stack of wrappers, innermost first."""
    found: list[JudgeInStack] = []
    for layer in layers(env):
        if isinstance(layer, JudgeRewardWrapper):
            found.append(ScoreGrader(layer.judge, layer.weight, layer.name))
        elif isinstance(layer, RoleCreditWrapper):
            found.append(RoleGrader(layer.judge, layer.weight, layer.constants))
    return found[::-1]


def layers(env: gym.Env) -> Iterator[gym.Env]:
    """The stack, outermost first."""
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
    yield env


class OutageGuard:
    """Looks at every batch for judges that are out; remembers which ones were waited for in vain.

    Args:
        policy: when a judge is out, and what follows.
        total: adds counts up over all processes, so that all of them decide alike.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        policy: OutagePolicy,
        *,
        total: Callable[[Counts], Counts] = tuple,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self.policy = policy
        self._total, self._sleep = total, sleep
        self._gone: set[str] = set()
        self.outages = 0
        """Batches in which a judge stayed out."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run goes on from, as JSON values."""
        return {"gone": sorted(self._gone), "outages": self.outages}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self._gone, self.outages = set(state["gone"]), int(state["outages"])

    def mend(self, trajectories: Sequence[Trajectory], judges: Sequence[JudgeInStack]) -> list[Trajectory]:
        """The trajectories with answers that came after all, or without any of a judge that stayed out.

        Raises:
            JudgeOutageError: a judge stayed out and the rule is to stop.
        """
        mended = list(trajectories)
        for judge in judges:
            mended = self._mend(mended, judge)
        return mended

    def _mend(self, trajectories: list[Trajectory], judge: JudgeInStack) -> list[Trajectory]:
        if not self._is_out(trajectories, judge):
            self._gone.discard(judge.name)
            return trajectories
        if self.policy.rule.startswith("pause"):
            trajectories = self._ask_again(trajectories, judge)
            if not self._is_out(trajectories, judge):
                logger.warning("judge %r answers again; training goes on", judge.name)
                self._gone.discard(judge.name)
                return trajectories
        self.outages += 1
        self._gone.add(judge.name)
        reason = _reason(trajectories, judge)
        if self.policy.rule.endswith("stop"):
            raise JudgeOutageError(
                f"judge {judge.name!r} left at least {self.policy.share:.0%} of a batch's steps unanswered ({reason}); "
                "when it answers again, go on from the last checkpoint (resume_from_checkpoint=True), or set "
                "on_judge_outage='pause-then-outcome' to train without it meanwhile"
            )
        logger.warning("judge %r is out (%s); this batch is trained on without its scores", judge.name, reason)
        return [_without(trajectory, judge) for trajectory in trajectories]

    def _ask_again(self, trajectories: list[Trajectory], judge: JudgeInStack) -> list[Trajectory]:
        """Ask until the judge is no longer out; one that was waited for in vain before is asked once, at once."""
        tenacity = require("tenacity", "train")
        policy = self.policy
        budget = 0.0 if judge.name in self._gone else policy.wait
        current = trajectories

        def attempt() -> bool:
            nonlocal current
            current = _asked(current, judge)
            return self._is_out(current, judge)

        tenacity.Retrying(
            retry=tenacity.retry_if_result(bool),
            wait=tenacity.wait_exponential(multiplier=policy.first_pause, max=policy.longest_pause),
            # Counted in pauses and not on the clock, so that all processes give up together.
            stop=lambda state: state.idle_for + state.upcoming_sleep > budget,
            before_sleep=lambda state: logger.warning(
                "judge %r is out (%s); asking again in %.0f s",
                judge.name,
                _reason(current, judge),
                state.upcoming_sleep,
            ),
            retry_error_callback=lambda state: True,
            sleep=self._sleep,
        )(attempt)
        return current

    def _is_out(self, trajectories: Sequence[Trajectory], judge: JudgeInStack) -> bool:
        local = (sum(_unanswered(t, judge) for t in trajectories), sum(_asked_steps(t, judge) for t in trajectories))
        unanswered, asked = self._total(local)
        return asked > 0 and unanswered >= self.policy.share * asked


def _asked(trajectories: Sequence[Trajectory], judge: JudgeInStack) -> list[Trajectory]:
    """Ask about one unanswered episode, and about the others once that one is answered."""
    result = list(trajectories)
    waiting = [i for i, t in enumerate(result) if _unanswered(t, judge)]
    for some in (waiting[:1], waiting[1:]):
        for i, grades in zip(some, judge.grade([result[i] for i in some]), strict=True):
            result[i] = _regraded(result[i], judge, grades)
        if waiting and _unanswered(result[waiting[0]], judge):
            break  # every further question would cost a time-out
    return result


def _regraded(trajectory: Trajectory, judge: JudgeInStack, grades: Sequence[Any]) -> Trajectory:
    """The trajectory with other grades of this judge, and their worth in its shaped rewards."""
    before, after = judge.bonuses(_grades(trajectory, judge)), judge.bonuses(grades)
    shaped = [
        (step.reward if step.shaped_reward is None else step.shaped_reward) + new - old
        for step, old, new in zip(trajectory.steps, before, after, strict=True)
    ]
    return absorb_signals(trajectory, {**judge.signals(grades), "shaped_rewards": shaped})


def _without(trajectory: Trajectory, judge: JudgeInStack) -> Trajectory:
    if not _asked_steps(trajectory, judge):
        return trajectory
    return _regraded(trajectory, judge, [judge.unanswered("the judge was out")] * len(trajectory))


def _grades(trajectory: Trajectory, judge: JudgeInStack) -> list[Any]:
    if isinstance(judge, RoleGrader):
        return [step.role for step in trajectory.steps]
    return [step.scores.get(judge.name) or judge.unanswered("never asked") for step in trajectory.steps]


def _asked_steps(trajectory: Trajectory, judge: JudgeInStack) -> int:
    """Steps that the judge was asked about; none of an episode whose environment failed, or that no judge saw end."""
    if is_dropped(trajectory):
        return 0
    if isinstance(judge, RoleGrader):
        return len(trajectory)
    return sum(judge.name in step.scores for step in trajectory.steps)


def _unanswered(trajectory: Trajectory, judge: JudgeInStack) -> int:
    """Steps without an answer; an abstaining role judge looks like one that failed only if it typed no step at all."""
    asked = _asked_steps(trajectory, judge)
    if isinstance(judge, RoleGrader):
        return asked if all(step.role is None for step in trajectory.steps) else 0
    verdicts = (step.scores.get(judge.name) for step in trajectory.steps)
    return sum(_failed(verdict) for verdict in verdicts) if asked else 0


def _failed(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.unscored is not None and verdict.unscored != ABSTAINED


def _reason(trajectories: Sequence[Trajectory], judge: JudgeInStack) -> str:
    verdicts = (step.scores.get(judge.name) for t in trajectories for step in t.steps)
    return next((v.unscored for v in verdicts if v is not None and _failed(v) and v.unscored), "no answer")
