"""`BatchedActor`: many environments played with one call of the model a step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from agentkit.decisions import Decision, DecisionModel, Query


class AskingActor(Protocol):
    """An actor whose step is a question to a decision model and a choice by the answer."""

    @property
    def model(self) -> DecisionModel:
        """The decision model that is asked."""
        ...

    @property
    def distribution(self) -> Mapping[str, float]:
        """The probability of each admissible action at the last call."""
        ...

    def reset(self) -> None:
        """Forget the last episode."""

    def query(self, observation: str, info: Mapping[str, Any]) -> Query:
        """What the model is asked."""
        ...

    def choose(self, decision: Decision, observation: str) -> str:
        """The action that the answer leads to."""
        ...


class BatchedActor:
    """Plays N environments, each with an actor of its own, so that N questions go to the model together.

    The actions are those of N separate plays: memories and random states are apart, only the questions are joined.

    Args:
        make: called N times with 0, 1, …; returns actors that share one model, such as
            ``lambda i: ConstrainedReadoutActor(model, seed=i)``.
        num_envs: N.

    Raises:
        ValueError: N is below 1, or the actors have different models.
    """

    def __init__(self, make: Callable[[int], AskingActor], num_envs: int):
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs!r}")
        self.actors = [make(i) for i in range(num_envs)]
        self.model = self.actors[0].model
        if any(actor.model is not self.model for actor in self.actors):
            raise ValueError("the actors must share one model; build it once, outside make")

    @property
    def distributions(self) -> list[Mapping[str, float]]:
        """For each environment, the probability of each admissible action at its last step."""
        return [actor.distribution for actor in self.actors]

    def reset(self, indices: Sequence[int] | None = None) -> None:
        """Forget the past of the environments that start a new episode; None = of all."""
        for i in range(len(self.actors)) if indices is None else indices:
            self.actors[i].reset()

    def __call__(
        self,
        observations: Sequence[str],
        infos: Sequence[Mapping[str, Any]],
        playing: Sequence[bool] | None = None,
    ) -> list[str | None]:
        """N actions.

        Args:
            observations: one for each environment.
            infos: one for each environment.
            playing: False for environments whose episode has ended, whose action is None; None = all play.

        Raises:
            ValueError: the lengths differ from N, or an environment lists no admissible actions.
            RuntimeError: the model gave no answer.
        """
        count = len(self.actors)
        if not len(observations) == len(infos) == count or len(playing or observations) != count:
            raise ValueError(f"expected {count} observations and infos, got {len(observations)} and {len(infos)}")
        active = [i for i in range(count) if playing is None or playing[i]]
        queries = [self.actors[i].query(observations[i], infos[i]) for i in active]
        actions: list[str | None] = [None] * count
        for i, decision in zip(active, self.model(queries) if queries else (), strict=True):
            actions[i] = self.actors[i].choose(decision, observations[i])
        return actions
