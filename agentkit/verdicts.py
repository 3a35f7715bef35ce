"""Whatever a judge returned, checked and turned into verdicts."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from agentkit.decisions import Verdict
from agentkit.trajectory import Trajectory

logger = logging.getLogger(__name__)

Score: TypeAlias = float | Verdict | None
Judge: TypeAlias = Callable[[Trajectory], Sequence[Score]]
"""``judge(trajectory) -> T scores``: numbers in [0, 1], None or an unscored `Verdict` for a step it cannot score."""


def judge_name(judge: Any) -> str:
    """The judge's own ``name``, else the name of its function or class."""
    name = getattr(judge, "name", None)
    return name if isinstance(name, str) else getattr(judge, "__name__", type(judge).__name__)


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
    name = judge_name(judge)
    try:
        scores = judge(trajectory)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        logger.warning("judge %r failed on %d steps, left unscored: %s", name, len(trajectory), reason)
        return (Verdict.no_score(reason),) * len(trajectory)
    return as_verdicts(scores, len(trajectory), name)
