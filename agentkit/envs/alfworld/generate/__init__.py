"""Making ALFWorld games locally: real game files, in the rooms that the ``alfworld`` package ships."""

from agentkit.envs.alfworld.generate.making import SPLITS, make_games
from agentkit.envs.alfworld.generate.tasks import DIFFICULTIES

__all__ = ["DIFFICULTIES", "SPLITS", "make_games"]
