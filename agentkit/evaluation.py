"""Success by task type, with counts."""

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import gymnasium as gym

from agentkit.rollout import Actor, iterate_rollouts
from agentkit.trajectory import Trajectory


@attrs.frozen(kw_only=True)
class Result:
    """Success over some episodes."""

    episodes: int
    won: int
    mean_reward: float
    mean_steps: float

    @property
    def success(self) -> float:
        """Share of the episodes that were won, in [0, 1]."""
        return self.won / self.episodes


@attrs.frozen(kw_only=True)
class Evaluation:
    """Episodes and what they amount to."""

    trajectories: tuple[Trajectory, ...] = attrs.field(converter=tuple)

    @property
    def by_task_type(self) -> dict[str, Result]:
        """Task type -> its result, in alphabetical order; ``""`` stands for episodes without one."""
        types = sorted({t.task_type for t in self.trajectories})
        return {name: summarise(t for t in self.trajectories if t.task_type == name) for name in types}

    @property
    def total(self) -> Result:
        """The result over all episodes."""
        return summarise(self.trajectories)

    def table(self) -> str:
        """A plain-text table: a row a task type, then all of them."""
        rows = [*self.by_task_type.items(), ("all", self.total)]
        width = max(len("task type"), *(len(name) for name, _ in rows))
        lines = [f"{'task type':<{width}}  {'won':>4}  {'of':>4}  {'success':>7}  {'reward':>7}  {'steps':>5}"]
        for name, result in rows:
            lines.append(
                f"{name:<{width}}  {result.won:>4}  {result.episodes:>4}  {result.success:>7.1%}  "
                f"{result.mean_reward:>7.3f}  {result.mean_steps:>5.1f}"
            )
        return "\n".join(lines)


def summarise(trajectories: Iterable[Trajectory]) -> Result:
    """The result over some episodes.

    Raises:
        ValueError: there are none.
    """
    episodes = list(trajectories)
    if not episodes:
        raise ValueError("trajectories is empty; there is nothing to summarise")
    count = len(episodes)
    return Result(
        episodes=count,
        won=sum(t.won for t in episodes),
        mean_reward=sum(t.total_reward for t in episodes) / count,
        mean_steps=sum(len(t) for t in episodes) / count,
    )


def evaluate(
    env: gym.Env,
    actor: Actor,
    num_episodes: int,
    *,
    seed: int | None = 0,
    max_steps: int | None = None,
    on_episode: Callable[[Trajectory], Any] | None = None,
) -> Evaluation:
    """Play ``num_episodes`` episodes and sum them up by task type.

    Args:
        env: a text environment.
        actor: ``actor(observation, info) -> action``.
        num_episodes: how many, at least 1.
        seed: episode i is reset with ``seed + i``; None leaves the choice of tasks to the environment.
        max_steps: stop an episode after so many steps; None = only the environment ends it.
        on_episode: called with each finished episode, for progress or recording.
    """
    trajectories = []
    for trajectory in iterate_rollouts(env, actor, num_episodes, seed=seed, max_steps=max_steps):
        trajectories.append(trajectory)
        if on_episode is not None:
            on_episode(trajectory)
    return Evaluation(trajectories=trajectories)
