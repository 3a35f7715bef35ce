"""What an actor remembers of an episode, and how its prompt shows it."""

from collections.abc import Mapping
from typing import Any

SYSTEM = "You are an agent in a text environment. Reach the goal. Answer with your next action only."


class EpisodeMemory:
    """The past observations of an episode, each with the action that followed.

    Args:
        shown: how many of the last steps a prompt shows.
    """

    def __init__(self, shown: int):
        if shown < 0:
            raise ValueError(f"history must be at least 0, got {shown!r}")
        self.shown = shown
        self._past: list[tuple[str, str]] = []

    def clear(self) -> None:
        """Forget everything."""
        self._past = []

    def add(self, observation: str, action: str) -> None:
        """Remember a step."""
        self._past = [*self._past, (observation, action)][-max(1, self.shown) :]

    def context(self, observation: str, info: Mapping[str, Any]) -> str:
        """The goal, the last steps and the current observation."""
        past = self._past[-self.shown :] if self.shown else []
        lines = [f"Goal: {info.get('goal', '')}"]
        lines += [f"Observation: {seen}\nAction: {action}" for seen, action in past]
        lines.append(f"Observation: {observation}")
        return "\n".join(lines)
