"""The result of a diagnosis, as tables and JSON."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs
import numpy as np

from agentkit.bootstrap import Interval, mean_interval
from agentkit.diagnosis.probing import GOALS, Goal, Probe
from agentkit.tables import Row, markdown_table, text_table
from agentkit.trajectory import write_atomically

MASSES = ("required", "placing", "other")


@attrs.frozen(kw_only=True)
class ActorDiagnosis:
    """Where one actor's probability goes under one goal, in [0, 1], averaged over the states."""

    actor: str
    goal: Goal
    required: Interval | None
    """Toward the required change; None where no state has an answer, as below."""
    placing: Interval | None
    """On placing the unchanged object at once."""
    other: Interval | None
    required_by_change: dict[str, float | None]
    """The mass toward the required change by the change that is required."""
    chosen_required: float | None
    """The share of states in which the most probable action leads toward the change."""
    states: int
    unscored: int

    @classmethod
    def of(cls, actor: str, goal: Goal, probes: Sequence[Probe], *, resamples: int, seed: int) -> "ActorDiagnosis":
        """The means over some probes, unscored ones left out."""
        answered = [probe for probe in probes if probe.unscored is None]
        intervals = {
            mass: mean_interval(np.array([getattr(p, mass) for p in answered], dtype=np.float64), resamples, seed=seed)
            for mass in MASSES
        }
        changes = sorted({probe.change for probe in probes})
        by_change = {change: _mean([p.required for p in answered if p.change == change]) for change in changes}
        return cls(
            actor=actor,
            goal=goal,
            **intervals,
            required_by_change=by_change,
            chosen_required=_mean([float(probe.chose_required) for probe in answered]),
            states=len(probes),
            unscored=len(probes) - len(answered),
        )


@attrs.frozen(kw_only=True)
class Diagnosis:
    """Every actor under both goals."""

    actors: tuple[ActorDiagnosis, ...] = attrs.field(converter=tuple)
    shifts: dict[str, Interval | None]
    """Actor -> how much more of its probability is on the required change without the placement, state by state."""
    states: int
    seed: int

    def of(self, actor: str, goal: Goal = "full") -> ActorDiagnosis:
        """One row.

        Raises:
            KeyError: there is no such actor.
        """
        for row in self.actors:
            if (row.actor, row.goal) == (actor, goal):
                return row
        raise KeyError(f"no actor {actor!r} with goal {goal!r}; there are {sorted({row.actor for row in self.actors})}")

    def table(self) -> str:
        """Plain text: a row for each actor and goal."""
        return text_table(*self._rows())

    def markdown(self) -> str:
        """The same for a page."""
        return markdown_table(*self._rows()) + "\n"

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write ``diagnosis.json`` and ``diagnosis.md`` into a folder, and return their paths."""
        data: dict[str, Any] = cattrs.unstructure(self)
        texts = {"json": json.dumps(data, indent=1, ensure_ascii=False), "md": self.markdown()}
        return [write_atomically(Path(folder) / f"diagnosis.{ending}", text) for ending, text in texts.items()]

    def _rows(self) -> tuple[Row, list[Row]]:
        changes = sorted({change for row in self.actors for change in row.required_by_change})
        masses = ("required", "95% interval", "shift", "placing", "other")
        header = ["actor", "goal", *masses, *changes, "chosen", "states", "unscored"]
        rows: list[Row] = [
            [
                *(row.actor, row.goal, _share(row.required), _bounds(row.required)),
                *(self._shift(row), _share(row.placing), _share(row.other)),
                *(_percent(row.required_by_change.get(change)) for change in changes),
                *(_percent(row.chosen_required), str(row.states), str(row.unscored)),
            ]
            for row in self.actors
        ]
        return header, rows

    def _shift(self, row: ActorDiagnosis) -> str:
        shift = self.shifts.get(row.actor)
        if row.goal == "full" or shift is None:
            return ""
        return f"{shift.estimate:+.1%} [{shift.low:+.1%}, {shift.high:+.1%}]"


def summarise_probes(
    probes: Sequence[Probe], actors: Sequence[str], *, states: int, resamples: int = 2000, seed: int = 0
) -> Diagnosis:
    """The means of all probes, in the order of ``actors``, the full goal first."""
    rows = [
        ActorDiagnosis.of(
            actor, goal, [p for p in probes if (p.actor, p.goal) == (actor, goal)], resamples=resamples, seed=seed
        )
        for actor in actors
        for goal in GOALS
    ]
    shifts = {actor: mean_interval(_differences(probes, actor), resamples, seed=seed) for actor in actors}
    return Diagnosis(actors=rows, shifts=shifts, states=states, seed=seed)


def _differences(probes: Sequence[Probe], actor: str) -> np.ndarray:
    """Required mass without the placement less that with it, for each state in which the actor answered both."""
    full, without = (
        {p.state: p.required for p in probes if (p.actor, p.goal, p.unscored) == (actor, goal, None)} for goal in GOALS
    )
    return np.array([without[state] - full[state] for state in full if state in without], dtype=np.float64)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _share(interval: Interval | None) -> str:
    return _percent(None if interval is None else interval.estimate)


def _bounds(interval: Interval | None) -> str:
    return "-" if interval is None else f"[{interval.low:.1%}, {interval.high:.1%}]"
