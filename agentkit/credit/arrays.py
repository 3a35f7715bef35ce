"""What all estimators share: arrays with NaN for *unscored*, and their statistics."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

STD_EPSILON = 1e-4
"""Added to a standard deviation before dividing by it, as `trl.GRPOTrainer` does."""


def as_vector(name: str, values: ArrayLike) -> Floats:
    """``values`` as float64 of shape (n,).

    Raises:
        ValueError: another shape, or an infinite value; the message begins with ``name``.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), got {array.shape}")
    if np.isinf(array).any():
        raise ValueError(f"{name} must be finite or NaN (unscored), got {array!r}")
    return array


def sample_std(values: Floats) -> float:
    """Sample standard deviation of the scored values (divisor n - 1, as `torch.std`); 0 when fewer than two."""
    scored = values[~np.isnan(values)]
    return float(scored.std(ddof=1)) if scored.size > 1 else 0.0


def whiten(values: Sequence[ArrayLike]) -> list[Floats]:
    """Subtract the mean and divide by the standard deviation (+ 1e-4) over all steps of all episodes given.

    NaN entries stay out of both statistics and come out as exactly 0; equal values come out as exactly 0.
    """
    arrays = [as_vector(f"values[{i}]", v) for i, v in enumerate(values)]
    pooled = np.concatenate(arrays) if arrays else np.zeros(0)
    scored = pooled[~np.isnan(pooled)]
    if scored.size == 0 or np.ptp(scored) == 0:
        return [np.zeros_like(a) for a in arrays]
    mean, spread = scored.mean(), sample_std(pooled) + STD_EPSILON
    return [np.where(np.isnan(a), 0.0, (a - mean) / spread) for a in arrays]


def unscored_share(scores: Sequence[ArrayLike]) -> float:
    """The share of steps without a score, in [0, 1]; NaN when there are no steps."""
    sizes = [np.asarray(s).size for s in scores]
    missing = sum(int(np.isnan(np.asarray(s, dtype=np.float64)).sum()) for s in scores)
    return missing / sum(sizes) if sum(sizes) else math.nan
