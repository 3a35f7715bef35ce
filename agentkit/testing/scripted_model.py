"""`ScriptedModel`: a decision model that answers what it was told to answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from agentkit.decisions import Decision, Query, Question

Answer: TypeAlias = str | float | Sequence[float] | Decision | Exception | None
Script: TypeAlias = Callable[[Query], Answer] | Mapping[str, Answer] | Sequence[Answer] | None


class ScriptedModel:
    """``model(queries) -> decisions``, scripted by a function, a mapping or a list.

    An *answer* is one of: an option (probability 1); a number in [0, 1], the `value` that the decision on a question
    with two options is to have (P(yes), for a predicate); one probability for each option; a `Decision`; None
    (unscored); an exception, which is raised.

    Args:
        script: ``function(query) -> answer``; a mapping from a part of the query's context or question to the answer
            (the first key that occurs wins; the key ``""`` occurs in every query); a list of answers, given one a
            query, in order; None = every option equally likely.

    Attributes:
        queries: every query asked so far, in order.
        calls: the number of queries of each call so far.

    Raises:
        LookupError: (from a call) the list is used up, or no key occurs in the query.
        ValueError: (from a call) an answer that does not fit its question.

    >>> model = ScriptedModel({"take key": "yes", "look": 0.25})
    >>> [d.value for d in model([Query("", Question("Did 'take key' help?")), Query("", Question("Did 'look' help?"))])]
    [1.0, 0.25]
    """

    def __init__(self, script: Script = None):
        self.script = script
        self.queries: list[Query] = []
        self.calls: list[int] = []

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order."""
        self.calls.append(len(queries))
        return [self._decide(query) for query in queries]

    def _decide(self, query: Query) -> Decision:
        answer = self._answer(query)
        self.queries.append(query)
        return as_decision(answer, query.question)

    def _answer(self, query: Query) -> Answer:
        script = self.script
        if script is None:
            return (1 / len(query.question.options),) * len(query.question.options)
        if isinstance(script, Mapping):
            text = f"{query.context}\n{query.question.text}"
            found = next((key for key in script if key in text), None)
            if found is None:
                raise LookupError(f"no key of the script {list(script)} occurs in the query {text!r}")
            return script[found]
        if not isinstance(script, Sequence):
            return script(query)
        if len(self.queries) >= len(script):
            raise LookupError(f"the script has {len(script)} answers, but one more was asked: {query.question.text!r}")
        return script[len(self.queries)]


def as_decision(answer: Answer, question: Question) -> Decision:
    """An answer in any of the forms of `ScriptedModel` as a decision on ``question``.

    Raises:
        ValueError: it does not fit the question.
    """
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, Decision):
        return answer
    if answer is None:
        return Decision(question, unscored="the script gives no answer")
    if isinstance(answer, str):
        if answer not in question.options:
            raise ValueError(f"the script answers {answer!r}, but the options are {question.options}")
        return Decision(question, tuple(float(option == answer) for option in question.options))
    if isinstance(answer, (int, float)):
        if len(question.options) != 2:
            raise ValueError(f"the script answers {answer!r}, a number, but there are {len(question.options)} options")
        first = 1.0 - float(answer) if question.kind == "score" else float(answer)
        return Decision(question, (first, 1.0 - first))
    return Decision(question, tuple(map(float, answer)))
