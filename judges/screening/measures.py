"""What screening measures of a judge, as pure functions of its scores and the ground truth.

Scores are float64 arrays of shape (T,), NaN where a step is unscored; an unscored step is left out of every measure.
The kinds of steps and the measures are those of *Actor, Judge, or Teacher?* (seeds/000, "Judge"); what the paper leaves
open is marked *(reading)*.
"""

import math

import numpy as np

from agentkit.trajectory import Trajectory

KINDS = ("milestone", "other", "no-op")
"""A milestone achieves a sub-goal, a no-op changes nothing, other does neither."""
MILESTONE, OTHER, NO_OP, UNKNOWN = 0, 1, 2, -1


def step_kinds(trajectory: Trajectory) -> np.ndarray:
    """The kind of every step, int64 of shape (T,): an index into `KINDS`, or -1 where the environment does not say."""
    kinds = []
    for step in trajectory.steps:
        if step.milestones:
            kinds.append(MILESTONE)
        else:
            kinds.append(UNKNOWN if step.state_changed is None else OTHER if step.state_changed else NO_OP)
    return np.array(kinds, dtype=np.int64)


def kind_means(scores: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The mean score of each kind within one trajectory, float64 of shape (3,); NaN where no step of it is scored.

    >>> kind_means(np.array([1.0, 0.5, np.nan, 0.25]), np.array([MILESTONE, OTHER, OTHER, MILESTONE]))
    array([0.625, 0.5  ,   nan])
    """
    return np.array([_mean(scores[(kinds == kind) & np.isfinite(scores)]) for kind in range(len(KINDS))])


def milestones_on_top(scores: np.ndarray, milestones: np.ndarray) -> float:
    """The share of a trajectory's k milestones that are among its k highest scores; NaN without a scored milestone.

    Of steps that share the k-th highest score, any could be taken: the share is the expected one over all ways to break
    the tie, so that a judge which gives every step the same score gets k / T.

    Args:
        scores: (T,).
        milestones: booleans of shape (T,).

    >>> milestones_on_top(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    0.75
    """
    scored = np.isfinite(scores)
    scores, milestones = scores[scored], milestones[scored]
    count = int(milestones.sum())
    if not count:
        return math.nan
    threshold = np.sort(scores)[-count]
    above, tied = scores > threshold, scores == threshold
    places = count - int(above.sum())
    hits = milestones[above].sum() + places * milestones[tied].mean()
    return float(hits / count)


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    """The probability that a positive outranks a negative, a tie counting one half; NaN when either is empty.

    This is the area under the ROC curve (Mann-Whitney U over the number of pairs). Unscored steps are left out.

    >>> auc(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    positive, negative = positive[np.isfinite(positive)], negative[np.isfinite(negative)]
    if not positive.size or not negative.size:
        return math.nan
    difference = positive[:, None] - negative[None, :]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def brier_score(scores: np.ndarray, labels: np.ndarray) -> float:
    """Mean squared difference of scores (N,) and labels (N,) in {0, 1}; NaN when no step is scored."""
    scored = np.isfinite(scores)
    return _mean((scores[scored] - labels[scored]) ** 2)


def calibration_error(scores: np.ndarray, labels: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error: |mean score − share of positives| in bins of equal width, weighted by their steps.

    Args:
        scores: (N,), NaN = left out.
        labels: (N,) in {0, 1}.
        bins: how many intervals [0, 1] is cut into; 1.0 belongs to the last.

    >>> round(calibration_error(np.array([0.95, 0.95, 0.05, 0.05]), np.array([1, 0, 0, 0])), 3)
    0.25
    """
    scored = np.isfinite(scores)
    scores, labels = scores[scored], labels[scored]
    if not scores.size:
        return math.nan
    places = np.minimum((scores * bins).astype(np.int64), bins - 1)
    gaps = [abs(scores[places == b].sum() - labels[places == b].sum()) for b in range(bins)]
    return float(np.sum(gaps) / scores.size)


def flip_rate(scores: np.ndarray, swapped: np.ndarray) -> float:
    """The share of steps whose answer (a score above one half) differs when the options stand in the other order.

    Steps that are unscored in either order are left out; NaN when none remains.

    >>> flip_rate(np.array([0.9, 0.6, 0.2]), np.array([0.8, 0.4, 0.3])) == 1 / 3
    True
    """
    both = np.isfinite(scores) & np.isfinite(swapped)
    return _mean((scores[both] > 0.5) != (swapped[both] > 0.5))


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if values.size else math.nan
