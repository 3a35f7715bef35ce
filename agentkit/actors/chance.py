"""`RandomActor`: chance level."""

from collections.abc import Mapping
from typing import Any

import numpy as np


class RandomActor:
    """Chooses uniformly among the admissible actions.

    Args:
        seed: makes its choices reproducible.
    """

    def __init__(self, seed: int | None = None):
        self._rng = np.random.default_rng(seed)
        self.distribution: dict[str, float] = {}
        """The probability of each action at the last call."""

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """An admissible action.

        Raises:
            ValueError: the environment lists none.
        """
        actions = info.get("admissible_actions", ())
        if not actions:
            raise ValueError("info['admissible_actions'] is empty; RandomActor needs a closed set of actions")
        self.distribution = dict.fromkeys(actions, 1 / len(actions))
        return actions[int(self._rng.integers(len(actions)))]
