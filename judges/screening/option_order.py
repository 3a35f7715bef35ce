"""`OptionsReversed`: the same questions with their options in the other order, to see whether answers depend on it."""

import re
from collections.abc import Sequence
from typing import Any

import attrs

from agentkit.decisions import Decision, DecisionModel, Query


@attrs.frozen
class OptionsReversed:
    """Asks a model with the options of each predicate or choice reversed, and gives its answers in the original order.

    Where the question's or the system's words name the two options of a predicate, as in "Answer yes or no", they are
    swapped there, too *(reading)*: a local readout sees the order nowhere else. Scores, whose levels are ordered, pass
    through unchanged.

    Args:
        model: any decision model.
    """

    model: DecisionModel

    @property
    def identity(self) -> str | None:
        """The identity of the model that is asked."""
        return getattr(self.model, "identity", None)

    def __deepcopy__(self, memo: dict[int, Any]) -> "OptionsReversed":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order, on the query's own options."""
        answers = self.model([_reversed(query) for query in queries])
        return [
            answer if query.question.kind == "score" else _restored(query, answer)
            for query, answer in zip(queries, answers, strict=True)
        ]


def _reversed(query: Query) -> Query:
    question = query.question
    if question.kind == "score":
        return query
    turned = attrs.evolve(question, options=question.options[::-1])
    if question.kind == "predicate":
        turned = attrs.evolve(turned, text=swap_words(question.text, *question.options))
        query = attrs.evolve(query, system=swap_words(query.system, *question.options))
    return attrs.evolve(query, question=turned)


def _restored(query: Query, answer: Decision) -> Decision:
    return attrs.evolve(answer, question=query.question, probabilities=answer.probabilities[::-1])


def swap_words(text: str, first: str, second: str) -> str:
    """The text with "first or second" turned into "second or first".

    >>> swap_words("Answer with one word, yes or no.", "yes", "no")
    'Answer with one word, no or yes.'
    """
    pattern = rf"\b({re.escape(first)})(,? or |/)({re.escape(second)})\b"
    return re.sub(pattern, r"\3\2\1", text, flags=re.IGNORECASE)
