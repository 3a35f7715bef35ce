"""How good an absolute critic is, measured on pairs whose branches were played out."""

import json
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from agentkit.branches import BranchPair
from agentkit.judges.absolute_critic import AbsoluteCritic
from agentkit.judges.measured_pairs import Progress, as_text, batches, check_request, mean
from agentkit.tables import text_table

_SMALLEST = 1e-7  # keeps the logarithm of a probability finite


@attrs.frozen(kw_only=True)
class CriticReport:
    """What `critic_report` measured: the three columns of COTA's Table 11. None where something is not defined."""

    actions: int
    """Different (state, action) pairs."""
    unscored: int
    """Of them, without a value."""
    ranking_accuracy: float | None
    """The share of untied pairs whose better action has the higher value; equal values count half."""
    spearman: float | None
    """The rank correlation of values and returns over all actions; None when either is constant."""
    bce: float | None
    """The mean binary cross-entropy of values against returns, in nats; None when a return is outside [0, 1]."""

    def table(self) -> str:
        """The numbers as text."""
        names = ("ranking_accuracy", "spearman", "bce")
        rows = [["actions", str(self.actions)], ["unscored", str(self.unscored)]]
        rows += [[name.replace("_", " "), as_text(getattr(self, name))] for name in names]
        return text_table(["critic", "value"], rows)

    def json(self) -> str:
        """The numbers as a JSON object."""
        return json.dumps(attrs.asdict(self), indent=2)


def critic_report(
    critic: AbsoluteCritic, pairs: Sequence[BranchPair], *, batch_size: int = 64, progress: Progress | None = None
) -> CriticReport:
    """Ask an absolute critic about every action of the pairs, and measure its values against the returns.

    Args:
        critic: what is measured.
        pairs: such as the test pairs of `agentkit.branches.load_branches`.
        batch_size: how many pairs one call is about.
        progress: called after each call.

    Raises:
        ValueError: there are no pairs, or ``batch_size`` is below 1.
    """
    check_request(pairs, batch_size=batch_size)
    scores: list[tuple[float | None, float | None]] = []
    for batch in batches(pairs, batch_size):
        scores += [(a.score, b.score) for a, b in critic.values([pair.comparison() for pair in batch])]
        if progress is not None:
            progress(len(scores), len(pairs))
    value_of: dict[tuple[Any, ...], tuple[float | None, float]] = {}
    for pair, (a, b) in zip(pairs, scores, strict=True):
        state = (pair.task_id, pair.goal, pair.history, pair.observation)
        value_of[*state, pair.a], value_of[*state, pair.b] = (a, pair.return_a), (b, pair.return_b)
    known = [(value, target) for value, target in value_of.values() if value is not None]
    values, returns = np.array(known, dtype=np.float64).reshape(-1, 2).T
    return CriticReport(
        actions=len(value_of),
        unscored=len(value_of) - len(known),
        ranking_accuracy=mean(_ranked(pairs, scores)),
        spearman=spearman(values, returns),
        bce=_cross_entropy(values, returns),
    )


def spearman(first: np.ndarray, second: np.ndarray) -> float | None:
    """The rank correlation of two arrays of shape (N,), ties sharing their mean rank; None when one is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.5, 9.0]))
    1.0
    """
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.round(np.corrcoef(_ranks(first), _ranks(second))[0, 1], 12))


def _ranked(pairs: Sequence[BranchPair], scores: Sequence[tuple[float | None, float | None]]) -> list[float]:
    """1 for each pair that is ranked right, 0 for one that is not, and a half for equal values."""
    ranked = []
    for pair, (a, b) in zip(pairs, scores, strict=True):
        if pair.label != "T" and a is not None and b is not None:
            ranked.append(0.5 if a == b else float((a > b) == (pair.label == "A")))
    return ranked


def _cross_entropy(values: np.ndarray, returns: np.ndarray) -> float | None:
    if not len(values) or returns.min() < 0 or returns.max() > 1:
        return None
    p = np.clip(values, _SMALLEST, 1 - _SMALLEST)
    return float(-(returns * np.log(p) + (1 - returns) * np.log1p(-p)).mean())


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0, shape (N,); equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts + 1) / 2)[inverse]
