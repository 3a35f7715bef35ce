"""Credit terms: what is added to the outcome advantage of each step, from the episodes of one rollout group."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import attrs
import numpy as np

from agentkit.credit import ROLE_CONSTANTS, Floats, centered_step_scores, role_credits
from agentkit.trajectory import Trajectory

CreditTerm: TypeAlias = Callable[[Sequence[Trajectory]], Sequence[Floats]]
"""``term(group) -> G arrays of shape (T_i,)``; any callable of this form is a term, NaN adds exactly 0."""


@attrs.frozen
class StepScores:
    """λ (s - s̄): a judge's scores, centred within the rollout group (see `agentkit.credit.centered_step_scores`).

    Args:
        judge: the name under which a `JudgeRewardWrapper` keeps the scores; None = the last judge of each episode.
        weight: λ.
    """

    judge: str | None = None
    weight: float = 0.5
    name: str = "step_scores"

    def __call__(self, group: Sequence[Trajectory]) -> list[Floats]:
        """G arrays of shape (T_i,).

        Raises:
            ValueError: no episode of the group was judged under that name.
        """
        names = [self.judge or _last_judge(trajectory) for trajectory in group]
        known = sorted({judge for t in group for step in t.steps for judge in step.scores})
        if any(len(t) for t in group) and not set(names) & set(known):
            wanted = "any judge" if self.judge is None else f"judge {self.judge!r}"
            raise ValueError(f"no scores of {wanted} in the group (found {known}); put a JudgeRewardWrapper around it")
        return centered_step_scores([t.score_array(n) for t, n in zip(group, names, strict=True)], self.weight)


@attrs.frozen
class RoleCredit:
    """λ c_role: TRIAGE's fixed constants (see `agentkit.credit.role_credits`), from roles that a wrapper typed.

    Args:
        weight: λ.
        constants: role name -> c.
    """

    weight: float = 0.3
    constants: Mapping[str, float] = ROLE_CONSTANTS
    name: str = "roles"

    def __call__(self, group: Sequence[Trajectory]) -> list[Floats]:
        """G arrays of shape (T_i,); exactly 0 where a step has no role."""
        return role_credits([[step.role for step in t.steps] for t in group], self.weight, self.constants)


def _last_judge(trajectory: Trajectory) -> str:
    names = list(trajectory.steps[-1].scores) if trajectory.steps else []
    return names[-1] if names else ""


def term_name(term: CreditTerm) -> str:
    """The term's own ``name``, else that of its function or class."""
    name = getattr(term, "name", None)
    return name if isinstance(name, str) else getattr(term, "__name__", type(term).__name__)


def evaluate_term(term: CreditTerm, group: Sequence[Trajectory]) -> list[Floats]:
    """The term's values for one group, checked, with NaN turned into exactly 0.

    Raises:
        ValueError: not one array of T_i finite values for each of the G episodes.
    """
    values = [np.asarray(array, dtype=np.float64) for array in term(group)]
    shapes = [array.shape for array in values]
    if shapes != [(len(t),) for t in group]:
        raise ValueError(
            f"credit term {term_name(term)!r} gave shapes {shapes} for episodes of {[len(t) for t in group]} steps"
        )
    if any(np.isinf(array).any() for array in values):
        raise ValueError(f"credit term {term_name(term)!r} gave an infinite value")
    return [np.nan_to_num(array, nan=0.0) for array in values]
