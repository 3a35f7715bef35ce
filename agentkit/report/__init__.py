"""What a person looks at: an HTML page of episodes, and figures."""

from agentkit.report.curves import draw_curves
from agentkit.report.figures import score_heatmap
from agentkit.report.page import write_page
from agentkit.report.run import load_metrics, write_run_page
from agentkit.report.screening import gap_figure, on_top_figure, visibility_heatmap

__all__ = [
    "draw_curves",
    "gap_figure",
    "load_metrics",
    "on_top_figure",
    "score_heatmap",
    "visibility_heatmap",
    "write_page",
    "write_run_page",
]
