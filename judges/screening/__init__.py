"""Screening: measures judges on recorded trajectories, so that one is chosen before anything is trained."""

from agentkit.judges.screening.recommendation import Recommendation
from agentkit.judges.screening.result import Measures, Screening
from agentkit.judges.screening.screen import screen

__all__ = ["Measures", "Recommendation", "Screening", "screen"]
