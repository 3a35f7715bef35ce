"""An episode as the exact token ids that were sampled and seen."""

import attrs
import numpy as np

from agentkit.credit import broadcast_to_tokens
from agentkit.trajectory import Trajectory


@attrs.define
class TokenEpisode:
    """One growing conversation: prompt, then actions of the model and observations of the environment in turn.

    Token ids are kept as they were sampled and scored; nothing is ever decoded and encoded again.
    """

    prompt_ids: list[int]
    """The chat up to the first action."""
    completion_ids: list[int] = attrs.field(factory=list)
    """Everything after it, shape (L,)."""
    step_ids: list[int] = attrs.field(factory=list)
    """For each completion token the step whose action it belongs to; -1 for tokens the model did not choose."""
    log_probabilities: list[float] = attrs.field(factory=list)
    """Of each chosen token, when it was sampled; 0 for the others."""
    trajectory: Trajectory | None = None

    @property
    def ids(self) -> tuple[int, ...]:
        """All tokens so far."""
        return (*self.prompt_ids, *self.completion_ids)

    def add_action(self, ids: tuple[int, ...], log_probabilities: np.ndarray, step: int) -> None:
        """Append the n chosen tokens of one action."""
        self.completion_ids.extend(ids)
        self.step_ids.extend([step] * len(ids))
        self.log_probabilities.extend(log_probabilities.tolist())

    def add_context(self, ids: tuple[int, ...]) -> None:
        """Append tokens that the model reads but did not choose."""
        self.completion_ids.extend(ids)
        self.step_ids.extend([-1] * len(ids))
        self.log_probabilities.extend([0.0] * len(ids))

    def token_advantages(self, step_advantages: np.ndarray) -> np.ndarray:
        """(T,) -> (L,): every chosen token gets its step's advantage, every other token 0."""
        return broadcast_to_tokens(step_advantages, np.asarray(self.step_ids, dtype=np.int64))
