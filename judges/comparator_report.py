"""How good a comparator is, measured on pairs whose branches were played out."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from agentkit.branches import BranchPair
from agentkit.comparison import PREFERENCES, Comparator, Comparison
from agentkit.decisions import Decision
from agentkit.judges.measured_pairs import Progress, as_text, batches, check_request, mean
from agentkit.tables import text_table

_MIRRORED = {"A": "B", "B": "A", "T": "T"}


@attrs.frozen(kw_only=True)
class MarginBin:
    """The pairs whose returns are about as far apart."""

    low: float
    high: float
    """Their smallest and largest difference of returns."""
    answers: int
    """About them, both orders counted."""
    accuracy: float | None
    """The share of these answers that agree with the label; None without answers."""


@attrs.frozen(kw_only=True)
class ComparatorReport:
    """What `comparator_report` measured. Shares are None where there is nothing that they are a share of."""

    pairs: int
    valid: float | None
    """The share of answers that are one of A, B and T (COTA's "valid output")."""
    label_mass: float | None
    """The mean probability of answering with any of A, B and T at all, where the model tells."""
    consistency: float | None
    """Of the pairs answered in both orders, the share with one verdict: A and B, B and A, or T twice."""
    position_bias: float | None
    """The share of answers A minus that of answers B, in [-1, 1]; 0 without a bias, for both orders are asked."""
    accuracy: float | None
    """Of the answers, the share that agree with the label."""
    untied_accuracy: float | None
    """The same for pairs that are no ties: what a gate's help depends on."""
    answers: dict[str, dict[str, int]]
    """Label -> answer ("none" where there was none) -> how often."""
    by_margin: tuple[MarginBin, ...]
    """Pairs that are no ties, the closest first."""

    def table(self) -> str:
        """The numbers as text: one row a measure, then accuracy by margin."""
        names = ("valid", "label_mass", "consistency", "position_bias", "accuracy", "untied_accuracy")
        rows = [["pairs", str(self.pairs)], *([name.replace("_", " "), as_text(getattr(self, name))] for name in names)]
        bins = [[f"{b.low:.3g} to {b.high:.3g}", str(b.answers), as_text(b.accuracy)] for b in self.by_margin]
        parts = [text_table(["comparator", "value"], rows)]
        if bins:
            parts.append(text_table(["margin of returns", "answers", "accuracy"], bins))
        return "\n\n".join(parts)

    def json(self) -> str:
        """The numbers as a JSON object."""
        return json.dumps(attrs.asdict(self), indent=2)


def comparator_report(
    comparator: Comparator,
    pairs: Sequence[BranchPair],
    *,
    bins: int = 4,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> ComparatorReport:
    """Ask a comparator about both orders of every pair, and measure its answers against the labels.

    Args:
        comparator: any; where it has ``decide(comparisons) -> decisions``, the mass on its labels is measured, too.
        pairs: such as the test pairs of `agentkit.branches.load_branches`; each in one order only.
        bins: into how many groups of about equal size the pairs that are no ties are put, by margin.
        batch_size: how many pairs one call is about.
        progress: called after each call.

    Raises:
        ValueError: there are no pairs, a number is below 1, or the comparator did not give one answer a comparison.
    """
    check_request(pairs, bins=bins, batch_size=batch_size)
    answers: list[tuple[str | None, str | None]] = []
    masses: list[float] = []
    for batch in batches(pairs, batch_size):
        both = [order.comparison() for pair in batch for order in (pair, pair.swapped())]
        given, known = _ask(comparator, both)
        masses += known
        answers += zip(given[::2], given[1::2], strict=True)
        if progress is not None:
            progress(len(answers), len(pairs))
    return _measure(pairs, answers, masses, bins)


def _ask(comparator: Any, comparisons: Sequence[Comparison]) -> tuple[list[str | None], list[float]]:
    """The answers, None for what is none; and the label masses that are known."""
    decide = getattr(comparator, "decide", None)
    decisions: list[Decision] = [] if decide is None else list(decide(comparisons))
    answers = list(comparator(comparisons)) if decide is None else [decision.choice for decision in decisions]
    if len(answers) != len(comparisons):
        raise ValueError(f"the comparator gave {len(answers)} answers for {len(comparisons)} comparisons")
    masses = [decision.label_mass for decision in decisions if decision.label_mass is not None]
    return [answer if answer in PREFERENCES else None for answer in answers], masses


def _measure(
    pairs: Sequence[BranchPair], answers: Sequence[tuple[str | None, str | None]], masses: list[float], bins: int
) -> ComparatorReport:
    counts = {label: Counter[str]() for label in PREFERENCES}
    right: list[list[bool]] = []
    for pair, both in zip(pairs, answers, strict=True):
        labels = (pair.label, _MIRRORED[pair.label])
        for label, answer in zip(labels, both, strict=True):
            counts[label][answer or "none"] += 1
        right.append([answer == label for label, answer in zip(labels, both, strict=True) if answer is not None])
    given = [answer for both in answers for answer in both if answer is not None]
    untied = [i for i, pair in enumerate(pairs) if pair.label != "T"]
    return ComparatorReport(
        pairs=len(pairs),
        valid=len(given) / (2 * len(pairs)),
        label_mass=mean(masses),
        consistency=mean([_MIRRORED[a] == b for a, b in answers if a is not None and b is not None]),
        position_bias=mean([(answer == "A") - (answer == "B") for answer in given]),
        accuracy=mean([hit for hits in right for hit in hits]),
        untied_accuracy=mean([hit for i in untied for hit in right[i]]),
        answers={label: dict(count) for label, count in counts.items()},
        by_margin=_by_margin([(pairs[i].margin, right[i]) for i in untied], bins),
    )


def _by_margin(rows: list[tuple[float, list[bool]]], bins: int) -> tuple[MarginBin, ...]:
    """Groups of about equal size; pairs of one margin stay together."""
    if not rows:
        return ()
    margins = np.round([margin for margin, _ in rows], 9)
    edges = np.unique(np.quantile(margins, np.arange(1, bins) / bins, method="lower"))
    groups = np.searchsorted(edges, margins, side="left")
    result = []
    for group in np.unique(groups):
        inside = [i for i in range(len(rows)) if groups[i] == group]
        hits = [hit for i in inside for hit in rows[i][1]]
        low, high = float(margins[inside].min()), float(margins[inside].max())
        result.append(MarginBin(low=low, high=high, answers=len(hits), accuracy=mean(hits)))
    return tuple(result)
