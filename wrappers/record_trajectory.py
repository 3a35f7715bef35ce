"""`RecordTrajectoryWrapper`: every episode as a line of a JSONL file."""

import os
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentkit.trajectory import append_trajectory
from agentkit.wrappers.branching import WrapperSnapshot
from agentkit.wrappers.episodes import EpisodeWrapper


class RecordTrajectoryWrapper(EpisodeWrapper, RecordConstructorArgs):
    """Appends each episode to a JSONL file, to be read with `agentkit.load_trajectories`.

    Put it outermost: it then records what every wrapper inside said about the steps (scores, roles, shaped rewards,
    gate). An episode is written when it ends. One that a ``reset``, ``restore`` or ``close`` cuts off is written too,
    as neither terminated nor truncated, if it has at least one step. Lines are written whole, and copies in several
    processes may share one file.

    Args:
        env: a text environment.
        path: the file; its folder is made when it does not exist, and earlier lines are kept.

    Raises:
        OSError: (at construction) the file cannot be written.
    """

    def __init__(self, env: gym.Env, path: str | os.PathLike[str]):
        RecordConstructorArgs.__init__(self, path=os.fspath(path))
        EpisodeWrapper.__init__(self, env)
        self.path = prepare(path)

    def close(self) -> None:
        """Write the episode that this cuts off, if any, and close the environment."""
        self._close_episode()
        super().close()

    def _after_step(self, reward: float, ended: bool, info: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        if ended:
            self._write()
        return reward, info

    def _cut(self, steps: int) -> None:
        self._write()

    def _restore(self, snapshot: WrapperSnapshot):
        # What was played since the snapshot is an episode of its own: a branch.
        self._close_episode()
        return super()._restore(snapshot)

    def _write(self) -> None:
        append_trajectory(self.path, self._episode.trajectory())


def prepare(path: str | os.PathLike[str]) -> Path:
    """The path, to which can be written: that is found out before the first, perhaps expensive, episode."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.open("a").close()
    return target
