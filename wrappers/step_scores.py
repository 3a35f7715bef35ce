"""A judge's step scores as grades."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from agentkit.decisions import Verdict
from agentkit.trajectory import Trajectory
from agentkit.verdicts import Judge, call_judge_all, call_judge_last, is_online, judge_name
from agentkit.wrappers.sharing import resolve


@attrs.frozen
class ScoreGrader:
    """The grades are `Verdict`\\ s; a score of 1 is worth ``weight``, an unscored step exactly 0."""

    judge: Judge
    weight: float
    name: str

    @classmethod
    def build(cls, judge: Judge | str, weight: float, name: str | None, taken: Collection[str]) -> "ScoreGrader":
        """The grader for a wrapper's arguments; ``taken`` are the names of the other judges of the stack.

        Raises:
            TypeError: the judge cannot be called.
            ValueError: the weight is not finite, or the name is taken.
        """
        if not math.isfinite(weight):
            raise ValueError(f"weight must be a finite number, got {weight!r}")
        resolved: Judge = resolve(judge, "judge")
        if not callable(resolved):
            raise TypeError(f"judge must be callable as judge(trajectory), got {resolved!r}")
        return cls(resolved, weight, free_name(resolved, name, taken))

    @property
    def online(self) -> "ScoreGrader | None":
        """This grader, if the judge says of itself that it needs no later step."""
        return self if is_online(self.judge) else None

    def grade(self, trajectories: Sequence[Trajectory]) -> list[tuple[Verdict, ...]]:
        """One verdict a step."""
        return call_judge_all(self.judge, trajectories)

    def grade_last(self, trajectories: Sequence[Trajectory]) -> list[Verdict]:
        """The last step's verdict, for which a judge with ``score_last`` need not score the earlier steps again."""
        return call_judge_last(self.judge, trajectories)

    def unanswered(self, reason: str) -> Verdict:
        """Unscored."""
        return Verdict.no_score(reason)

    def bonuses(self, grades: Sequence[Verdict]) -> list[float]:
        """``weight * score``."""
        return [0.0 if verdict.score is None else self.weight * verdict.score for verdict in grades]

    def step_signals(self, grade: Verdict) -> Mapping[str, Any]:
        """``step_score``."""
        return {"step_score": _number(grade)}

    def signals(self, grades: Sequence[Verdict]) -> Mapping[str, Any]:
        """``step_scores`` and ``verdicts``."""
        return {"step_scores": tuple(map(_number, grades)), "verdicts": {self.name: tuple(grades)}}


def free_name(judge: Judge, name: str | None, taken: Collection[str]) -> str:
    """The name for ``verdicts``: two judges of one stack must not share it, or one would lose its scores."""
    if name is not None:
        if name in taken:
            raise ValueError(f"name {name!r} is taken by another JudgeRewardWrapper of this stack; choose another")
        return name
    own = judge_name(judge)
    numbered = (own if n == 1 else f"{own} {n}" for n in itertools.count(1))
    return next(candidate for candidate in numbered if candidate not in taken)


def _number(verdict: Verdict) -> float:
    return math.nan if verdict.score is None else verdict.score
