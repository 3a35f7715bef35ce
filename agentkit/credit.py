"""From episode outcomes and step signals to advantages, in plain numpy.

Shapes: a rollout *group* has G episodes of the same task; episode i has T_i steps and L_i tokens. Per-episode values
are arrays of shape (G,), per-step values are lists of G arrays of shape (T_i,). NaN means *unscored*: it is left out
of every mean and standard deviation and contributes exactly 0.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Scale = Literal["group", "none", "batch"]

STD_EPSILON = 1e-4
"""Added to a standard deviation before dividing by it, as `trl.GRPOTrainer` does."""

ROLE_CONSTANTS: Mapping[str, float] = MappingProxyType(
    {"decisive": 1.0, "exploration": 0.5, "no-progress": -0.1, "regression": -0.5}
)
"""The fixed, never tuned role constants of TRIAGE (arXiv 2606.32017)."""


def _as_vector(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), got {array.shape}")
    if np.isinf(array).any():
        raise ValueError(f"{name} must be finite or NaN (unscored), got {array!r}")
    return array


def _std(values: Floats) -> float:
    """Sample standard deviation of the scored values (divisor n - 1, as `torch.std`); 0 when fewer than two."""
    scored = values[~np.isnan(values)]
    return float(scored.std(ddof=1)) if scored.size > 1 else 0.0


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
    array = _as_vector("returns", returns)
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
        spread = {"group": _std(array[members]), "batch": _std(array), "none": 0.0}[scale]
        if scale != "none":
            centred = centred / (spread + STD_EPSILON)
        if np.ptp(array[scored]) > 0:  # equal returns can differ from their mean by a rounding error
            advantages[scored] = centred
    return advantages


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
    arrays = [_as_vector(f"scores[{i}]", s) for i, s in enumerate(scores)]
    if baseline not in ("steps", "episodes"):
        raise ValueError(f"baseline must be 'steps' or 'episodes', got {baseline!r}")
    parts = [a[~np.isnan(a)] for a in arrays]
    parts = [part for part in parts if part.size]
    if not parts:
        return [np.zeros_like(a) for a in arrays]
    mean = np.concatenate(parts).mean() if baseline == "steps" else float(np.mean([part.mean() for part in parts]))
    return [np.where(np.isnan(a), 0.0, weight * (a - mean)) for a in arrays]


def role_credits(
    roles: Sequence[Sequence[str | None]], weight: float = 0.3, constants: Mapping[str, float] = ROLE_CONSTANTS
) -> list[Floats]:
    """TRIAGE's correction, λ c_role, one a step, not whitened (pass the result to `whiten` for that).

    Args:
        roles: G lists of T_i role names; None = the judge abstained.
        weight: λ; the paper uses 0.2 to 0.4 by environment.
        constants: role name -> c.

    Returns:
        G arrays of shape (T_i,); exactly 0 where the judge abstained.

    Raises:
        ValueError: an unknown role name.

    >>> role_credits([["decisive", None]], weight=0.3)
    [array([0.3, 0. ])]
    """
    for i, names in enumerate(roles):
        for t, name in enumerate(names):
            if name is not None and name not in constants:
                raise ValueError(f"roles[{i}][{t}] is {name!r}; known roles are {', '.join(constants)} or None")
    return [np.array([0.0 if n is None else weight * constants[n] for n in names], dtype=np.float64) for names in roles]


def whiten(values: Sequence[ArrayLike]) -> list[Floats]:
    """Subtract the mean and divide by the standard deviation (+ 1e-4) over all steps of all episodes given.

    NaN entries stay out of both statistics and come out as exactly 0; equal values come out as exactly 0.
    """
    arrays = [_as_vector(f"values[{i}]", v) for i, v in enumerate(values)]
    pooled = np.concatenate(arrays) if arrays else np.zeros(0)
    scored = pooled[~np.isnan(pooled)]
    if scored.size == 0 or np.ptp(scored) == 0:
        return [np.zeros_like(a) for a in arrays]
    mean, spread = scored.mean(), _std(pooled) + STD_EPSILON
    return [np.where(np.isnan(a), 0.0, (a - mean) / spread) for a in arrays]


def discounted_step_returns(rewards: ArrayLike, gamma: float = 0.95) -> Floats:
    """G_t = r_t + γ G_{t+1}: shape (T,) -> (T,). An unscored (NaN) reward counts as 0.

    >>> discounted_step_returns([0.0, 0.0, 1.0], gamma=0.5)
    array([0.25, 0.5 , 1.  ])
    """
    array = np.nan_to_num(_as_vector("rewards", rewards), nan=0.0)
    if not 0.0 <= gamma <= 1.0:
        raise ValueError(f"gamma must be in [0, 1], got {gamma!r}")
    returns = np.zeros_like(array)
    running = 0.0
    for t in range(array.size - 1, -1, -1):
        running = array[t] + gamma * running
        returns[t] = running
    return returns


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


def combine(terms: Mapping[str, Sequence[ArrayLike] | Floats], lengths: Sequence[int] | None = None) -> list[Floats]:
    """Sum named credit terms into one value a step.

    Args:
        terms: name -> G entries, each a number for the whole episode or an array of shape (T_i,); NaN adds exactly 0.
        lengths: T_i of each episode; needed only when no term has an array for some episode.

    Returns:
        G arrays of shape (T_i,).

    Raises:
        ValueError: terms disagree on G or on some T_i; the message names the term.

    >>> combine({"outcome": [1.0, -1.0], "scores": [[0.5], [0.0, 0.25]]})
    [array([1.5]), array([-1.  , -0.75])]
    """
    if not terms:
        raise ValueError("terms is empty; give at least one credit term")
    group = len(next(iter(terms.values())))
    sizes: list[int | None] = [None] * group if lengths is None else list(lengths)
    for name, entries in terms.items():
        if len(entries) != group or len(sizes) != group:
            raise ValueError(f"term {name!r} has {len(entries)} episodes, expected {len(sizes)}")
        for i, entry in enumerate(entries):
            size = np.asarray(entry).size if np.ndim(entry) else sizes[i]
            if sizes[i] is not None and size != sizes[i]:
                raise ValueError(f"term {name!r} has {size} steps in episode {i}, expected {sizes[i]}")
            sizes[i] = size
    if None in sizes:
        raise ValueError("no term gives the number of steps of every episode; pass lengths")
    totals = [np.zeros(int(size or 0)) for size in sizes]
    for entries in terms.values():
        for total, entry in zip(totals, entries, strict=True):
            total += np.nan_to_num(np.asarray(entry, dtype=np.float64), nan=0.0)
    return totals


def broadcast_to_tokens(step_values: ArrayLike, step_ids: ArrayLike) -> Floats:
    """Give every token the value of the step it belongs to: (T,), (L,) -> (L,).

    Args:
        step_values: shape (T,); NaN (unscored) gives 0.
        step_ids: shape (L,), integers: the step of each token, -1 for tokens of no step (prompts, observations).

    Raises:
        ValueError: a step id outside -1 ... T - 1.

    >>> broadcast_to_tokens([0.5, -1.0], [-1, 0, 0, -1, 1])
    array([ 0. ,  0.5,  0.5,  0. , -1. ])
    """
    values = np.nan_to_num(_as_vector("step_values", step_values), nan=0.0)
    ids = np.asarray(step_ids)
    if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise ValueError(f"step_ids must be integers of shape (L,), got {ids.dtype} of shape {ids.shape}")
    if ids.size and (ids.min() < -1 or ids.max() >= values.size):
        raise ValueError(f"step_ids must be in -1 ... {values.size - 1}, got {ids.min()} ... {ids.max()}")
    return np.append(values, 0.0)[ids.astype(np.intp)] if ids.size else np.zeros(0)


def unscored_share(scores: Sequence[ArrayLike]) -> float:
    """The share of steps without a score, in [0, 1]; NaN when there are no steps."""
    sizes = [np.asarray(s).size for s in scores]
    missing = sum(int(np.isnan(np.asarray(s, dtype=np.float64)).sum()) for s in scores)
    return missing / sum(sizes) if sum(sizes) else math.nan
