"""Slow, obvious re-implementations of what screening measures."""

import itertools
import math
from collections.abc import Sequence


def milestones_on_top(scores: Sequence[float], milestones: Sequence[bool]) -> float:
    """The share of milestones in the top k, averaged over every order that agrees with the scores."""
    count = sum(milestones)
    shares = []
    for order in itertools.permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            shares.append(sum(milestones[i] for i in order[:count]) / count)
    return sum(shares) / len(shares)


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Pairs won, a tie counting one half, over all pairs."""
    won = 0.0
    for p in positive:
        for n in negative:
            won += 1.0 if p > n else 0.5 if p == n else 0.0
    return won / (len(positive) * len(negative))


def calibration_error(scores: Sequence[float], labels: Sequence[float], bins: int) -> float:
    """Bin by bin, weighted by the share of steps."""
    total = 0.0
    for b in range(bins):
        inside = [i for i, s in enumerate(scores) if b / bins <= s < (b + 1) / bins or (b == bins - 1 and s == 1.0)]
        if inside:
            mean = math.fsum(scores[i] for i in inside) / len(inside)
            share = math.fsum(labels[i] for i in inside) / len(inside)
            total += abs(mean - share) * len(inside) / len(scores)
    return total


def means_and_gap(
    episodes: Sequence[tuple[Sequence[str], Sequence[float | None]]],
) -> tuple[dict[str, float | None], float | None, int]:
    """Mean score by kind of step, within each episode and then over episodes; the gap, and over how many it is taken.

    Args:
        episodes: for each, the kinds of its steps and their scores, None = unscored.
    """
    by_kind: dict[str, list[float]] = {"milestone": [], "other": [], "no-op": []}
    gaps = []
    for kinds, scores in episodes:
        own = {}
        for kind, means in by_kind.items():
            values = [s for k, s in zip(kinds, scores, strict=True) if k == kind and s is not None]
            if values:
                own[kind] = math.fsum(values) / len(values)
                means.append(own[kind])
        if "milestone" in own and "no-op" in own:
            gaps.append(own["milestone"] - own["no-op"])
    average = {kind: math.fsum(means) / len(means) if means else None for kind, means in by_kind.items()}
    return average, math.fsum(gaps) / len(gaps) if gaps else None, len(gaps)
