"""The base of vector wrappers that put what a judge says into rewards and infos."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.vector import VectorEnv

from agentkit.trajectory import Trajectory
from agentkit.wrappers.episodes import RunningEpisode
from agentkit.wrappers.grading import Grader, Grading
from agentkit.wrappers.vector.episodes import VectorEpisodeWrapper

logger = logging.getLogger(__name__)


class VectorGradedWrapper(VectorEpisodeWrapper):
    """A `VectorEpisodeWrapper` with a grader; subclasses say which."""

    _warned = False

    def __init__(self, env: VectorEnv, grader: Grader, timeout: float | None):
        super().__init__(env)
        self._grading = Grading(grader, timeout)

    def late_trajectories(self, wait: bool = False) -> list[Trajectory]:
        """The episodes that the judge graded after their end, oldest first, with its answers in their steps.

        Only with a ``timeout``. Among them are the episodes that a reset cut off. Each is returned once.
        ``trajectory.info`` holds ``copy``, the number of the environment, and ``episode``, the number that the
        episode's last ``info["late_episode"]`` said. What outer wrappers said is not in them.

        Args:
            wait: wait for every answer that is on the way.

        Raises:
            TypeError, ValueError: what the judge returned is wrong.
        """
        return self._grading.late_trajectories(wait)

    def close(self, **kwargs: Any) -> None:
        """Close all copies; late answers that were not taken are dropped, and their number is logged."""
        self._grading.close()
        super().close(**kwargs)

    def _cut(self, episode: RunningEpisode) -> None:
        if self._grading.grader.online is None and not self._grading.cut_off(episode) and not self._warned:
            self._warned = True
            message = "judge %r never sees the end of an episode that a reset cuts off: it is left unscored"
            logger.warning(f"{message} (said once)", self._grading.grader.name)

    def _after_step(self, episodes: Sequence[RunningEpisode]) -> Sequence[tuple[float, Mapping[str, Any]]]:
        return self._grading.after_step(episodes)
