"""TRIAGE's roles as grades."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentkit.credit import ROLE_CONSTANTS, role_credits
from agentkit.trajectory import Trajectory
from agentkit.verdicts import Failure, answers_of, judge_name
from agentkit.wrappers.sharing import resolve

RoleJudgeCallable: TypeAlias = Callable[[Trajectory], Sequence[str | None]]
"""``judge(trajectory) -> T role names``, None where it abstains. Optional: ``judge_all``, as of a `Judge`."""


@attrs.frozen
class RoleGrader:
    """The grades are role names or None; a role is worth ``weight * c_role``, an abstention exactly 0."""

    judge: RoleJudgeCallable
    weight: float
    constants: Mapping[str, float]

    online = None  # a role takes the steps after the action into account

    @classmethod
    def build(
        cls, judge: RoleJudgeCallable | str, weight: float, constants: Mapping[str, float] | None
    ) -> "RoleGrader":
        """The grader for a wrapper's arguments.

        Raises:
            TypeError: the judge cannot be called.
            ValueError: the weight is not finite.
        """
        if not math.isfinite(weight):
            raise ValueError(f"weight must be a finite number, got {weight!r}")
        resolved: RoleJudgeCallable = resolve(judge, "judge")
        if not callable(resolved):
            raise TypeError(f"judge must be callable as judge(trajectory), got {resolved!r}")
        return cls(resolved, weight, dict(ROLE_CONSTANTS if constants is None else constants))

    @property
    def name(self) -> str:
        """The judge's name."""
        return judge_name(self.judge)

    def grade(self, trajectories: Sequence[Trajectory]) -> list[tuple[str | None, ...]]:
        """One role a step; none at all where the judge failed.

        Raises:
            ValueError: a wrong number of roles, or an unknown one.
        """
        answers = answers_of(self.judge, trajectories)
        return [
            self._checked(answer, len(trajectory)) for answer, trajectory in zip(answers, trajectories, strict=True)
        ]

    def unanswered(self, reason: str) -> None:
        """No role."""
        return

    def bonuses(self, grades: Sequence[str | None]) -> list[float]:
        """``weight * c_role``."""
        return role_credits([grades], self.weight, self.constants)[0].tolist()

    def signals(self, grades: Sequence[str | None]) -> Mapping[str, Any]:
        """``roles``."""
        return {"roles": tuple(grades)}

    def _checked(self, answer: Any, count: int) -> tuple[str | None, ...]:
        if isinstance(answer, Failure):
            return (None,) * count
        try:
            roles = tuple(answer)
        except TypeError as error:
            raise TypeError(f"role judge {self.name!r} must return one role a step, got {answer!r}") from error
        if len(roles) != count:
            raise ValueError(
                f"role judge {self.name!r} returned {len(roles)} roles for {count} steps; return one a step"
            )
        for t, role in enumerate(roles):
            if role is not None and role not in self.constants:
                known = ", ".join(self.constants)
                raise ValueError(f"role judge {self.name!r}, step {t}: {role!r} is none of {known}, nor None")
        return roles
