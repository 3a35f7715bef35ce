"""Logistic regression in numpy: few features, few rows, one optimum."""

from collections.abc import Sequence

import attrs
import numpy as np

_STEPS = 50
_TOLERANCE = 1e-10


def _floats(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


@attrs.frozen
class Logistic:
    """P(y = 1 | x) = σ(w·x + b)."""

    weights: tuple[float, ...] = attrs.field(converter=_floats)
    """(F,)"""
    bias: float = attrs.field(converter=float)

    def probability(self, x: np.ndarray) -> np.ndarray:
        """(N, F) -> (N,)"""
        return sigmoid(x @ np.asarray(self.weights) + self.bias)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """1 / (1 + e^-z), without overflow; any shape."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def fit_logistic(x: np.ndarray, y: np.ndarray, l2: float = 1.0) -> Logistic:
    """Minimise −Σ log P(y_i | x_i) + l2/2 |w|², the bias unpenalised, by Newton's method (IRLS) with halved steps.

    Where all labels are the same, the maximum lies at an infinite bias: the weights are then 0 and the bias is that of
    the smoothed rate (successes + 1/2) / (N + 1).

    Args:
        x: (N, F) features, best standardised.
        y: (N,) labels, 0 or 1.
        l2: the strength of the penalty, above 0.

    Raises:
        ValueError: the shapes do not fit, there are no rows, a label is neither 0 nor 1, or ``l2`` is not above 0.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 2 or y.shape != (len(x),) or not len(x):
        raise ValueError(f"need x of shape (N, F) and y of shape (N,) with N >= 1, got {x.shape} and {y.shape}")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1")
    if not l2 > 0:
        raise ValueError(f"l2 must be above 0, got {l2!r}")
    if y.min() == y.max():
        rate = (y.sum() + 0.5) / (len(y) + 1)
        return Logistic(np.zeros(x.shape[1]).tolist(), float(np.log(rate / (1 - rate))))
    design = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.append(np.full(x.shape[1], l2), 0.0)
    theta = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        probability = sigmoid(design @ theta)
        gradient = design.T @ (probability - y) + penalty * theta
        curvature = design.T @ (design * (probability * (1 - probability))[:, None]) + np.diag(penalty)
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        theta = _descend(design, y, penalty, theta, step)
        if np.abs(step).max() < _TOLERANCE:
            break
    return Logistic(theta[:-1].tolist(), float(theta[-1]))


def _descend(design: np.ndarray, y: np.ndarray, penalty: np.ndarray, theta: np.ndarray, step: np.ndarray) -> np.ndarray:
    """A Newton step, halved until it does not make the objective worse."""
    before = _objective(design, y, penalty, theta)
    for halvings in range(30):
        candidate = theta - step / 2**halvings
        if _objective(design, y, penalty, candidate) <= before:
            return candidate
    return theta


def _objective(design: np.ndarray, y: np.ndarray, penalty: np.ndarray, theta: np.ndarray) -> float:
    logits = design @ theta
    return float(np.logaddexp(0.0, logits).sum() - y @ logits + 0.5 * (penalty * theta**2).sum())
