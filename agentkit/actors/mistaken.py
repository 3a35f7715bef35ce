"""`MistakenActor`: an actor that errs now and then, for episodes of mixed quality."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agentkit.actors.telling import restart, tell


class MistakenActor:
    """Plays as another actor does, but at a given rate does something else that is possible.

    The wrapped actor is not asked about such a step, but told of it through its ``observe(observation, info, action)``,
    where it has that method, so that what it remembers is what was done. One that reads the environment's own state, as
    the planner does, needs none.

    Args:
        actor: any actor.
        rate: the probability of a mistake at each step, in [0, 1].
        seed: makes the mistakes reproducible.

    A mistake is drawn uniformly from all admissible actions, so it can happen to be the right one. It can also lose the
    game for good (ALFWorld has objects that can be put down nowhere): where the wrapped actor then raises ValueError,
    as the planner does when no plan wins, the action is drawn at random, too.
    """

    def __init__(self, actor: Callable[[str, Mapping[str, Any]], str], rate: float, seed: int | None = None):
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"rate is a probability and must be in [0, 1], got {rate!r}")
        self.actor = actor
        self.rate = rate
        self._rng = np.random.default_rng(seed)
        self.mistaken = False
        """Whether the last action was drawn at random."""
        self._erred = False

    def reset(self) -> None:
        """Let the wrapped actor forget the past; the mistakes go on as they would have."""
        restart(self.actor)
        self._erred = False

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """An admissible action or the wrapped actor's.

        Raises:
            ValueError: the environment lists no admissible actions, or the wrapped actor gives up without a mistake.
        """
        actions = info.get("admissible_actions", ())
        if not actions:
            raise ValueError("info['admissible_actions'] is empty; MistakenActor needs a closed set of actions")
        self.mistaken = bool(self._rng.random() < self.rate)
        if not self.mistaken:
            try:
                return self.actor(observation, info)
            except ValueError:
                if not self._erred:
                    raise
                self.mistaken = True
        self._erred = True
        action = actions[int(self._rng.integers(len(actions)))]
        self.observe(observation, info, action)
        return action

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Tell the wrapped actor of a step that it did not choose."""
        tell(self.actor, observation, info, action)
