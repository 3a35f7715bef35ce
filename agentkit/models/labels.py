"""Options listed in the prompt, and letters that stand for them."""

import string
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from agentkit.decisions import Decision, DecisionModel, Query, Question
from agentkit.models.answers import certain_decision
from agentkit.models.identity import wrapped_identity

Labels: TypeAlias = Literal["words", "listed", "letters"]
"""What a choice is answered with: the option's words, its words after a list of all options, or its letter."""


def option_labels(count: int) -> tuple[str, ...]:
    """Labels for options: letters, and numbers from 1 where the letters do not suffice.

    >>> option_labels(3), option_labels(27)[-1]
    (('A', 'B', 'C'), '27')
    """
    if count <= len(string.ascii_uppercase):
        return tuple(string.ascii_uppercase[:count])
    return tuple(str(i + 1) for i in range(count))


def listed(labels: Sequence[str], options: Sequence[str]) -> str:
    """The options, one a line, after their labels.

    >>> print(listed("AB", ["go to shelf 1", "look"]))
    A. go to shelf 1
    B. look
    """
    return "\n".join(
        f"{label}. {option if option.strip() else '(nothing)'}" for label, option in zip(labels, options, strict=True)
    )


@attrs.frozen
class Listed:
    """Lists the options of a choice in the prompt; the model still answers in their words.

    A model that sees its options judges them against each other, but may prefer some places of the list, which
    `Rotated` averages out. Predicates and scores pass through unchanged.

    Args:
        model: any decision model.
    """

    model: DecisionModel

    @property
    def identity(self) -> str | None:
        """What the answers depend on, where the wrapped model says it."""
        return wrapped_identity("listed", self.model)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Listed":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order, on the query's own options; equal options are listed once."""
        return answered_by(self.model, queries, self._with_list, _given_back)

    def _with_list(self, query: Query) -> Query:
        distinct = tuple(dict.fromkeys(query.question.options))
        lines = "\n".join(f"- {option if option.strip() else '(nothing)'}" for option in distinct)
        text = f"{query.question.text}\n{lines}\nAnswer with one of these only."
        return attrs.evolve(query, question=Question(text, "choice", distinct))


@attrs.frozen
class Lettered:
    """Asks a model for the letter of a choice instead of its words: the prompt lists the options with letters.

    Letters cost one token each, and long options are not favoured or punished for their length; but a model prefers
    some letters and places over others, which `Rotated` averages out. Predicates and scores pass through unchanged.

    Args:
        model: any decision model.
    """

    model: DecisionModel

    @property
    def identity(self) -> str | None:
        """What the answers depend on, where the wrapped model says it."""
        return wrapped_identity("lettered", self.model)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Lettered":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order, on the query's own options; equal options are listed once."""
        return answered_by(self.model, queries, self._relabelled, _given_back)

    def _relabelled(self, query: Query) -> Query:
        distinct = tuple(dict.fromkeys(query.question.options))
        labels = option_labels(len(distinct))
        kind = "letter" if labels[0] == "A" else "number"
        text = f"{query.question.text}\n{listed(labels, distinct)}\nAnswer with the {kind} only."
        return attrs.evolve(query, question=Question(text, "choice", labels))


def answered_by(model: DecisionModel, queries: Sequence[Query], rewrite: Any, give_back: Any) -> list[Decision]:
    """Ask rewritten choices, and give their decisions back on the original questions.

    Args:
        rewrite: ``query -> query``, for choices among at least two different options; other questions pass through.
        give_back: ``(original question, decision) -> decision``, for those that were rewritten.
    """
    results: list[Decision | None] = [certain_decision(query.question) for query in queries]
    asked = [i for i, decision in enumerate(results) if decision is None]
    sent = [rewrite(queries[i]) if queries[i].question.kind == "choice" else queries[i] for i in asked]
    for i, decision in zip(asked, model(sent) if sent else (), strict=True):
        question = queries[i].question
        results[i] = give_back(question, decision) if question.kind == "choice" else decision
    return [decision for decision in results if decision is not None]


def _given_back(question: Question, decision: Decision) -> Decision:
    if decision.unscored is not None:
        return Decision(question, usage=decision.usage, unscored=decision.unscored)
    distinct = list(dict.fromkeys(question.options))
    shares = [decision.probabilities[distinct.index(o)] / question.options.count(o) for o in question.options]
    return Decision(question, shares, decision.label_mass, decision.usage)


def labelled(decide: Callable[[Sequence[Query]], list[Decision]], labels: Labels) -> Any:
    """The decision model, asked for these labels.

    Raises:
        ValueError: unknown labels.
    """
    kinds: dict[str, Any] = {"words": lambda model: model, "listed": Listed, "letters": Lettered}
    if labels not in kinds:
        raise ValueError(f"labels must be 'words', 'listed' or 'letters', got {labels!r}")
    return kinds[labels](decide)


def as_asked(query: Query, labels: Labels) -> Query | None:
    """The query in the form in which the labelled model gets it; None when its answer is certain without asking.

    >>> as_asked(Query("", Question("Where?", "choice", ("left", "right"))), "letters").question.options
    ('A', 'B')
    """
    asked: list[Query] = []

    def listen(queries: Sequence[Query]) -> list[Decision]:
        asked.extend(queries)
        return [Decision(q.question, unscored="only listening") for q in queries]

    labelled(listen, labels)([query])
    return asked[0] if asked else None
