"""`RecordTrajectoryWrapper` for vector environments."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.vector import VectorEnv

from agentkit.trajectory import append_trajectory
from agentkit.wrappers.episodes import RunningEpisode
from agentkit.wrappers.record_trajectory import prepare
from agentkit.wrappers.vector.episodes import VectorEpisodeWrapper


class RecordTrajectoryWrapper(VectorEpisodeWrapper):
    """`agentkit.wrappers.RecordTrajectoryWrapper` around a vector environment: all copies write to one file.

    Put it outermost: it then records what every wrapper inside said about the steps, vector wrappers included. An
    episode is written when it ends, or when a reset (or ``close``) cuts it off after at least one step.

    Args:
        env: a vector environment of texts, as `agentkit.make_vec` makes it.
        path: the file; its folder is made when it does not exist, and earlier lines are kept.

    Raises:
        OSError: (at construction) the file cannot be written.
    """

    def __init__(self, env: VectorEnv, path: str | os.PathLike[str]):
        super().__init__(env)
        self.path = prepare(path)

    def close(self, **kwargs: Any) -> None:
        """Write the episodes that this cuts off, if any, and close all copies."""
        for i in list(self._episodes):
            self._close_episode(i)
        super().close(**kwargs)

    def _after_step(self, episodes: Sequence[RunningEpisode]) -> Sequence[tuple[float, Mapping[str, Any]]]:
        for episode in episodes:
            if episode.ended:
                self._write(episode)
        return [(0.0, {})] * len(episodes)

    def _cut(self, episode: RunningEpisode) -> None:
        self._write(episode)

    def _write(self, episode: RunningEpisode) -> None:
        append_trajectory(self.path, episode.builder.trajectory())
