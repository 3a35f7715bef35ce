"""Means with bootstrap intervals."""

import attrs
import numpy as np


@attrs.frozen
class Interval:
    """A mean and its bootstrap interval."""

    estimate: float
    low: float
    high: float
    count: int
    """How many values it is the mean of."""


def bootstrap_means(values: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Means of ``values`` (n, C) over n rows drawn with replacement, float64 of shape (resamples, C).

    The columns are resampled together, so differences of columns are paired. NaN are left out of a column's mean.
    """
    count = len(values)
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    finite = np.isfinite(values)
    weights = draws @ finite
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(weights > 0, draws @ np.where(finite, values, 0.0) / weights, np.nan)


def mean_interval(values: np.ndarray, resamples: int = 2000, level: float = 0.95, seed: int = 0) -> Interval | None:
    """The mean of ``values`` (n,) with its percentile bootstrap interval; NaN are left out, None when all are NaN."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    low, high = percentile_interval(bootstrap_means(finite[:, None], resamples, seed)[:, 0], level)
    return Interval(float(finite.mean()), low, high, int(finite.size))


def percentile_interval(samples: np.ndarray, level: float) -> tuple[float, float]:
    """The central interval that holds ``level`` of the samples (resamples,)."""
    tail = (1 - level) / 2
    low, high = np.nanquantile(samples, [tail, 1 - tail])
    return float(low), float(high)
