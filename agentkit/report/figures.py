"""Figures as PNG files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.extras import require
from agentkit.trajectory import Trajectory


def score_heatmap(path: str | os.PathLike[str], trajectories: Sequence[Trajectory], judges: Sequence[str]) -> Path:
    """Scores per step: a panel a judge, a row an episode, a column a step.

    Milestones are marked with a dot and no-ops with a cross, so that one can see whether the judge tells them apart;
    unscored steps stay white.

    Raises:
        ValueError: there are no trajectories or no judges.
    """
    if not trajectories or not judges:
        raise ValueError("score_heatmap needs at least one trajectory and one judge")
    require("matplotlib", "report").use("Agg")
    import matplotlib.pyplot as plt

    width, rows = max(1, *map(len, trajectories)), len(trajectories)
    figure, axes = plt.subplots(
        len(judges), 1, figsize=(2.5 + 0.42 * width, 1.1 + len(judges) * (0.7 + 0.34 * rows)), squeeze=False
    )
    for axis, judge in zip(axes[:, 0], judges, strict=True):
        grid = np.full((rows, width), np.nan)
        for row, trajectory in enumerate(trajectories):
            grid[row, : len(trajectory)] = trajectory.score_array(judge)
        image = axis.imshow(grid, vmin=0, vmax=1, cmap="YlGnBu", aspect="auto")
        _mark(axis, trajectories)
        axis.set_title(judge, loc="left")
        axis.set_yticks(range(rows), [_label(t, i) for i, t in enumerate(trajectories)], fontsize=8)
        axis.set_xticks(range(width), [str(i + 1) for i in range(width)], fontsize=8)
        figure.colorbar(image, ax=axis, fraction=0.03, pad=0.02, label="score")
    axes[-1, 0].set_xlabel("step   (● milestone, × no-op)")
    figure.tight_layout()
    plt.close(figure)
    return save_figure(path, figure)


def save_figure(path: str | os.PathLike[str], figure: Any) -> Path:
    """Write a matplotlib figure as PNG; the file appears whole or not at all."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    figure.savefig(temporary, dpi=130, format="png")
    os.replace(temporary, target)
    return target


def _mark(axis, trajectories: Sequence[Trajectory]) -> None:
    for row, trajectory in enumerate(trajectories):
        for column, step in enumerate(trajectory.steps):
            if step.milestones:
                axis.plot(column, row, "o", color="tab:red", markersize=5)
            elif step.state_changed is False:
                axis.plot(column, row, "x", color="dimgray", markersize=5)


def _label(trajectory: Trajectory, index: int) -> str:
    task = trajectory.task_type.replace("_then_place_in_recep", "").replace("_", " ") or "episode"
    return f"{index + 1}: {task}{' (won)' if trajectory.won else ''}"
