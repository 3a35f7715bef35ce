"""TRIAGE's gain condition: does adding role credit bring the advantage closer to the ideal one, or further away?

Let A* be the ideal advantage of a step, A the outcome advantage that its episode has, and δ = A* - A what that misses.
Training with A + λ c, where c is the credit of the judged role, has the mean squared error::

    E[(A* - A - λ c)²] = E[(δ - λ c)²] = E[δ²] - 2 λ E[δ c] + λ² E[c²]

which is below that of A alone, E[δ²], exactly when  0 < λ < 2 E[δ c] / E[c²],  and lowest in the middle of that range.
A constant that is added to every advantage changes no expected policy gradient (it is a baseline), and whitening
removes it, so the error that matters is the one around the mean. With δ and c replaced by their deviations::

    Var(δ - λ c) - Var(δ) = λ² Var(c) - 2 λ Cov(δ, c)  <  0    exactly when    0 < λ < 2 Cov(δ, c) / Var(c)

so that some λ helps only while Cov(δ, c) > 0. This is Proposition 2 of TRIAGE (arXiv 2606.32017) as seeds/002 tells it
(the covariance is positive and λ within its bound); the derivation above is our own. The first form is
``centered=False``. Both speak of the sum before it is whitened, which scales all advantages alike.
"""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import ArrayLike

from agentkit.credit import ROLE_CONSTANTS, Floats
from agentkit.judges.missed_credit import credit_array
from agentkit.tables import text_table

logger = logging.getLogger(__name__)

Interval = tuple[float, float]

_ROUNDING = 1e-12
"""A covariance that is smaller than this, in parts of the largest possible one, is 0."""


@attrs.frozen(kw_only=True)
class GainCondition:
    """What `gain_condition` found, over the steps whose δ is known. Intervals are ``(low, high)``."""

    weight: float
    """λ."""
    centered: bool
    """Whether the moments are around the mean."""
    covariance: float
    """Cov(δ, c), or E[δ c] when not centred."""
    covariance_interval: Interval
    credit_variance: float
    """Var(c), or E[c²] when not centred."""
    outcome_error: float
    """The mean squared error of the outcome advantage alone: Var(δ), or E[δ²]."""
    error_change: float
    """By how much λ c changes that error: λ² Var(c) - 2 λ Cov(δ, c). Negative = the advantage gets better."""
    error_change_interval: Interval
    bound_interval: Interval
    steps: int
    episodes: int
    abstentions: int
    """Of these steps, those without a role, where c = 0."""
    unaudited: int
    """Steps whose δ is not known; they are left out."""
    level: float
    """The coverage that the bootstrap intervals aim at."""
    warnings: tuple[str, ...] = ()
    """What speaks against training with these roles and this λ; empty when nothing does."""

    @property
    def bound(self) -> float:
        """λ must lie below: 2 Cov(δ, c) / Var(c); 0 when the covariance is not positive."""
        return float(_bounds(np.array(self.covariance), np.array(self.credit_variance)))

    @property
    def best_weight(self) -> float:
        """The λ that lowers the error most, Cov(δ, c) / Var(c), half of the bound."""
        return self.bound / 2

    @property
    def holds(self) -> bool:
        """Whether λ c lowers the error: 0 < λ < bound."""
        return 0 < self.weight < self.bound

    def table(self) -> str:
        """The figures as plain text, one a line, with the warnings below."""
        moments = ("Cov(δ, c)", "Var(c)", "Var(δ)") if self.centered else ("E[δ c]", "E[c²]", "E[δ²]")
        percent = f"{100 * self.level:g} %"
        relative = self.error_change / self.outcome_error if self.outcome_error else math.nan
        rows = [
            [moments[0], f"{self.covariance:.4f}", _between(self.covariance_interval)],
            [moments[1], f"{self.credit_variance:.4f}", ""],
            [f"{moments[2]}: error of the outcome advantage", f"{self.outcome_error:.4f}", ""],
            ["bound on λ", f"{self.bound:.3f}", _between(self.bound_interval)],
            ["best λ", f"{self.best_weight:.3f}", ""],
            [
                f"change of the error at λ = {self.weight:g}",
                f"{self.error_change:+.4f}",
                _between(self.error_change_interval),
            ],
            ["  in percent", f"{100 * relative:+.1f} %", ""],
        ]
        counted = (
            f"{self.steps} steps of {self.episodes} episodes, {self.abstentions} abstentions, "
            f"{self.unaudited} not audited"
        )
        lines = [text_table(["quantity", "value", f"{percent} interval"], rows), counted]
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


def gain_condition(
    missed: Sequence[ArrayLike],
    judged: Sequence[Iterable[str | float | None]],
    weight: float = 0.3,
    *,
    constants: Mapping[str, float] = ROLE_CONSTANTS,
    centered: bool = True,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> GainCondition:
    """Check 0 < λ < 2 Cov(δ, c) / Var(c) on audited steps; see the module's docstring for what it means.

    Args:
        missed: δ, G arrays of shape (T_i,), as `missed_credit` gives it from oracle or audited roles (or from any other
            estimate of the ideal advantage, such as counterfactual branches); NaN = not audited.
        judged: G sequences of T_i: the judged roles, or any other credit c without λ as numbers, such as a step judge's
            scores. None or NaN = the judge abstained, which adds 0 in training and therefore counts as c = 0 here.
        weight: λ.
        constants: role name -> c.
        centered: moments around the mean (a constant changes no gradient), or plain ones.
        resamples: of the bootstrap over episodes, whose steps depend on one another.
        level: coverage of the intervals (percentiles).
        seed: of the bootstrap.

    Raises:
        ValueError: shapes differ, a role is unknown, no step is audited, or an argument is out of range.

    >>> gain_condition([[1.0, -1.0]], [["decisive", "regression"]], weight=0.5, resamples=0).bound
    2.6666666666666665
    """
    _check_settings(weight, resamples, level)
    delta, c = _aligned(missed, judged, constants)
    sums = _audited_sums(delta, c)
    total = sums.sum(axis=0)
    covariance, variance, error = map(float, _moments(total, centered))
    _, squared_credit, squared_error = _moments(total, centered=False)
    if abs(covariance) <= _ROUNDING * math.sqrt(squared_credit * squared_error):
        covariance = 0.0  # else the sign of a rounding error would decide
    drawn = _moments(_resampled(sums, resamples, seed), centered)
    tails = (50 * (1 - level), 50 * (1 + level))
    found = GainCondition(
        weight=weight,
        centered=centered,
        covariance=covariance,
        covariance_interval=_percentiles(drawn[0], tails),
        credit_variance=variance,
        outcome_error=error,
        error_change=weight**2 * variance - 2 * weight * covariance,
        error_change_interval=_percentiles(weight**2 * drawn[1] - 2 * weight * drawn[0], tails),
        bound_interval=_percentiles(_bounds(drawn[0], drawn[1]), tails),
        steps=int(sums[:, 0].sum()),
        episodes=len(sums),
        abstentions=sum(int((np.isnan(c_i) & ~np.isnan(d)).sum()) for d, c_i in zip(delta, c, strict=True)),
        unaudited=sum(int(np.isnan(d).sum()) for d in delta),
        level=level,
    )
    found = attrs.evolve(found, warnings=tuple(_warnings(found)))
    for warning in found.warnings:
        logger.warning("gain condition: %s", warning)
    return found


def _warnings(found: GainCondition) -> list[str]:
    name = "Cov(δ, c)" if found.centered else "E[δ c]"
    low, high = found.covariance_interval
    if found.covariance == 0:
        return [f"{name} is 0: these roles say nothing of what the outcome misses, and every λ > 0 can only add noise"]
    if found.covariance < 0:
        return [
            f"{name} = {found.covariance:.4g} is not positive: these roles move the advantage away from the ideal one "
            "at every λ > 0; train without them, or with a better judge"
        ]
    warnings = []
    if found.weight >= found.bound:
        warnings.append(
            f"λ = {found.weight:g} is not below its bound {found.bound:.3g}; use about {found.best_weight:.2g}"
        )
    if low <= 0 <= high:
        warnings.append(
            f"the interval of {name} holds 0: {found.episodes} episodes are too few to tell whether the roles help"
        )
    return warnings


def _check_settings(weight: float, resamples: int, level: float) -> None:
    if not (math.isfinite(weight) and weight >= 0):
        raise ValueError(f"weight must be a finite number of at least 0, got {weight!r}")
    if resamples < 0:
        raise ValueError(f"resamples must be at least 0, got {resamples!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level!r}")


def _aligned(
    missed: Sequence[ArrayLike], judged: Sequence[Iterable[str | float | None]], constants: Mapping[str, float]
) -> tuple[list[Floats], list[Floats]]:
    """δ and c as G arrays of the same shapes."""
    delta = [np.asarray(d, dtype=np.float64) for d in missed]
    c = [credit_array(f"judged[{i}]", entries, constants) for i, entries in enumerate(judged)]
    shapes = [d.shape for d in delta], [values.shape for values in c]
    if shapes[0] != shapes[1]:
        raise ValueError(f"missed has shapes {shapes[0]} and judged {shapes[1]}; give one entry of each a step")
    return delta, c


def _audited_sums(delta: Sequence[Floats], credits: Sequence[Floats]) -> Floats:
    """`_sums` of the audited steps of each episode that has any, shape (episodes, 6)."""
    audited = [(d[~np.isnan(d)], c[~np.isnan(d)]) for d, c in zip(delta, credits, strict=True)]
    sums = [_sums(d, c) for d, c in audited if d.size]
    if not sums:
        raise ValueError("missed holds no number, so no step is audited; give δ of at least one step")
    return np.array(sums)


def _sums(delta: Floats, credit: Floats) -> tuple[float, ...]:
    """n, Σδ, Σc, Σδc, Σc² and Σδ² of one episode, from which the moments of any set of episodes follow."""
    c = np.nan_to_num(credit, nan=0.0)
    return len(delta), delta.sum(), c.sum(), (delta * c).sum(), (c * c).sum(), (delta * delta).sum()


def _moments(sums: Floats, centered: bool) -> tuple[Floats, Floats, Floats]:
    """E[δc], E[c²] and E[δ²], or Cov(δ, c), Var(c) and Var(δ), along the last axis of shape (..., 6); divisor n."""
    n, delta, c, cross, squares, errors = np.moveaxis(sums, -1, 0)
    if not centered:
        return cross / n, squares / n, errors / n
    variances = (np.maximum(0.0, total / n - (s / n) ** 2) for total, s in ((squares, c), (errors, delta)))
    return (cross / n - delta * c / n**2, *variances)


def _bounds(covariance: Floats, variance: Floats) -> Floats:
    """2 Cov / Var, 0 where the covariance is not positive."""
    positive = np.maximum(0.0, covariance)
    return np.divide(2 * positive, variance, out=np.zeros_like(positive), where=variance > 0)


def _resampled(sums: Floats, resamples: int, seed: int) -> Floats:
    """The sums of ``resamples`` sets of as many episodes, drawn with replacement, shape (resamples, 6)."""
    episodes = len(sums)
    counts = np.random.default_rng(seed).multinomial(episodes, np.full(episodes, 1 / episodes), size=resamples)
    return counts @ sums


def _percentiles(values: Floats, tails: tuple[float, float]) -> Interval:
    if not values.size:
        return (math.nan, math.nan)
    low, high = np.percentile(values, tails)
    return (float(low), float(high))


def _between(interval: Interval) -> str:
    return "" if math.isnan(interval[0]) else f"{interval[0]:+.4f} to {interval[1]:+.4f}"
