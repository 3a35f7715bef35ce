"""The result of a screening, as tables, CSV and JSON."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import attrs
import cattrs

from agentkit.bootstrap import Interval
from agentkit.judges.screening.measures import KINDS
from agentkit.judges.screening.recommendation import Recommendation
from agentkit.tables import Row, markdown_table, text_table
from agentkit.trajectory import Trajectory, write_atomically


@attrs.frozen(kw_only=True)
class OnTop:
    """How many true milestones rank at the top, over trajectories of some length."""

    steps: str
    """The lengths: "1-10", "31+", or "all"."""
    trajectories: int
    share: float
    """Mean share of the k milestones that are among the k highest scores."""
    chance: float
    """The same for scores that say nothing: the mean of k / T."""


@attrs.frozen(kw_only=True)
class Measures:
    """What was measured of one candidate; None where nothing could be measured."""

    candidate: str
    model: str
    context: str
    question: str
    reference: bool
    """It reads the ground truth, as a yardstick for the others."""
    means: dict[str, float | None]
    """Kind of step -> mean score, first within each trajectory, then over the trajectories that have such a step."""
    gap: Interval | None
    """Milestone less no-op within a trajectory, over the trajectories that have both."""
    on_top: tuple[OnTop, ...] = attrs.field(converter=tuple)
    """For all trajectories, then by length."""
    auc_no_op: float | None
    """Probability that a milestone outranks a no-op of the same trajectory, over the trajectories that have both."""
    auc_rest: float | None
    """Probability that a milestone outranks any other step of the same trajectory."""
    brier: float | None
    """Over all steps, with "is a milestone" as the label."""
    calibration_error: float | None
    """Expected calibration error over all steps, with the same label."""
    flip_rate: float | None
    """Share of the steps whose answer depends on the order of the options."""
    asked_reversed: int
    """Steps that were scored in both orders."""
    scored: int
    unscored: int
    reasons: dict[str, int]
    """Why steps are unscored, with counts."""
    seconds_per_score: float | None
    tokens_per_score: float | None
    dollars_per_score: float | None
    """None where the model has no price."""

    @property
    def unscored_share(self) -> float:
        """In [0, 1]."""
        return self.unscored / max(1, self.scored + self.unscored)


_HEADER = (
    *("query", *KINDS, "gap", "interval", "on top", "AUC no-op", "AUC rest", "Brier", "ECE", "flips", "unscored"),
    *("s/score", "tokens/score", "$/1k scores"),
)


@attrs.frozen(kw_only=True)
class Screening:
    """Every candidate's measures, and which of them to train with."""

    measures: tuple[Measures, ...] = attrs.field(converter=tuple)
    recommendation: Recommendation
    trajectories: int
    won: int
    steps: dict[str, int]
    """Kind of step -> how many there are; "unknown" where the environment does not say."""
    seed: int
    resamples: int
    level: float
    scored: tuple[Trajectory, ...] = attrs.field(default=(), converter=tuple, repr=False, eq=False)
    """The trajectories with every candidate's scores; not part of the saved result."""

    def __getitem__(self, candidate: str) -> Measures:
        """The measures of a candidate.

        Raises:
            KeyError: there is none of that name.
        """
        for measures in self.measures:
            if measures.candidate == candidate:
                return measures
        raise KeyError(f"no candidate {candidate!r}; there are {[m.candidate for m in self.measures]}")

    def table(self) -> str:
        """Plain text: what was screened, a row a candidate, milestones on top by length, the recommendation."""
        main = text_table(_HEADER, [_row(measures) for measures in self.measures])
        return "\n\n".join([self.summary(), main, text_table(*self._on_top()), self.recommendation.text])

    def markdown(self) -> str:
        """The same for a page."""
        main = markdown_table(_HEADER, [_row(measures) for measures in self.measures])
        return "\n\n".join([self.summary(), main, markdown_table(*self._on_top()), self.recommendation.text]) + "\n"

    def summary(self) -> str:
        """One sentence: how many episodes and steps of each kind."""
        counts = ", ".join(f"{count} {kind}" for kind, count in self.steps.items())
        return f"{self.trajectories} episodes, {self.won} won; steps: {counts}."

    def csv(self) -> str:
        """One line a candidate, with full precision."""
        text = io.StringIO()
        rows = [_flat(measures) for measures in self.measures]
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """JSON values, without the trajectories."""
        return cattrs.unstructure(attrs.evolve(self, scored=()))

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write ``screening.json``, ``screening.csv`` and ``screening.md`` into a folder, and return their paths."""
        data = self.to_dict()
        del data["scored"]
        texts = {
            "json": json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False),
            "csv": self.csv(),
            "md": self.markdown(),
        }
        return [write_atomically(Path(folder) / f"screening.{ending}", text) for ending, text in texts.items()]

    def _on_top(self) -> tuple[Row, list[Row]]:
        lengths = [f"{part.steps} steps ({part.trajectories})" for part in self.measures[0].on_top]
        rows = [[m.candidate, *(f"{part.share:.1%}" for part in _aligned(m, self.measures[0]))] for m in self.measures]
        chance = ["chance", *(f"{part.chance:.1%}" for part in self.measures[0].on_top)]
        return ["milestones on top", *lengths], [*rows, chance]


def _aligned(measures: Measures, first: Measures) -> list[OnTop]:
    """The parts of ``measures`` in the order of the first candidate's; NaN where it scored nothing."""
    known = {part.steps: part for part in measures.on_top}
    empty = float("nan")
    return [known.get(p.steps, OnTop(steps=p.steps, trajectories=0, share=empty, chance=empty)) for p in first.on_top]


def _row(m: Measures) -> Row:
    gap, interval = ("-", "-") if m.gap is None else (f"{m.gap.estimate:+.3f}", _bounds(m.gap))
    on_top = f"{m.on_top[0].share:.1%}" if m.on_top else "-"
    dollars = None if m.dollars_per_score is None else 1000 * m.dollars_per_score
    return [
        f"{m.candidate} (truth)" if m.reference else m.candidate,
        *(_number(m.means[kind]) for kind in KINDS),
        *(gap, interval, on_top),
        *(_number(value) for value in (m.auc_no_op, m.auc_rest, m.brier, m.calibration_error, m.flip_rate)),
        f"{m.unscored_share:.1%}",
        _number(m.seconds_per_score, 4),
        _number(m.tokens_per_score, 0),
        _number(dollars, 4),
    ]


def _bounds(interval: Interval) -> str:
    return f"[{interval.low:+.3f}, {interval.high:+.3f}] n={interval.count}"


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _flat(m: Measures) -> dict[str, Any]:
    plain = attrs.asdict(m, filter=lambda field, _: field.name not in ("means", "gap", "on_top", "reasons"))
    gap = {f"gap_{name}": value for name, value in attrs.asdict(m.gap).items()} if m.gap is not None else {}
    names = ("estimate", "low", "high", "count")
    return {
        **plain,
        **{f"mean_{kind}": m.means[kind] for kind in KINDS},
        **{f"gap_{name}": gap.get(f"gap_{name}") for name in names},
        "on_top": m.on_top[0].share if m.on_top else None,
    }
