"""Whatever a judge returned, checked and turned into verdicts."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs

from agentkit.decisions import Verdict
from agentkit.trajectory import Trajectory

logger = logging.getLogger(__name__)

Score: TypeAlias = float | Verdict | None
Judge: TypeAlias = Callable[[Trajectory], Sequence[Score]]
"""``judge(trajectory) -> T scores``: numbers in [0, 1], None or an unscored `Verdict` for a step it cannot score.

Optional: ``name``; ``context``, one of `ONLINE_CONTEXTS` where a step's score does not depend on later steps;
``judge_all(trajectories)``, the answers for several trajectories in one batch; ``score_last(trajectory)``, the last
step's score alone; ``score_last_all(trajectories)``, those of several trajectories in one batch."""

ONLINE_CONTEXTS = ("prefix", "prefix+feedback")
"""What a judge says it looks at that needs no later step: what led to an action, and what the action led to."""


@attrs.frozen
class Failure:
    """A judge that raised instead of answering."""

    reason: str


def judge_name(judge: Any) -> str:
    """The judge's own ``name``, else the name of its function or class."""
    name = getattr(judge, "name", None)
    return name if isinstance(name, str) else getattr(judge, "__name__", type(judge).__name__)


def is_online(judge: Any) -> bool:
    """The judge says of itself that it can score a step as soon as it was taken."""
    return getattr(judge, "context", None) in ONLINE_CONTEXTS


def as_verdict(score: Any, where: str = "score") -> Verdict:
    """One score as a verdict.

    Raises:
        TypeError: it is not a number, None or a `Verdict`.
        ValueError: it is NaN or outside [0, 1].
    """
    if isinstance(score, Verdict):
        return score
    if score is None:
        return Verdict.no_score("the judge abstained")
    try:
        number = float(score)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where} must be a number in [0, 1], None or a Verdict, got {score!r}") from error
    if math.isnan(number):
        raise ValueError(f"{where} is NaN; return None or Verdict.no_score(reason) for a step that has no score")
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{where} must be in [0, 1], got {number!r}")
    return Verdict(number)


def as_verdicts(scores: Any, count: int, judge: str) -> tuple[Verdict, ...]:
    """``count`` scores as verdicts; the errors name the judge and the step.

    Raises:
        TypeError: ``scores`` is no sequence, or a score has a wrong type.
        ValueError: a wrong number of scores, NaN, or a score outside [0, 1].
    """
    try:
        values = list(scores)
    except TypeError as error:
        raise TypeError(f"judge {judge!r} must return one score a step, got {scores!r}") from error
    if len(values) != count:
        raise ValueError(f"judge {judge!r} returned {len(values)} scores for {count} steps; return one a step")
    return tuple(as_verdict(value, f"judge {judge!r}, step {t}: score") for t, value in enumerate(values))


def call_judge(judge: Judge, trajectory: Trajectory) -> tuple[Verdict, ...]:
    """Ask a judge for one verdict a step; a judge that raises leaves every step unscored, with the reason.

    What the judge returns is then checked as in `as_verdicts`: a wrong answer is a defect of the judge and raises,
    while a failure to answer (time-out, server error) is an event that training has to survive.
    """
    return call_judge_all(judge, [trajectory])[0]


def call_judge_all(judge: Judge, trajectories: Sequence[Trajectory]) -> list[tuple[Verdict, ...]]:
    """`call_judge` for several trajectories, in one batch where the judge has ``judge_all``; see `answers_of`."""
    name = judge_name(judge)
    return [
        (Verdict.no_score(answer.reason),) * len(trajectory)
        if isinstance(answer, Failure)
        else as_verdicts(answer, len(trajectory), name)
        for trajectory, answer in zip(trajectories, answers_of(judge, trajectories), strict=True)
    ]


def call_judge_last(judge: Judge, trajectories: Sequence[Trajectory]) -> list[Verdict]:
    """The verdict on each trajectory's last step, by ``score_last`` and ``score_last_all`` where the judge has them."""
    name, score_last = judge_name(judge), getattr(judge, "score_last", None)
    if score_last is None:
        return [verdicts[-1] for verdicts in call_judge_all(judge, trajectories)]
    answers = _answers(score_last, getattr(judge, "score_last_all", None), trajectories, name)
    return [
        Verdict.no_score(answer.reason) if isinstance(answer, Failure) else as_verdict(answer, f"judge {name!r}: score")
        for answer in answers
    ]


def answers_of(judge: Callable[[Trajectory], Any], trajectories: Sequence[Trajectory]) -> list[Any]:
    """What a judge answers for each trajectory, unchecked; a `Failure`, which is logged, where it raised.

    A judge with ``judge_all(trajectories)`` is asked once for all of them. When that raises they are asked one by one,
    so that a trajectory which the judge cannot cope with costs the others nothing.

    Raises:
        ValueError: ``judge_all`` did not return one answer a trajectory.
    """
    return _answers(judge, getattr(judge, "judge_all", None), trajectories, judge_name(judge))


def _answers(
    ask: Callable[[Trajectory], Any],
    ask_all: Callable[[Sequence[Trajectory]], Sequence[Any]] | None,
    trajectories: Sequence[Trajectory],
    name: str,
) -> list[Any]:
    if ask_all is None or len(trajectories) < 2:
        return [_answer(ask, trajectory, name) for trajectory in trajectories]
    try:
        answers = list(ask_all(trajectories))
    except Exception as error:
        logger.warning("judge %r failed on a batch of %d, asked one by one: %r", name, len(trajectories), error)
        return [_answer(ask, trajectory, name) for trajectory in trajectories]
    if len(answers) != len(trajectories):
        raise ValueError(f"judge {name!r} returned {len(answers)} answers for a batch of {len(trajectories)}")
    return answers


def _answer(ask: Callable[[Trajectory], Any], trajectory: Trajectory, name: str) -> Any:
    try:
        return ask(trajectory)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        logger.warning("judge %r failed on %d steps, left unscored: %s", name, len(trajectory), reason)
        return Failure(reason)
