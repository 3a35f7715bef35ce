"""`ConstrainedReadoutActor`: a decision model chooses among the admissible actions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agentkit.decisions import DecisionModel, Query, Question

SYSTEM = "You are an agent in a text environment. Reach the goal. Answer with your next action only."


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
    """

    def __init__(self, model: DecisionModel, temperature: float = 0.0, history: int = 4, seed: int | None = None):
        if temperature < 0:
            raise ValueError(f"temperature must be at least 0, got {temperature!r}")
        if history < 0:
            raise ValueError(f"history must be at least 0, got {history!r}")
        self.model = model
        self.temperature = temperature
        self.history = history
        self.distribution: dict[str, float] = {}
        """The probability of each admissible action at the last call."""
        self._rng = np.random.default_rng(seed)
        self._past: list[tuple[str, str]] = []

    def reset(self) -> None:
        """Forget the past; `rollout` calls it as an episode starts."""
        self._past = []

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action.

        Raises:
            ValueError: the environment lists no admissible actions.
            RuntimeError: the model gave no answer.
        """
        actions: Sequence[str] = info.get("admissible_actions", ())
        if not actions:
            raise ValueError(
                "info['admissible_actions'] is empty; ConstrainedReadoutActor needs a closed set of actions"
            )
        decision = self.model([self.query(observation, info)])[0]
        if decision.unscored is not None:
            raise RuntimeError(f"the model chose no action: {decision.unscored}")
        probabilities = self._tempered(np.asarray(decision.probabilities))
        self.distribution = {}
        for action, probability in zip(actions, probabilities.tolist(), strict=True):
            self.distribution[action] = self.distribution.get(action, 0.0) + probability
        index = (
            int(self._rng.choice(len(actions), p=probabilities)) if self.temperature else int(probabilities.argmax())
        )
        self._past.append((observation, actions[index]))
        return actions[index]

    def query(self, observation: str, info: Mapping[str, Any]) -> Query:
        """What the model is asked."""
        past = self._past[-self.history :] if self.history else []
        lines = [f"Goal: {info.get('goal', '')}"]
        lines += [f"Observation: {seen}\nAction: {action}" for seen, action in past]
        lines.append(f"Observation: {observation}")
        question = Question("What is your next action?", "choice", tuple(info["admissible_actions"]))
        return Query("\n".join(lines), question, SYSTEM)

    def _tempered(self, probabilities: np.ndarray) -> np.ndarray:
        if self.temperature in (0.0, 1.0):
            return probabilities / probabilities.sum()
        with np.errstate(divide="ignore"):
            logits = np.log(probabilities) / self.temperature
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()
