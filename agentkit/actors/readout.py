"""`ConstrainedReadoutActor`: a decision model chooses among the admissible actions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agentkit.actors.memory import SYSTEM, EpisodeMemory
from agentkit.decisions import Decision, DecisionModel, Query, Question


class ConstrainedReadoutActor:
    """``actor(observation, info) -> action``, never outside ``info["admissible_actions"]``.

    The prompt holds the goal, the last actions with what they led to, and the current observation. With
    `agentkit.models.ConstrainedReadout` as the model, each admissible action is scored as a whole token sequence.

    Args:
        model: a decision model.
        temperature: 0 plays the most probable action (the first of equals); above 0 samples from the distribution,
            each probability raised to ``1 / temperature``.
        history: how many past steps the prompt shows.
        seed: makes sampling reproducible.

    `BatchedActor` plays many environments with one call of the model a step.
    """

    def __init__(self, model: DecisionModel, temperature: float = 0.0, history: int = 4, seed: int | None = None):
        if temperature < 0:
            raise ValueError(f"temperature must be at least 0, got {temperature!r}")
        self.model = model
        self.temperature = temperature
        self.history = history
        self.distribution: dict[str, float] = {}
        """The probability of each admissible action at the last call, after the temperature."""
        self._rng = np.random.default_rng(seed)
        self.memory = EpisodeMemory(history)
        """The steps of the episode so far."""

    def reset(self) -> None:
        """Forget the past; `rollout` calls it as an episode starts."""
        self.memory.clear()

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Remember a step that another player chose."""
        self.memory.add(observation, action)

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action.

        Raises:
            ValueError: the environment lists no admissible actions.
            RuntimeError: the model gave no answer.
        """
        decision = self.model([self.query(observation, info)])[0]
        return self.choose(decision, observation)

    def query(self, observation: str, info: Mapping[str, Any]) -> Query:
        """What the model is asked.

        Raises:
            ValueError: the environment lists no admissible actions.
        """
        actions: Sequence[str] = info.get("admissible_actions", ())
        if not actions:
            raise ValueError(
                "info['admissible_actions'] is empty; ConstrainedReadoutActor needs a closed set of actions"
            )
        question = Question("What is your next action?", "choice", tuple(actions))
        return Query(self.memory.context(observation, info), question, SYSTEM)

    def choose(self, decision: Decision, observation: str) -> str:
        """The action that the model's answer to `query` leads to; it is remembered.

        Raises:
            RuntimeError: the model gave no answer.
        """
        if decision.unscored is not None:
            raise RuntimeError(f"the model chose no action: {decision.unscored}")
        actions = decision.question.options
        probabilities = tempered(np.asarray(decision.probabilities), self.temperature)
        self.distribution = {}
        for action, probability in zip(actions, probabilities.tolist(), strict=True):
            self.distribution[action] = self.distribution.get(action, 0.0) + probability
        index = (
            int(self._rng.choice(len(actions), p=probabilities)) if self.temperature else int(probabilities.argmax())
        )
        self.memory.add(observation, actions[index])
        return actions[index]


def tempered(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities of shape (K,), each raised to ``1 / temperature`` (0 and 1 change nothing), normalised."""
    if temperature in (0.0, 1.0):
        return probabilities / probabilities.sum()
    with np.errstate(divide="ignore"):
        logits = np.log(probabilities) / temperature
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()
