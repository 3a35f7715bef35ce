"""The fast ALFWorld engine: the same texts and actions as TextWorld's, from tables instead of derivations."""

from agentkit.envs.alfworld.fast.engine import FastEngine, Snapshot, Turn
from agentkit.envs.alfworld.fast.errors import UnsupportedGame
from agentkit.envs.alfworld.fast.game import Game, load_game

__all__ = ["FastEngine", "Game", "Snapshot", "Turn", "UnsupportedGame", "load_game"]
