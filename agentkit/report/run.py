"""The page of a training run: its curves, its settings and its latest episodes."""

import json
import os
from collections import deque
from pathlib import Path
from typing import Any

from agentkit.report.curves import draw_curves
from agentkit.report.page import write_page
from agentkit.trajectory import Trajectory, iterate_trajectories

METRICS_FILE = "metrics.jsonl"
ROLLOUTS_FILE = "rollouts.jsonl"
SHOWN_EPISODES = 16
"""The page shows the latest ones; a whole run has thousands."""


def load_metrics(run: str | os.PathLike[str]) -> list[dict[str, float | None]]:
    """The figures of a run, one mapping a logged step.

    A line that is cut off, as one may be while training goes on, is left out. A run of plain transformers or TRL, which
    keeps its figures in its checkpoints, is read from the last of them.

    Raises:
        FileNotFoundError: the folder holds no run.
        ValueError: a line is not a JSON object with a step; the message names it.
    """
    folder = Path(run)
    path = folder / METRICS_FILE
    if not path.exists():
        return _from_checkpoint(folder)
    entries = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(keepends=True), start=1):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            if not line.endswith("\n"):
                continue
            raise ValueError(f"{path}, line {number}: not JSON: {error}; delete the line") from error
        if not isinstance(entry, dict) or not isinstance(entry.get("step"), int):
            raise ValueError(f"{path}, line {number}: expected an object with a step, got {line.strip()!r}")
        entries.append(entry)
    return entries


def _from_checkpoint(folder: Path) -> list[dict[str, float | None]]:
    states = sorted(folder.glob("checkpoint-*/trainer_state.json"), key=lambda path: path.stat().st_mtime)
    if not states:
        raise FileNotFoundError(f"{folder} holds no training run: neither {METRICS_FILE} nor a checkpoint is in it")
    history = json.loads(states[-1].read_text("utf-8"))["log_history"]
    return [{name: value for name, value in entry.items() if isinstance(value, (int, float))} for entry in history]


def write_run_page(run: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Write ``curves.png`` into the run's folder, and the page (``report.html`` there, or ``out``).

    Raises:
        FileNotFoundError: the folder holds no run.
        ValueError: nothing has been logged yet.
    """
    folder = Path(run)
    metrics = load_metrics(folder)
    curves = draw_curves(folder / "curves.png", metrics)
    episodes, played = _latest_episodes(folder / ROLLOUTS_FILE)
    sections = {f"The latest {len(episodes)} of {played} episodes": episodes} if episodes else {}
    return write_page(
        out if out is not None else folder / "report.html",
        sections,
        title=f"Training run {folder.resolve().name}",
        summary={"steps": max(int(entry["step"] or 0) for entry in metrics), **_last_values(metrics)},
        figures={"Curves": curves},
    )


def _latest_episodes(path: Path) -> tuple[list[Trajectory], int]:
    latest: deque[Trajectory] = deque(maxlen=SHOWN_EPISODES)
    count = 0
    if path.exists():
        for trajectory in iterate_trajectories(path):
            latest.append(trajectory)
            count += 1
    return list(latest), count


def _last_values(metrics: list[dict[str, float | None]]) -> dict[str, Any]:
    """The last value of the figures that tell most about a run, first logged first."""
    told = ("loss", "reward", "episodes/success", "eval_accuracy", "eval_nll", "eval_ece", "train_runtime")
    last = {name: value for entry in metrics for name, value in entry.items() if value is not None}
    return {name.replace("_", " "): f"{last[name]:.4g}" for name in told if name in last}
