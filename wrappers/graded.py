"""The base of wrappers that put what a judge says into rewards and info."""

from typing import Any, ClassVar

import gymnasium as gym

from agentkit.trajectory import Trajectory
from agentkit.wrappers.episodes import EpisodeWrapper, RunningEpisode
from agentkit.wrappers.grading import Grader, Grading


class GradedWrapper(EpisodeWrapper):
    """An `EpisodeWrapper` with a grader; subclasses say which."""

    _episode_fields = ("_episode", "_open", "_grades")
    _unseen: ClassVar[str]
    """What to log about an episode that never ended for this wrapper: the judge's name, then the number of steps."""

    def __init__(self, env: gym.Env, grader: Grader, timeout: float | None):
        super().__init__(env)
        self._grading = Grading(grader, timeout)
        self._grades: list[Any] = []

    def late_trajectories(self, wait: bool = False) -> list[Trajectory]:
        """The episodes that the judge graded after their end, oldest first, with its answers in their steps.

        Only with a ``timeout``. Among them are the episodes that a reset cut off, or a ``TimeLimit`` outside this
        wrapper. Each is returned once. ``trajectory.info["episode"]`` is the number that the episode's last
        ``info["late_episode"]`` said; episodes count from 0, and a restored snapshot begins another one. What outer
        wrappers said is not in them.

        Args:
            wait: wait for every answer that is on the way.

        Raises:
            TypeError, ValueError: what the judge returned is wrong.
        """
        return self._grading.late_trajectories(wait)

    def close(self) -> None:
        """Close the environment; late answers that were not taken are dropped, and their number is logged."""
        self._grading.close()
        super().close()

    def _begin(self) -> None:
        self._grades = []

    def _cut(self, steps: int) -> None:
        running = RunningEpisode(self._episode, self._number)
        if self._grading.grader.online is None and not self._grading.cut_off(running):
            self._warn_once(self._unseen, self._grading.grader.name, steps)

    def _after_step(self, reward: float, ended: bool, info: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        running = RunningEpisode(self._episode, self._number, ended=ended, grades=self._grades)
        [(bonus, signals)] = self._grading.after_step([running])
        if "verdicts" in signals:
            signals["verdicts"] = {**info.get("verdicts", {}), **signals["verdicts"]}
        return reward + bonus, {**info, **signals}
