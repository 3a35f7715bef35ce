"""Typed questions and answers: `Question`, `Query`, `Decision`, `Verdict`.

The vocabulary is that of the decision services (OpenAI Decisions, TypeSafe System One): a question is a
``choice`` among options, a ``score`` on ordered levels, or a ``predicate`` (yes or no); the answer carries a
probability for every option.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import attrs
import numpy as np

Kind: TypeAlias = Literal["choice", "score", "predicate"]
KINDS: tuple[str, ...] = ("choice", "score", "predicate")


def _check_options(instance: "Question", attribute: "attrs.Attribute[tuple[str, ...]]", value: tuple[str, ...]) -> None:
    if not all(isinstance(option, str) for option in value):
        raise TypeError(f"options must be strings, got {value!r}")
    if instance.kind == "predicate" and len(value) != 2:
        raise ValueError(f"a predicate has two options, the affirmative one first; got {value!r}")
    if instance.kind != "predicate" and not value:
        raise ValueError(f"a {instance.kind} question needs at least one option, got none")
    if instance.kind == "score" and len(value) < 2:
        raise ValueError(f"a score question needs at least two ordered levels, got {value!r}")


def _default_options(question: "Question") -> tuple[str, ...]:
    return ("yes", "no") if question.kind == "predicate" else ()


@attrs.frozen
class Question:
    """A question with a closed set of answers."""

    text: str
    """The words of the question."""
    kind: Kind = attrs.field(default="predicate", validator=attrs.validators.in_(KINDS))
    options: tuple[str, ...] = attrs.field(
        default=attrs.Factory(_default_options, takes_self=True), converter=tuple, validator=_check_options
    )
    """choice: the choices; score: the levels, lowest first; predicate: (yes, no)."""


@attrs.frozen
class Query:
    """A question about a context. Queries that share a context are encoded together by local models."""

    context: str
    question: Question
    system: str = ""
    """Instructions that stand before the context (the system message of a chat model)."""
    focus: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    """Passages of the context that must stay when a model can take only a part of it."""


@attrs.frozen
class Usage:
    """What one answer cost. Tokens of a context that several questions share are counted once, with the first."""

    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.requests + other.requests,
        )


def _check_probabilities(instance: "Decision", attribute: "attrs.Attribute[tuple[float, ...]]", value: tuple) -> None:
    if instance.unscored is not None:
        if value:
            raise ValueError("an unscored decision has no probabilities")
        return
    if len(value) != len(instance.question.options):
        raise ValueError(f"{len(value)} probabilities for {len(instance.question.options)} options")
    if not all(math.isfinite(p) and -1e-6 <= p <= 1 + 1e-6 for p in value):
        raise ValueError(f"probabilities must be finite numbers in [0, 1], got {value!r}")
    if abs(sum(value) - 1) > 1e-3:
        raise ValueError(f"probabilities must sum to 1, got {sum(value)!r}")


@attrs.frozen
class Decision:
    """The answer to one question: a probability for every option, or the reason why there is none."""

    question: Question
    probabilities: tuple[float, ...] = attrs.field(default=(), converter=tuple, validator=_check_probabilities)
    """One for each option, in the question's order; they sum to 1. Empty when unscored."""
    label_mass: float | None = None
    """The model's probability of answering with any of the options at all, where the model tells."""
    usage: Usage = attrs.field(factory=Usage)
    dropped_tokens: int = 0
    """Tokens of the context that the model did not see, for it can take only so many."""
    unscored: str | None = None
    """Why there is no answer (time-out, refusal, unparsable); None when there is one."""

    @property
    def choice(self) -> str | None:
        """The most probable option (the first of equals); None when unscored."""
        if not self.probabilities:
            return None
        return self.question.options[int(np.argmax(self.probabilities))]

    @property
    def value(self) -> float:
        """A number in [0, 1]: P(yes) of a predicate, the expected level of a score over its highest.

        Raises:
            ValueError: the decision is unscored, or its question is a choice, which has no order.
        """
        if self.unscored is not None:
            raise ValueError(f"the decision is unscored: {self.unscored}")
        if self.question.kind == "predicate":
            return min(1.0, max(0.0, self.probabilities[0]))
        if self.question.kind == "score":
            top = len(self.probabilities) - 1
            return min(1.0, max(0.0, sum(i * p for i, p in enumerate(self.probabilities)) / top))
        raise ValueError("a choice has no value; use .choice or .probabilities")

    def verdict(self) -> "Verdict":
        """The decision as a `Verdict`: its value, or unscored for the same reason."""
        return Verdict.no_score(self.unscored) if self.unscored is not None else Verdict(self.value)


@attrs.frozen
class Verdict:
    """A score in [0, 1], **or** unscored with a reason. Never 0 for "could not tell"."""

    score: float | None = attrs.field(default=None, converter=attrs.converters.optional(float))
    unscored: str | None = None

    def __attrs_post_init__(self) -> None:
        if (self.score is None) == (self.unscored is None):
            raise ValueError(f"a verdict has either a score or a reason, got {self.score!r} and {self.unscored!r}")
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a score must be in [0, 1], got {self.score!r}")

    @classmethod
    def no_score(cls, reason: str | None) -> "Verdict":
        """An unscored verdict; the reason must say something."""
        if not reason:
            raise ValueError("say why the step is unscored")
        return cls(unscored=reason)


DecisionModel: TypeAlias = Callable[[Sequence[Query]], Sequence[Decision]]
"""Any callable from queries to decisions, one each, in order."""


def softmax(logits: Sequence[float] | np.ndarray) -> np.ndarray:
    """Probabilities from log-scores, float64 of the same shape (K,); -inf scores get probability 0."""
    array = np.asarray(logits, dtype=np.float64)
    shifted = np.exp(array - array.max())
    return shifted / shifted.sum()
