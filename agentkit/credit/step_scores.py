"""A judge's step scores as credit."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from agentkit.credit.arrays import Floats, as_vector


def centered_step_scores(
    scores: Sequence[ArrayLike], weight: float = 0.5, baseline: Literal["steps", "episodes"] = "steps"
) -> list[Floats]:
    """The Teacher's term, λ (s_{i,t} - s̄_u), of *Actor, Judge, or Teacher?*.

    Args:
        scores: G arrays of shape (T_i,), NaN = unscored.
        weight: λ; the paper uses 0.5.
        baseline: s̄_u, the mean score of rollout group u, as the mean over all scored steps of the group
            (``"steps"``, the reading taken here) or as the mean of the episodes' means (``"episodes"``).

    Returns:
        G arrays of shape (T_i,); exactly 0 where unscored. With ``"steps"`` they sum to 0 over the group.

    >>> centered_step_scores([[1.0, 0.5], [0.0, float("nan")]], weight=0.5)
    [array([0.25, 0.  ]), array([-0.25,  0.  ])]
    """
    arrays = [as_vector(f"scores[{i}]", s) for i, s in enumerate(scores)]
    if baseline not in ("steps", "episodes"):
        raise ValueError(f"baseline must be 'steps' or 'episodes', got {baseline!r}")
    parts = [a[~np.isnan(a)] for a in arrays]
    parts = [part for part in parts if part.size]
    if not parts:
        return [np.zeros_like(a) for a in arrays]
    mean = np.concatenate(parts).mean() if baseline == "steps" else float(np.mean([part.mean() for part in parts]))
    return [np.where(np.isnan(a), 0.0, weight * (a - mean)) for a in arrays]
