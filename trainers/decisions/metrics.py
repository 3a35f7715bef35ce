"""How good probabilities are: accuracy, likelihood, Brier score and calibration."""

from collections.abc import Sequence

import attrs
import numpy as np


@attrs.frozen(kw_only=True)
class DecisionMetrics:
    """Figures of N answered questions; ``unscored`` ones have no part in the others."""

    examples: int
    unscored: int
    accuracy: float
    """Mean target probability of the most probable option; with hard labels the share of right answers."""
    nll: float
    """Mean cross-entropy - Σ t log p, in nats."""
    brier: float
    """Mean Σ (p - t)² over the options, in [0, 2] (Brier 1950's original form)."""
    ece: float
    """Expected calibration error, in [0, 1]: |accuracy - confidence| of equally wide bins of confidence, weighted by
    their share of the examples (Guo et al. 2017, arXiv 1706.04599, eq. 3)."""


def decision_metrics(
    probabilities: Sequence[Sequence[float] | None], targets: Sequence[Sequence[float]], bins: int = 10
) -> DecisionMetrics:
    """The figures of some answers.

    Args:
        probabilities: N times the K_i probabilities that a model gave; None where it gave no answer.
        targets: N times K_i, hard or soft labels.
        bins: of the calibration error.

    Raises:
        ValueError: no question was answered, or shapes differ.

    >>> metrics = decision_metrics([[0.8, 0.2], [0.6, 0.4]], [[1, 0], [0, 1]])
    >>> metrics.accuracy, round(metrics.nll, 4), round(metrics.brier, 2), round(metrics.ece, 2)
    (0.5, 0.5697, 0.4, 0.4)
    """
    pairs = [(np.asarray(p), np.asarray(t)) for p, t in zip(probabilities, targets, strict=True) if p is not None]
    if not pairs:
        raise ValueError(f"none of {len(targets)} questions was answered; there is nothing to measure")
    if any(p.shape != t.shape for p, t in pairs):
        raise ValueError("every answer needs one probability for each of its target's options")
    confidence = np.array([p.max() for p, _ in pairs])
    right = np.array([t[p.argmax()] for p, t in pairs])
    return DecisionMetrics(
        examples=len(pairs),
        unscored=len(targets) - len(pairs),
        accuracy=float(right.mean()),
        nll=float(np.mean([_cross_entropy(p, t) for p, t in pairs])),
        brier=float(np.mean([((p - t) ** 2).sum() for p, t in pairs])),
        ece=_calibration_error(confidence, right, bins),
    )


def _cross_entropy(p: np.ndarray, t: np.ndarray) -> float:
    floor = np.finfo(np.float64).tiny  # an option that the model excludes costs much, but not infinitely much
    return float(-(t * np.log(np.maximum(p, floor))).sum())


def _calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int) -> float:
    """Σ_b n_b / N |mean right_b - mean confidence_b|; bin b holds the confidences in (b / bins, (b + 1) / bins]."""
    index = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.bincount(index, weights=right - confidence, minlength=bins)
    return float(np.abs(gaps).sum() / len(confidence))
