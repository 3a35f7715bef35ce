"""Which query to train with, and whether the evidence suffices to say so."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs
import numpy as np

from agentkit.bootstrap import bootstrap_means, percentile_interval

Grounds: TypeAlias = Literal["clear", "tie", "thin", "no gap", "nothing to choose"]


@attrs.frozen
class Recommendation:
    """The outcome of a screening."""

    query: str | None
    """The candidate to train with; None when the evidence does not suffice."""
    leading: str | None
    """The candidate with the largest gap, whether or not that means anything."""
    grounds: Grounds
    text: str
    """The same in a sentence or two."""
    rivals: tuple[str, ...] = ()
    """Candidates that cannot be told from the leading one."""


def recommend(
    gaps: Mapping[str, np.ndarray],
    *,
    min_trajectories: int = 20,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Recommendation:
    """The candidate with the largest mean gap, if the gap is above 0 and above every other candidate's.

    The gap decides, since the advantage of a step is its score less a mean (A = λ (s − s̄)), and since the paper's
    query with the largest gap taught best (seeds/000). That it decides alone is our *(reading)*. Two candidates differ
    when the bootstrap interval of the difference of their gaps, over the trajectories that both have scored, leaves out
    0.

    Args:
        gaps: candidate -> its gap in each trajectory, (n,), NaN where it has none; without those that read the truth.
        min_trajectories: the fewest trajectories with a gap that count as evidence.
        resamples: of the bootstrap.
        level: of its intervals.
        seed: of its draws.
    """
    found = {name: values for name, values in gaps.items() if np.isfinite(values).any()}
    if not found:
        text = (
            "Nothing to choose from: no candidate, but for those that read the truth, has scored a milestone and a "
            "no-op of one trajectory."
        )
        return Recommendation(None, None, "nothing to choose", text)
    means = {name: float(np.nanmean(values)) for name, values in found.items()}
    leading = max(means, key=means.__getitem__)
    count = int(np.isfinite(found[leading]).sum())
    if count < min_trajectories:
        text = (
            f"Too thin to tell: only {count} trajectories hold both a milestone and a no-op that {leading} has scored; "
            f"{min_trajectories} are wanted. Record more episodes of mixed quality."
        )
        return Recommendation(None, leading, "thin", text)
    low, high = _interval(found[leading][:, None], resamples, level, seed)
    if low <= 0:
        text = (
            f"None: even the largest gap, {means[leading]:+.3f} [{low:+.3f}, {high:+.3f}] of {leading}, is not clearly "
            "above 0. These scores do not put milestones above no-ops."
        )
        return Recommendation(None, leading, "no gap", text)
    rivals = _rivals(leading, found, resamples, level, seed)
    if rivals:
        text = (
            f"Too thin to tell: {leading} leads with a gap of {means[leading]:+.3f}, but its difference from "
            f"{', '.join(rivals)} may be 0. Record more episodes, or take the cheapest of them."
        )
        return Recommendation(None, leading, "tie", text, rivals)
    text = f"Train with {leading}: its gap of {means[leading]:+.3f} [{low:+.3f}, {high:+.3f}] is above every other's."
    return Recommendation(leading, leading, "clear", text)


def _rivals(leading: str, gaps: Mapping[str, np.ndarray], resamples: int, level: float, seed: int) -> tuple[str, ...]:
    """The candidates whose gap may be as large as the leading one's."""
    rivals = []
    for name, values in gaps.items():
        if name != leading:
            difference = (gaps[leading] - values)[:, None]
            if not np.isfinite(difference).any() or _interval(difference, resamples, level, seed)[0] <= 0:
                rivals.append(name)
    return tuple(rivals)


def _interval(values: np.ndarray, resamples: int, level: float, seed: int) -> tuple[float, float]:
    finite = values[np.isfinite(values[:, 0])]
    return percentile_interval(bootstrap_means(finite, resamples, seed)[:, 0], level)
