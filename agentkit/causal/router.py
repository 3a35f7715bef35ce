"""`Router`: is an intervention worthwhile here? Two logistic regressions on what is known before it."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np

from agentkit.causal.features import FEATURES
from agentkit.causal.ledger import LedgerRow
from agentkit.causal.logistic import Logistic, fit_logistic
from agentkit.structuring import read_json
from agentkit.trajectory import write_atomically


@attrs.frozen(kw_only=True)
class Router:
    """``router(features) -> value``: P(rescue) − P(harm) − cost of intervening in a state; worthwhile above 0.

    The decision is that of the Causal Intervention Router (arXiv 2610.00372); its form (two logistic regressions on
    standardised features, instead of one on some label) is a reading. A feature that is None is taken to be average.
    """

    features: tuple[str, ...] = attrs.field(converter=tuple)
    """F names; see `agentkit.causal.features`."""
    means: tuple[float, ...] = attrs.field(converter=tuple)
    """(F,), of the rows that it was fitted to."""
    scales: tuple[float, ...] = attrs.field(converter=tuple)
    """(F,) standard deviations; 1 where a feature did not vary."""
    rescue: Logistic
    harm: Logistic
    cost: float = 0.0
    """What the net value of an intervention must exceed."""

    def __attrs_post_init__(self) -> None:
        sizes = {
            len(self.features),
            len(self.means),
            len(self.scales),
            len(self.rescue.weights),
            len(self.harm.weights),
        }
        if len(sizes) != 1:
            raise ValueError(f"features, means, scales and weights of a router must be equally many, got {sizes}")
        numbers = (
            *self.means,
            *self.scales,
            *self.rescue.weights,
            *self.harm.weights,
            self.rescue.bias,
            self.harm.bias,
        )
        if not all(math.isfinite(number) for number in numbers) or min(self.scales, default=1.0) <= 0:
            raise ValueError("the numbers of a router must be finite, and its scales above 0")

    def __call__(self, features: Mapping[str, float | None]) -> float:
        """The value of intervening where these features hold.

        Raises:
            ValueError: a feature is missing.
        """
        x = self._standardised([features])
        return float(self.rescue.probability(x)[0] - self.harm.probability(x)[0] - self.cost)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the router as JSON, for `load_router`."""
        return write_atomically(path, json.dumps(attrs.asdict(self), indent=2) + "\n")

    def _standardised(self, rows: Sequence[Mapping[str, float | None]]) -> np.ndarray:
        """(N, F)"""
        raw = _matrix(rows, self.features)
        filled = np.where(np.isnan(raw), self.means, raw)
        return (filled - self.means) / self.scales


def fit_router(
    rows: Sequence[LedgerRow], *, features: Sequence[str] = FEATURES, l2: float = 1.0, cost: float = 0.0
) -> Router:
    """Fit a router to a ledger.

    Args:
        rows: of a ledger, best of many tasks. Use `cross_fit` to learn what such a router is worth on other tasks.
        features: the names of those it may look at; leave out the comparator's to decide before it is asked.
        l2: penalty of each regression, on standardised features.
        cost: what the net value of an intervention must exceed.

    Raises:
        ValueError: there are no rows, or one lacks a feature.
    """
    if not rows:
        raise ValueError("the ledger has no rows; a router needs some to learn from")
    raw = _matrix([row.features for row in rows], features)
    known = ~np.isnan(raw)
    counts = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, raw, 0.0).sum(axis=0) / counts
    centred = np.where(known, raw - means, 0.0)
    deviations = np.sqrt((centred**2).sum(axis=0) / counts)
    scales = np.where(deviations > 1e-12, deviations, 1.0)
    x = centred / scales
    rescued = np.array([row.kind == "rescued" for row in rows], dtype=np.float64)
    harmed = np.array([row.kind == "harmed" for row in rows], dtype=np.float64)
    return Router(
        features=features,
        means=means.tolist(),
        scales=scales.tolist(),
        rescue=fit_logistic(x, rescued, l2),
        harm=fit_logistic(x, harmed, l2),
        cost=cost,
    )


def load_router(path: str | os.PathLike[str]) -> Router:
    """The router in a file that `Router.save` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it does not hold a router; the message names the file and the fault.
    """
    return read_json(path, Router, "router")


def _matrix(rows: Sequence[Mapping[str, float | None]], features: Sequence[str]) -> np.ndarray:
    """(N, F), NaN for None."""
    missing = next((name for row in rows for name in features if name not in row), None)
    if missing is not None:
        raise ValueError(f"the feature {missing!r} is missing; known: {', '.join(rows[0]) or 'none'}")
    values = [[math.nan if row[name] is None else row[name] for name in features] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(features))
