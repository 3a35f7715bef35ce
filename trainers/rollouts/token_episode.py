"""An episode as the exact token ids that were sampled and seen."""

from collections.abc import Sequence

import attrs
import numpy as np

from agentkit.credit import Floats, broadcast_to_tokens
from agentkit.trajectory import Trajectory

Tokens = tuple[int, ...]


@attrs.frozen
class Choice:
    """What a policy answered in one turn."""

    action: str
    """The text that the environment gets."""
    ids: Tokens = attrs.field(converter=tuple)
    """The n tokens that were sampled, the one that ends the answer included."""
    log_probabilities: Sequence[float]
    """Of each token, shape (n,), under the distribution that was sampled; they sum to that of the answer."""
    probability: float | None = None
    """Of the action among the admissible ones, where the policy chose among them."""
    candidates: tuple[Tokens, ...] = ()
    """The token sequences that were chosen among; empty for free text."""
    valid: bool = True
    """False for text that names no admissible action."""


@attrs.frozen
class Decision:
    """Where in a sample's completion an action was chosen among candidates."""

    start: int
    """Offset of the action's first token in the completion."""
    size: int
    """Number of its tokens."""
    candidates: tuple[Tokens, ...]


@attrs.define
class TokenSample:
    """One training sequence: a prompt, then L completion tokens, some chosen by the model and some only read by it.

    Token ids are kept as they were sampled and scored; nothing is ever decoded and encoded again.
    """

    prompt_ids: list[int]
    completion_ids: list[int] = attrs.field(factory=list)
    """Shape (L,)."""
    step_ids: list[int] = attrs.field(factory=list)
    """For each completion token the step whose action it belongs to; -1 for tokens the model did not choose."""
    log_probabilities: list[float] = attrs.field(factory=list)
    """Of each chosen token, when it was sampled; 0 for the others."""
    decisions: list[Decision] = attrs.field(factory=list)
    """Every choice among candidates whose tokens belong to a step, in order."""

    @property
    def ids(self) -> Tokens:
        """All tokens so far."""
        return (*self.prompt_ids, *self.completion_ids)

    def __len__(self) -> int:
        return len(self.prompt_ids) + len(self.completion_ids)

    def add_action(self, choice: Choice, step: int | None) -> None:
        """Append a choice's tokens; with step None (a gate withheld it) as tokens of no step."""
        size = len(choice.ids)
        if step is None:
            self.add_context(choice.ids)
            return
        if choice.candidates:
            self.decisions.append(Decision(len(self.completion_ids), size, choice.candidates))
        self.completion_ids.extend(choice.ids)
        self.step_ids.extend([step] * size)
        self.log_probabilities.extend(map(float, choice.log_probabilities))

    def add_context(self, ids: Sequence[int]) -> None:
        """Append tokens that the model reads but did not choose."""
        self.completion_ids.extend(ids)
        self.step_ids.extend([-1] * len(ids))
        self.log_probabilities.extend([0.0] * len(ids))

    def token_values(self, step_values: Floats) -> Floats:
        """(T,) -> (L,): every chosen token gets its step's value, every other token 0."""
        return broadcast_to_tokens(step_values, np.asarray(self.step_ids, dtype=np.int64))

    @classmethod
    def empty(cls, token: int) -> "TokenSample":
        """A sequence without any chosen token, which fills a batch up and teaches nothing."""
        return cls([token], [token], [-1], [0.0])


@attrs.frozen
class TokenEpisode:
    """An episode and the sequences that a model is trained on for it."""

    samples: tuple[TokenSample, ...] = attrs.field(converter=tuple)
    """One for a conversation; one a turn for windowed prompts."""
    trajectory: Trajectory
