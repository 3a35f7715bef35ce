"""Intervals and a test for success rates, some of them of pairs."""

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import numpy as np


def wilson_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a success rate (Wilson 1927), within [0, 1]; (0, 1) without trials.

    Raises:
        ValueError: ``successes`` is not in [0, ``trials``], or ``level`` not in (0, 1).

    >>> low, high = wilson_interval(8, 10)
    >>> f"{low:.3f} {high:.3f}"
    '0.490 0.943'
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be in [0, trials], got {successes} of {trials}")
    z = _quantile(level)
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def mcnemar_exact(rescued: int, harmed: int) -> float:
    """The two-sided p-value of McNemar's exact test: are rescue and harm equally likely?

    Under the hypothesis the discordant pairs are fair coins, Binomial(rescued + harmed, 1/2). Pairs are taken to be
    independent; those of one task are not, so for several states of a task prefer `bootstrap_interval`.

    Raises:
        ValueError: a count is negative.

    >>> mcnemar_exact(6, 0), mcnemar_exact(2, 2), mcnemar_exact(0, 0)
    (0.03125, 1.0, 1.0)
    """
    if rescued < 0 or harmed < 0:
        raise ValueError(f"counts must be at least 0, got {rescued} and {harmed}")
    discordant = rescued + harmed
    tail = sum(math.comb(discordant, k) for k in range(min(rescued, harmed) + 1))
    return min(1.0, 2 * tail / 2**discordant)


def bootstrap_interval(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = 0.95, draws: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """The percentile interval of the mean of N values, by drawing whole clusters with replacement.

    States of one task resemble each other; drawing tasks instead of states keeps that from looking like more evidence.

    Args:
        values: N numbers.
        clusters: N cluster names, such as task ids.
        level: the coverage that is aimed at.
        draws: how many samples of clusters.
        seed: the same seed, the same interval.

    Raises:
        ValueError: there are no values, or not one cluster for each.
    """
    if not values or len(values) != len(clusters):
        raise ValueError(f"need one cluster for each of at least 1 value, got {len(clusters)} for {len(values)}")
    _quantile(level)
    names = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    index = np.array([names[name] for name in clusters])
    sums = np.bincount(index, weights=np.asarray(values, dtype=np.float64))
    counts = np.bincount(index)
    drawn = np.random.default_rng(seed).integers(len(names), size=(draws, len(names)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    return NormalDist().inv_cdf((1 + level) / 2)
