"""What the outcome advantage misses of the credit that true roles would give."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from agentkit.credit import ROLE_CONSTANTS, Floats

Implied: TypeAlias = Literal["fitted", "advantage", "none"]


def missed_credit(
    outcome: ArrayLike,
    true_roles: Sequence[Sequence[str | None]],
    constants: Mapping[str, float] = ROLE_CONSTANTS,
    implied: Implied = "fitted",
) -> list[Floats]:
    """δ_{i,t} = c(ρ*_{i,t}) - (what A_i implies of it), from oracle or audited roles ρ*.

    In TRIAGE δ is the residual between the ideal and the outcome advantage, whose best correction by roles is E[δ | ρ]
    (Proposition 1, seeds/002); the ideal advantage is not known. *(Own reading)*: the credit of the true roles stands
    for it, and δ is the part of that credit which the outcome advantage does not imply:

    - ``"fitted"``: it implies α + β A_i, the least-squares fit of c(ρ*) on A over the audited steps. δ is then in the
      unit of c, whatever the scale of the advantages (10 for a win, or 1), and uncorrelated with A: a judge that only
      echoes the outcome (its c is linear in A) gets the covariance 0.
    - ``"advantage"``: it implies A_i itself, as if c(ρ*) were the ideal advantage. Depends on the scale of A.
    - ``"none"``: it implies nothing; δ = c(ρ*). A judge that agrees with the oracle more than by chance passes then,
      also one that echoes the outcome.

    Args:
        outcome: shape (G,): A_i, e.g. of `agentkit.credit.outcome_advantages`; NaN = the episode has none.
        true_roles: G lists of T_i roles; None = the step was not audited.
        constants: role name -> c.
        implied: the reading.

    Returns:
        G arrays of shape (T_i,); NaN where the step was not audited or its episode has no outcome advantage.

    Raises:
        ValueError: the numbers of episodes differ, a role is unknown, or ``implied`` is.

    >>> missed_credit([1.0, -1.0], [["decisive", "exploration"], ["exploration", None]])
    [array([ 0.25, -0.25]), array([ 0., nan])]
    """
    if implied not in ("fitted", "advantage", "none"):
        raise ValueError(f"implied must be 'fitted', 'advantage' or 'none', got {implied!r}")
    advantages = np.asarray(outcome, dtype=np.float64)
    if advantages.shape != (len(true_roles),):
        raise ValueError(f"outcome has shape {advantages.shape}, expected ({len(true_roles)},): one number an episode")
    credits = [credit_array(f"true_roles[{i}]", names, constants) for i, names in enumerate(true_roles)]
    spread = [np.full(len(c), a) for c, a in zip(credits, advantages, strict=True)]
    if implied == "none":
        return [np.where(np.isnan(a), np.nan, c) for c, a in zip(credits, spread, strict=True)]
    intercept, slope = _fit(credits, spread) if implied == "fitted" else (0.0, 1.0)
    return [c - (intercept + slope * a) for c, a in zip(credits, spread, strict=True)]


def credit_array(what: str, judged: Iterable[str | float | None], constants: Mapping[str, float]) -> Floats:
    """c of each step, shape (T,): that of a role name, NaN for None, and a number as it is.

    Raises:
        ValueError: an unknown role name; the message begins with ``what``.
    """
    entries = list(judged)
    unknown = [entry for entry in entries if isinstance(entry, str) and entry not in constants]
    if unknown:
        raise ValueError(f"{what} has {unknown[0]!r}; known roles are {', '.join(constants)} or None")
    values = [np.nan if entry is None else constants[entry] if isinstance(entry, str) else entry for entry in entries]
    return np.array(values, dtype=np.float64)


def _fit(credits: Sequence[Floats], advantages: Sequence[Floats]) -> tuple[float, float]:
    """α and β of c ≈ α + β A over the steps that have both; β = 0 when all advantages are equal."""
    c, a = np.concatenate([np.zeros(0), *credits]), np.concatenate([np.zeros(0), *advantages])
    known = ~np.isnan(c) & ~np.isnan(a)
    if not known.any():
        return 0.0, 0.0
    c, a = c[known], a[known]
    deviations = a - a.mean()
    squares = float(deviations @ deviations)
    slope = float(deviations @ c) / squares if np.ptp(a) > 0 else 0.0
    return float(c.mean() - slope * a.mean()), slope
