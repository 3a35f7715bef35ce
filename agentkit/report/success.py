"""Success rates side by side."""

import os
from collections.abc import Mapping
from pathlib import Path

from agentkit.extras import require
from agentkit.report.figures import save_figure


def success_bars(
    path: str | os.PathLike[str], rates: Mapping[str, tuple[float, float, float]], caption: str = "success"
) -> Path:
    """Success rates with their intervals as a PNG: a bar each, and a line where the first one ends.

    Args:
        path: the file to write.
        rates: name -> (rate, lower end, upper end), each in [0, 1].
        caption: stands under the axis.

    Raises:
        ValueError: there are no rates.
        ImportError: matplotlib is missing.
    """
    if not rates:
        raise ValueError("success_bars needs at least one rate")
    require("matplotlib", "report").use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 0.9 + 0.32 * len(rates)))
    places = list(range(len(rates)))
    shares = [rate for rate, _, _ in rates.values()]
    spread = [[max(0.0, rate - low) for rate, low, _ in rates.values()]]
    spread.append([max(0.0, high - rate) for rate, _, high in rates.values()])
    axis.barh(places, shares, color="#8fb8de", height=0.7)
    axis.errorbar(shares, places, xerr=spread, fmt="none", ecolor="#333333", elinewidth=1, capsize=2)
    axis.axvline(shares[0], color="#b03030", linewidth=1, linestyle="--")
    axis.set_yticks(places, list(rates), fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel(caption)
    figure.tight_layout()
    plt.close(figure)
    return save_figure(path, figure)
