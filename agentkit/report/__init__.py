"""What a person looks at: an HTML page of episodes, and figures."""

from agentkit.report.figures import score_heatmap
from agentkit.report.page import write_page

__all__ = ["score_heatmap", "write_page"]
