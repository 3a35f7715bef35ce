"""Random numbers that belong to a step of an episode, whenever and in whatever order they are asked for."""

import hashlib
from collections.abc import Iterator

import attrs

from agentkit.trajectory import Trajectory


@attrs.frozen
class Draw:
    """Two independent uniform numbers in [0, 1)."""

    share: float
    second: float

    def index(self, count: int) -> int:
        """One of 0 ... count - 1, each with the same probability, independent of ``share``."""
        return int(self.second * count)


def step_draws(trajectory: Trajectory, seed: int) -> Iterator[Draw]:
    """One draw a step, from the seed, the task, and the actions and observations up to and including that step."""
    digest = hashlib.sha256(repr((seed, trajectory.task_id, trajectory.goal)).encode("utf-8", "surrogatepass"))
    for step in trajectory.steps:
        digest.update(repr((step.observation, step.action, step.feedback)).encode("utf-8", "surrogatepass"))
        value = digest.digest()
        share, second = (int.from_bytes(value[i : i + 6], "big") / 2**48 for i in (0, 6))
        yield Draw(share, second)
