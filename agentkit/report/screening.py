"""Figures of a screening: the gap by query, milestones on top by length, and scores as more becomes visible."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.extras import require
from agentkit.judges.screening import Measures, Screening
from agentkit.report.figures import save_figure
from agentkit.trajectory import Step, Trajectory

_REFERENCE_COLOUR = "silver"


def gap_figure(path: str | os.PathLike[str], screening: Screening) -> Path:
    """The milestone − no-op gap of every query with its bootstrap interval; judges that read the truth are grey.

    Raises:
        ValueError: no query has a gap.
    """
    shown = [(measures, measures.gap) for measures in screening.measures if measures.gap is not None]
    if not shown:
        raise ValueError("no query has a gap to draw: no trajectory has both a scored milestone and a scored no-op")
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(7.5, 1.2 + 0.36 * len(shown)), layout="constrained")
    for row, (measures, gap) in enumerate(shown):
        axis.barh(row, gap.estimate, color=_colour(screening, measures), height=0.7)
        axis.plot([gap.low, gap.high], [row, row], color="black", linewidth=1.5)
    axis.set_yticks(range(len(shown)), [_name(measures) for measures, _ in shown], fontsize=8)
    axis.invert_yaxis()
    axis.axvline(0, color="black", linewidth=0.8)
    count = max(gap.count for _, gap in shown)
    axis.set_xlabel(f"milestone − no-op gap, {screening.level:.0%} interval over {count} trajectories")
    plt.close(figure)
    return save_figure(path, figure)


def on_top_figure(path: str | os.PathLike[str], screening: Screening) -> Path:
    """The share of true milestones among the top-ranked steps, by length of the trajectory, beside chance.

    Raises:
        ValueError: no query scored a milestone.
    """
    shown = [m for m in screening.measures if len(m.on_top) > 1]
    if not shown:
        raise ValueError("no query has milestones on top to draw: none scored a milestone")
    plt = _pyplot()
    groups = shown[0].on_top[1:]
    lengths = [part.steps for part in groups]
    figure, axis = plt.subplots(figsize=(7.5, 4), layout="constrained")
    colours = plt.get_cmap("tab20")
    for number, measures in enumerate(shown):
        parts = {part.steps: part.share for part in measures.on_top}
        values = [parts.get(length, np.nan) for length in lengths]
        style = "o--" if measures.reference else "o-"
        axis.plot(lengths, values, style, color=colours(number % 20), label=_name(measures))
    axis.plot(lengths, [part.chance for part in groups], "k:", label="chance")
    axis.set_xticks(range(len(lengths)), [f"{p.steps}\n({p.trajectories})" for p in groups])
    axis.set_xlabel("steps of the trajectory (number of trajectories)")
    axis.set_ylabel("true milestones on top")
    axis.set_ylim(0, 1.03)
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
    plt.close(figure)
    return save_figure(path, figure)


def visibility_heatmap(
    path: str | os.PathLike[str], trajectory: Trajectory, panels: Mapping[str, Mapping[str, str]]
) -> Path:
    """Scores of one episode as more of it becomes visible: contexts are rows, steps are columns.

    Args:
        path: the PNG file.
        trajectory: an episode whose steps have the scores.
        panels: heading of a panel -> label of a row -> name of the judge whose scores it shows; `visibility_panels`.

    Raises:
        ValueError: there is nothing to draw.
    """
    if not panels or not len(trajectory):
        raise ValueError("visibility_heatmap needs an episode with steps and at least one panel")
    plt = _pyplot()
    rows = sum(map(len, panels.values()))
    size = (2.6 + 0.62 * len(trajectory), 2.2 + 0.45 * len(panels) + 0.32 * rows)
    ratios = [len(panel) for panel in panels.values()]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=size, squeeze=False, layout="constrained", height_ratios=ratios, sharex=True
    )
    for axis, (heading, panel) in zip(axes[:, 0], panels.items(), strict=True):
        image = _draw_panel(axis, trajectory, panel)
        axis.set_title(heading, loc="left", fontsize=9)
    figure.colorbar(image, ax=axes[:, 0].tolist(), fraction=0.03, pad=0.01, label="score")
    labels = [f"{_mark(step)}{number} {step.action}" for number, step in enumerate(trajectory.steps, start=1)]
    axes[-1, 0].set_xticks(range(len(trajectory)), labels, rotation=40, ha="right", fontsize=8)
    outcome = "won" if trajectory.won else "not won"
    figure.suptitle(f"{trajectory.goal} ({outcome};  ● milestone, × no-op)", fontsize=10)
    plt.close(figure)
    return save_figure(path, figure)


def visibility_panels(screening: Screening) -> dict[str, dict[str, str]]:
    """A panel for each model and question with its contexts as rows, and one for all judges without a context."""
    panels: dict[str, dict[str, str]] = {}
    for measures in screening.measures:
        heading = f"{measures.model}: {measures.question}" if measures.context else "judges without a context"
        panels.setdefault(heading, {})[measures.context or measures.candidate] = measures.candidate
    return panels


def telling_episode(trajectories: Sequence[Trajectory], most_steps: int = 18) -> Trajectory:
    """The episode that shows most: won, with a detour (a milestone that had to be repeated) and no-ops, not too long.

    Raises:
        ValueError: there are no episodes.
    """
    if not trajectories:
        raise ValueError("trajectories is empty; there is no episode to show")

    def worth(trajectory: Trajectory) -> tuple[bool, bool, bool, bool, int]:
        milestones = [name for step in trajectory.steps for name in step.milestones]
        fits = 0 < len(trajectory) <= most_steps
        repeated = len(milestones) > len(set(milestones))
        idle = any(step.state_changed is False for step in trajectory.steps)
        return fits, trajectory.won, repeated, idle, len(set(milestones)) - abs(len(trajectory) - 12)

    return max(trajectories, key=worth)


def _draw_panel(axis: Any, trajectory: Trajectory, panel: Mapping[str, str]) -> Any:
    grid = np.array([trajectory.score_array(judge) for judge in panel.values()])
    image = axis.imshow(grid, vmin=0, vmax=1, cmap="YlGnBu", aspect="auto")
    axis.set_yticks(range(len(panel)), list(panel), fontsize=8)
    for row, column in zip(*np.nonzero(np.isfinite(grid)), strict=True):
        value = grid[row, column]
        axis.text(
            column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color="white" if value > 0.6 else "black"
        )
    return image


def _mark(step: Step) -> str:
    return "● " if step.milestones else "× " if step.state_changed is False else ""


def _name(measures: Measures) -> str:
    return f"{measures.candidate} (truth)" if measures.reference else measures.candidate


def _colour(screening: Screening, measures: Measures) -> str:
    if measures.reference:
        return _REFERENCE_COLOUR
    questions = list(dict.fromkeys(m.question for m in screening.measures if not m.reference))
    return f"C{questions.index(measures.question) % 10}"


def _pyplot() -> Any:
    require("matplotlib", "report").use("Agg")
    import matplotlib.pyplot as plt

    return plt
