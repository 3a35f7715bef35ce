"""From named terms to one value a step, and from steps to tokens."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from agentkit.credit.arrays import Floats, as_vector


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
    values = np.nan_to_num(as_vector("step_values", step_values), nan=0.0)
    ids = np.asarray(step_ids)
    if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise ValueError(f"step_ids must be integers of shape (L,), got {ids.dtype} of shape {ids.shape}")
    if ids.size and (ids.min() < -1 or ids.max() >= values.size):
        raise ValueError(f"step_ids must be in -1 ... {values.size - 1}, got {ids.min()} ... {ids.max()}")
    return np.append(values, 0.0)[ids.astype(np.intp)] if ids.size else np.zeros(0)
