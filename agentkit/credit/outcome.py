"""The outcome advantage of GRPO."""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from agentkit.credit.arrays import STD_EPSILON, Floats, as_vector, sample_std

Scale = Literal["group", "none", "batch"]


def outcome_advantages(returns: ArrayLike, scale: Scale = "group", groups: Sequence[Hashable] | None = None) -> Floats:
    """GRPO's outcome advantage, A_i = (R_i - mean R) / (std R + 1e-4), with statistics per *trajectory*.

    Args:
        returns: shape (G,), one return an episode; NaN for an episode that could not be scored.
        scale: ``"group"`` divides by the group's standard deviation (GRPO, arXiv 2402.03300), ``"batch"`` by that of
            all the returns given, ``"none"`` by nothing (Dr. GRPO, arXiv 2503.20783).
        groups: a group label for each return when ``returns`` holds several groups; None means one group.

    Returns:
        Shape (G,); exactly 0 for unscored episodes and for groups whose returns are all equal.

    Raises:
        ValueError: a wrong shape, an infinite return, or an unknown ``scale``.

    >>> outcome_advantages([1.0, 0.0], scale="none")
    array([ 0.5, -0.5])
    """
    array = as_vector("returns", returns)
    if scale not in ("group", "none", "batch"):
        raise ValueError(f"scale must be 'group', 'none' or 'batch', got {scale!r}")
    labels = [None] * array.size if groups is None else list(groups)
    if len(labels) != array.size:
        raise ValueError(f"groups has {len(labels)} labels for {array.size} returns")
    advantages = np.zeros_like(array)
    for label in dict.fromkeys(labels):
        members = np.array([other == label for other in labels])
        scored = members & ~np.isnan(array)
        if not scored.any():
            continue
        centred = array[scored] - array[scored].mean()
        spread = {"group": sample_std(array[members]), "batch": sample_std(array), "none": 0.0}[scale]
        if scale != "none":
            centred = centred / (spread + STD_EPSILON)
        if np.ptp(array[scored]) > 0:  # equal returns can differ from their mean by a rounding error
            advantages[scored] = centred
    return advantages
