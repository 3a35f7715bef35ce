"""Discounted returns as step advantages."""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from agentkit.credit.arrays import Floats, as_vector
from agentkit.credit.outcome import outcome_advantages


def discounted_step_returns(rewards: ArrayLike, gamma: float = 0.95) -> Floats:
    """G_t = r_t + γ G_{t+1}: shape (T,) -> (T,). An unscored (NaN) reward counts as 0.

    >>> discounted_step_returns([0.0, 0.0, 1.0], gamma=0.5)
    array([0.25, 0.5 , 1.  ])
    """
    array = np.nan_to_num(as_vector("rewards", rewards), nan=0.0)
    if not 0.0 <= gamma <= 1.0:
        raise ValueError(f"gamma must be in [0, 1], got {gamma!r}")
    returns = np.zeros_like(array)
    running = 0.0
    for t in range(array.size - 1, -1, -1):
        running = array[t] + gamma * running
        returns[t] = running
    return returns


def discounted_advantages(rewards: Sequence[ArrayLike], gamma: float = 0.95) -> list[Floats]:
    """G_{i,t} - b: discounted returns against one baseline for the whole group, b = mean over episodes of G_{i,0}.

    The baseline is an *own reading*. A mean over the episodes that are still running at turn t, or one in which ended
    episodes count 0, depends on when episodes stopped, and so pays for length; the return from the start does not. With
    γ = 1 and rewards at the end only this is `outcome_advantages` with ``scale="none"``.

    Args:
        rewards: G arrays of shape (T_i,), NaN = 0; an episode without steps counts in no mean.
        gamma: the discount.

    Returns:
        G arrays of shape (T_i,).

    >>> discounted_advantages([[1.0], [0.0, 0.0]], gamma=1.0)
    [array([0.5]), array([-0.5, -0.5])]
    """
    returns = [discounted_step_returns(r, gamma) for r in rewards]
    starts = np.array([values[0] for values in returns if values.size])
    baseline = starts.mean() if starts.size else 0.0
    if starts.size and np.ptp(starts) == 0:  # the mean of equal numbers can differ from them by a rounding error
        baseline = starts[0]
    return [values - baseline for values in returns]


def anchor_state_advantages(
    observations: Sequence[Sequence[Hashable]],
    rewards: Sequence[ArrayLike],
    gamma: float = 0.95,
    scale: Literal["group", "none"] = "group",
) -> list[Floats]:
    """GiGPO's step advantage: discounted returns normalised over identical observations within the group.

    Args:
        observations: G sequences of T_i observations, each what the agent saw before it acted.
        rewards: G arrays of shape (T_i,).
        gamma: discount of the returns (GiGPO, arXiv 2505.10978, uses 0.95).
        scale: ``"group"`` divides by each anchor's standard deviation, ``"none"`` only centres.

    Returns:
        G arrays of shape (T_i,); 0 for an observation that was met once only.

    Raises:
        ValueError: an episode whose observations and rewards differ in number.
    """
    returns = [discounted_step_returns(r, gamma) for r in rewards]
    anchors: dict[Hashable, list[tuple[int, int]]] = {}
    for i, (seen, values) in enumerate(zip(observations, returns, strict=True)):
        if len(seen) != values.size:
            raise ValueError(f"episode {i} has {len(seen)} observations and {values.size} rewards")
        for t, observation in enumerate(seen):
            anchors.setdefault(observation, []).append((i, t))
    advantages = [np.zeros_like(values) for values in returns]
    for places in anchors.values():
        for (i, t), value in zip(
            places, outcome_advantages([returns[i][t] for i, t in places], scale=scale), strict=True
        ):
            advantages[i][t] = value
    return advantages
