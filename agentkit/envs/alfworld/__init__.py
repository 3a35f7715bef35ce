"""ALFWorld as a text environment: household tasks in a room, from the benchmark's own game files."""

from agentkit.envs.alfworld.env import ALFWorldEnv

__all__ = ["ALFWorldEnv"]
