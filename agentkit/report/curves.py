"""A training run's figures over its steps, as one picture."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentkit.extras import require

COLUMNS = 3


@attrs.frozen
class Panel:
    """One small plot: which logged names it shows, and under which labels."""

    title: str
    pattern: str
    """A regular expression for whole names; its first group, where it has one, is the line's label."""


PANELS: tuple[Panel, ...] = (
    Panel("loss", r"loss|(eval)_loss|eval_(nll)"),
    Panel("success", r"episodes/success|(eval)_episodes/success"),
    Panel("reward", r"reward"),
    Panel("held out", r"eval_(accuracy|ece|brier)"),
    Panel("token accuracy", r"mean_token_accuracy"),
    Panel("shares of steps", r"credit/(unscored|untyped)|episodes/(invalid_actions)"),
    Panel("shares of episodes", r"episodes/(truncated|dropped)"),
    Panel("shares of groups", r"credit/(zero_groups)|(frac_reward_zero_std)"),
    Panel("steps an episode", r"episodes/steps"),
    Panel("gradient norm", r"grad_norm"),
    Panel("KL and entropy", r"(kl|entropy)"),
    Panel("judges' tokens", r"judges/tokens"),
    Panel("judges' dollars", r"judges/dollars"),
    Panel("judges' seconds", r"judges/seconds"),
    Panel("seconds of a step", r"time/(environment|judging|generation|forward_backward|idle)"),
)  # fmt: skip
_TERM = re.compile(r"credit/(.+)/mean")


def draw_curves(path: str | os.PathLike[str], metrics: Sequence[Mapping[str, float | None]]) -> Path:
    """Draw a panel for each kind of figure that was logged, and one (mean ± spread) for each credit term.

    Args:
        path: the PNG file.
        metrics: one mapping a logged step, ``step`` among its names; None = not a finite number.

    Raises:
        ValueError: nothing that could be drawn was logged.
    """
    series = collect_series(metrics)
    terms = sorted(match[1] for name in series if (match := _TERM.fullmatch(name)))
    panels = [(panel.title, lines) for panel in PANELS if (lines := panel_lines(panel, series))]
    if not panels and not terms:
        raise ValueError("no step has been logged yet; there are no curves to draw")
    require("matplotlib", "report").use("Agg")
    import matplotlib.pyplot as plt

    count = len(panels) + len(terms)
    rows = -(-count // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(4.4 * COLUMNS, 2.7 * rows), squeeze=False)
    places = iter(axes.flat)
    for title, lines in panels:
        _draw_lines(next(places), title, lines)
    for term in terms:
        _draw_band(next(places), f"credit: {term}", series[f"credit/{term}/mean"], series.get(f"credit/{term}/std"))
    for unused in places:
        unused.axis("off")
    figure.tight_layout()
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    figure.savefig(temporary, dpi=110, format="png")
    plt.close(figure)
    os.replace(temporary, target)
    return target


def collect_series(metrics: Sequence[Mapping[str, float | None]]) -> dict[str, list[tuple[float, float]]]:
    """Name -> (step, value) pairs in order, the last of a step counting; values that are None are left out."""
    found: dict[str, dict[float, float]] = {}
    for entry in metrics:
        for name, value in entry.items():
            if name != "step" and value is not None:
                found.setdefault(name, {})[entry["step"] or 0] = value
    return {name: sorted(values.items()) for name, values in found.items()}


def panel_lines(panel: Panel, series: Mapping[str, Any]) -> dict[str, Any]:
    """Label -> values of every name that the panel shows."""
    matches = ((re.fullmatch(panel.pattern, name), name) for name in series)
    return {
        next((group for group in match.groups() if group), panel.title): series[name]
        for match, name in matches
        if match
    }


def _draw_lines(axis: Any, title: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    for label, points in lines.items():
        axis.plot(*zip(*points, strict=True), marker="o", markersize=2.5, linewidth=1.3, label=label.replace("_", " "))
    if len(lines) > 1 or title not in lines:
        axis.legend(fontsize=7, framealpha=0.75, edgecolor="none")
    _finish(axis, title)


def _draw_band(axis: Any, title: str, means: Sequence[tuple[float, float]], spreads: Any) -> None:
    steps, values = zip(*means, strict=True)
    axis.plot(steps, values, marker="o", markersize=2.5, linewidth=1.3, color="tab:purple")
    if spreads is not None and len(spreads) == len(means):
        low, high = zip(*((v - s, v + s) for v, (_, s) in zip(values, spreads, strict=True)), strict=True)
        axis.fill_between(steps, low, high, alpha=0.2, color="tab:purple", linewidth=0)
    axis.axhline(0, color="gray", linewidth=0.6)
    _finish(axis, f"{title} (mean ± spread)")


def _finish(axis: Any, title: str) -> None:
    axis.set_title(title, loc="left", fontsize=10)
    axis.set_xlabel("step", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.xaxis.get_major_locator().set_params(integer=True)
