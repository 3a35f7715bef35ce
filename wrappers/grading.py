"""What a judging wrapper does with steps and with finished episodes, for one environment and for many."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

import attrs

from agentkit.episode import absorb_signals
from agentkit.trajectory import Trajectory
from agentkit.wrappers.background import Background
from agentkit.wrappers.episodes import RunningEpisode

logger = logging.getLogger(__name__)

MOST_WAITING = 1000
"""Late answers that are kept for `Grading.late_trajectories`; memory must not grow with those that nobody takes."""


class OnlineGrader(Protocol):
    """Grades each step as it is taken."""

    def grade_last(self, trajectories: Sequence[Trajectory]) -> Sequence[Any]:
        """The grade of each trajectory's last step."""
        ...

    def step_signals(self, grade: Any) -> Mapping[str, Any]:
        """What the info of a step says about its grade."""
        ...


class Grader(Protocol):
    """Turns what a judge says into grades, one a step, and grades into rewards and info."""

    @property
    def name(self) -> str:
        """The judge's name, for messages."""
        ...

    @property
    def online(self) -> OnlineGrader | None:
        """What grades each step as it is taken; None = all steps are graded when the episode ends."""
        ...

    def grade(self, trajectories: Sequence[Trajectory]) -> Sequence[Sequence[Any]]:
        """T grades for each trajectory; it must not raise because the judge failed to answer."""
        ...

    def unanswered(self, reason: str) -> Any:
        """The grade of a step about which the judge has said nothing."""
        ...

    def bonuses(self, grades: Sequence[Any]) -> list[float]:
        """What T grades add to T rewards; exactly 0 for an unanswered one."""
        ...

    def signals(self, grades: Sequence[Any]) -> Mapping[str, Any]:
        """What the last info of an episode says about its T grades."""
        ...


@attrs.frozen(eq=False)
class Waiting:
    """Episodes that ended before the judge had answered."""

    trajectories: tuple[Trajectory, ...]
    answer: "Future[Sequence[Sequence[Any]]]"


class Grading:
    """Asks a grader about steps as they are taken, and about episodes as they end.

    Without a ``timeout`` the episode waits for the judge. With one, the judge answers in a thread, for which the end of
    an episode (or an online step) waits so many seconds. What comes later never reaches a later step or episode: an
    episode's grades are kept with its own trajectory, for `late_trajectories`; an online step's are dropped. An episode
    that was cut off is graded like a late one.
    """

    def __init__(self, grader: Grader, timeout: float | None = None):
        self.grader = grader
        self._background = None if timeout is None else Background(timeout)
        self._waiting: list[Waiting] = []

    def __getstate__(self) -> dict[str, Any]:
        """Answers that are awaited belong to this process, and are not pickled."""
        return {**self.__dict__, "_waiting": []}

    def after_step(self, running: Sequence[RunningEpisode]) -> list[tuple[float, dict[str, Any]]]:
        """What to add to the reward and to the info of the last step of each episode; one call for all of them."""
        online = self.grader.online
        results = (
            self._grade_online(online, running) if online is not None and running else [(0.0, {}) for _ in running]
        )
        ended = [n for n, episode in enumerate(running) if episode.ended]
        for n, signals in zip(ended, self._end([running[n] for n in ended]), strict=True):
            results[n][1].update(signals)
        return results

    def late_trajectories(self, wait: bool = False) -> list[Trajectory]:
        """The episodes whose grades came after their end, with the grades in their steps; each is returned once.

        ``trajectory.info`` holds ``episode``, the number that the episode's last ``info["late_episode"]`` said, and in
        a vector ``copy``. With ``wait``, all answers that are outstanding are waited for.
        """
        judged: list[Trajectory] = []
        for entry in [entry for entry in self._waiting if wait or entry.answer.done()]:
            if judged and entry.answer.exception() is not None:
                break  # a defect of the judge; it raises at the next call, so that what was judged is not lost
            self._waiting.remove(entry)
            judged += [
                absorb_signals(trajectory, self._last_signals(trajectory, grades))
                for trajectory, grades in zip(entry.trajectories, entry.answer.result(), strict=True)
            ]
        return judged

    def close(self) -> None:
        """Stop asking; say how many episodes stay without the grades that were on the way."""
        lost = sum(len(entry.trajectories) for entry in self._waiting)
        if lost:
            logger.warning(
                "closed while judge %r had late answers for %d episodes, which stay unscored; "
                "take them with late_trajectories(wait=True) before close()",
                self.grader.name,
                lost,
            )
        self._waiting = []
        if self._background is not None:
            self._background.close()

    def cut_off(self, episode: RunningEpisode) -> bool:
        """Have an episode that never ended here graded, for `late_trajectories`; False without a ``timeout``."""
        if self._background is None or self.grader.online is not None:
            return False
        trajectory = episode.builder.trajectory()
        self._wait_for(self._background.submit(self.grader.grade, [trajectory]), [trajectory], [episode])
        return True

    def _end(self, episodes: Sequence[RunningEpisode]) -> list[dict[str, Any]]:
        """What the last infos of these episodes say."""
        if not episodes:
            return []
        trajectories = [episode.builder.trajectory() for episode in episodes]
        if self.grader.online is not None:
            graded: Sequence[Sequence[Any]] | None = [episode.grades for episode in episodes]
        else:
            graded = self._grade_episodes(trajectories, episodes)
        if graded is not None:
            return [self._last_signals(*pair) for pair in zip(trajectories, graded, strict=True)]
        return [
            {**self._last_signals(trajectory, self._unanswered(len(trajectory))), "late_episode": episode.number}
            for trajectory, episode in zip(trajectories, episodes, strict=True)
        ]

    def _grade_online(
        self, online: OnlineGrader, running: Sequence[RunningEpisode]
    ) -> list[tuple[float, dict[str, Any]]]:
        trajectories = [episode.builder.trajectory() for episode in running]
        if self._background is None:
            grades: Sequence[Any] = online.grade_last(trajectories)
        else:
            answer = self._background.ask(online.grade_last, trajectories)
            grades = answer.result() if answer.done() else self._give_up(answer, len(running))
        for episode, grade in zip(running, grades, strict=True):
            episode.grades.append(grade)
        return [(self.grader.bonuses([grade])[0], dict(online.step_signals(grade))) for grade in grades]

    def _give_up(self, answer: "Future[Sequence[Any]]", count: int) -> Sequence[Any]:
        answer.cancel()
        logger.warning("judge %r did not answer in time, %d steps left unscored", self.grader.name, count)
        return self._unanswered(count)

    def _grade_episodes(
        self, trajectories: Sequence[Trajectory], episodes: Sequence[RunningEpisode]
    ) -> Sequence[Sequence[Any]] | None:
        """The grades of finished episodes; None when they are late."""
        if self._background is None:
            return self.grader.grade(trajectories)
        answer = self._background.ask(self.grader.grade, trajectories)
        if answer.done():
            return answer.result()
        self._wait_for(answer, trajectories, episodes)
        return None

    def _wait_for(
        self,
        answer: "Future[Sequence[Sequence[Any]]]",
        trajectories: Sequence[Trajectory],
        episodes: Sequence[RunningEpisode],
    ) -> None:
        logger.info("judge %r is late with %d episodes", self.grader.name, len(trajectories))
        pairs = zip(trajectories, episodes, strict=True)
        self._waiting.append(Waiting(tuple(_identified(*pair) for pair in pairs), answer))
        if len(self._waiting) > MOST_WAITING:
            self._waiting.pop(0).answer.cancel()
            logger.warning(
                "more than %d late answers of %r were not taken; the oldest is dropped", MOST_WAITING, self.grader.name
            )

    def _unanswered(self, count: int) -> list[Any]:
        seconds = 0.0 if self._background is None else self._background.timeout
        return [self.grader.unanswered(f"no answer within {seconds:g} s")] * count

    def _last_signals(self, trajectory: Trajectory, grades: Sequence[Any]) -> dict[str, Any]:
        """The grader's signals, and the rewards that inner wrappers shaped (or the raw ones) plus its bonuses."""
        bonuses = self.grader.bonuses(grades)
        shaped = [base + bonus for base, bonus in zip(_shaped_so_far(trajectory), bonuses, strict=True)]
        return {**self.grader.signals(grades), "shaped_rewards": tuple(shaped)}


def _identified(trajectory: Trajectory, episode: RunningEpisode) -> Trajectory:
    identity = (
        {"episode": episode.number} if episode.copy is None else {"episode": episode.number, "copy": episode.copy}
    )
    return attrs.evolve(trajectory, info={**trajectory.info, **identity})


def _shaped_so_far(trajectory: Trajectory) -> list[float]:
    known = ((step.shaped_reward, step.raw_reward, step.reward) for step in trajectory.steps)
    return [next(value for value in values if value is not None) for values in known]
