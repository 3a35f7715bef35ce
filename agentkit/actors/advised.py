"""`AdvisedActor`: an actor that takes a gate's advice at a given rate, where the real one cannot read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from agentkit.actors.telling import Actor, correct, distribution_of, restart, tell
from agentkit.advice import advised_actions


class AdvisedActor:
    """Plays as another actor does, but follows advice in the observation with a given probability.

    A language model reads the advice itself and needs no such wrapper. A scripted actor does not read: this stands in
    for a language model's following, so that a gate can be studied without one. Where the advice is not followed, the
    wrapped actor is asked again.

    Around an actor that remembers, it also keeps the memory true: where a gate executed something else than was
    proposed (``info["gate"]["executed"]``), the actor is told so through its ``observe(observation, info, action)``.

    Args:
        actor: any actor.
        follow: the probability of following, in [0, 1]. The first action that the advice names is taken, among the
            admissible ones where those are listed.
        seed: makes the choices reproducible.

    Raises:
        ValueError: ``follow`` is no probability.
    """

    def __init__(self, actor: Actor, follow: float = 1.0, seed: int | None = None):
        if not 0.0 <= follow <= 1.0:
            raise ValueError(f"follow is a probability and must be in [0, 1], got {follow!r}")
        self.actor = actor
        self.follow = follow
        self._rng = np.random.default_rng(seed)
        self._last: tuple[str, Mapping[str, Any], str] | None = None
        self._following = False

    @property
    def distribution(self) -> Mapping[str, float]:
        """The wrapped actor's at its last call; empty when the advice was followed."""
        return {} if self._following else distribution_of(self.actor)

    def reset(self) -> None:
        """Let the wrapped actor forget the past; the random choices go on as they would have."""
        restart(self.actor)
        self._last = None

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Tell the wrapped actor of a step that another player chose."""
        tell(self.actor, observation, info, action)
        self._last = (observation, info, action)

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The advised action or the wrapped actor's."""
        self._correct(info)
        advised = self._advised(observation, info)
        self._following = bool(advised) and bool(self._rng.random() < self.follow)
        if self._following:
            action = advised[0]
            correct(self.actor, observation, info, action)
        else:
            action = self.actor(observation, info)
        self._last = (observation, info, action)
        return action

    def _advised(self, observation: str, info: Mapping[str, Any]) -> list[str]:
        advised = advised_actions(observation)
        admissible = info.get("admissible_actions") or advised
        return [action for action in advised if action in admissible]

    def _correct(self, info: Mapping[str, Any]) -> None:
        """Tell the wrapped actor what was executed in place of its last choice."""
        executed = (info.get("gate") or {}).get("executed")
        if self._last is None or executed is None:
            return
        observation, before, action = self._last
        if executed != action:
            correct(self.actor, observation, before, executed)
