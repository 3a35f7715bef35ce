"""The figure of a diagnosis: where each actor's probability goes."""

import os
from pathlib import Path

from agentkit.diagnosis import Diagnosis
from agentkit.diagnosis.result import MASSES
from agentkit.extras import require
from agentkit.report.figures import save_figure

_GOALS = {"full": "full goal", "without placement": "goal without placement"}
_COLOURS = {"required": "tab:green", "placing": "tab:red", "other": "lightgray"}
_LABELS = {
    "required": "toward the required change",
    "placing": "placing the unchanged object",
    "other": "other actions",
}


def mass_figure(path: str | os.PathLike[str], diagnosis: Diagnosis) -> Path:
    """A bar for each actor and goal, divided as its probability is.

    Raises:
        ValueError: no actor gave an answer.
    """
    rows = [row for row in diagnosis.actors if row.required is not None]
    if not rows:
        raise ValueError("no actor gave an answer in any state; there is nothing to draw")
    require("matplotlib", "report").use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 1.4 + 0.5 * len(rows)), layout="constrained")
    left = [0.0] * len(rows)
    for mass in MASSES:
        widths = [getattr(row, mass).estimate for row in rows]
        bars = axis.barh(range(len(rows)), widths, left=left, color=_COLOURS[mass], label=_LABELS[mass])
        labels = [f"{width:.1%}" if width > 0.06 else "" for width in widths]
        axis.bar_label(bars, labels, label_type="center", fontsize=8)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axis.set_yticks(range(len(rows)), [f"{row.actor}\n{_GOALS[row.goal]}" for row in rows], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel(f"probability, mean over {diagnosis.states} states at the destination with an unchanged object")
    axis.legend(ncols=3, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    plt.close(figure)
    return save_figure(path, figure)
