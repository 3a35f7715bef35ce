"""`OpenAIDecisions`: the ``openai`` library's ``client.decisions``."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models.answers import OptionNames, ask_in_groups, option_names, sound_decision
from agentkit.models.failures import ServiceError
from agentkit.models.limits import Limits, RequestRunner
from agentkit.models.openai_client import open_client
from agentkit.models.sending import Travel

QUESTIONS_PER_REQUEST = 400
"""The most questions that one request may hold."""
MOST_CHOICES = 255


class OpenAIDecisions:
    """``decide(queries) -> decisions`` from OpenAI's Decisions endpoint, or a server that speaks it.

    Questions about one context go in one request. What the service refuses, leaves out or answers badly is unscored
    with the reason; the other answers are kept. A choice among more than 255 options is unscored, since the service
    takes no more.

    Args:
        model: the service's name of the model.
        client: an ``openai.OpenAI``; None = one from the next two arguments.
        base_url: the server; None = OpenAI's own.
        api_key: None = ``$OPENAI_API_KEY``.
        limits: requests at a time and a minute, retries, time-outs; None = `Limits()`.
        questions_per_request: at most 400.

    Raises:
        ImportError: openai or tenacity is missing; the message holds the pip line.
    """

    def __init__(
        self,
        model: str,
        client: Any = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        limits: Limits | None = None,
        questions_per_request: int = QUESTIONS_PER_REQUEST,
    ):
        if not 1 <= questions_per_request <= QUESTIONS_PER_REQUEST:
            raise ValueError(
                f"questions_per_request must be in [1, {QUESTIONS_PER_REQUEST}], got {questions_per_request!r}"
            )
        self.model = model
        self.questions_per_request = questions_per_request
        self._run = RequestRunner(limits or Limits())
        self._client, self._errors = open_client(client, base_url, api_key, self._run.limits)
        arguments = {
            "model": model,
            "base_url": base_url,
            "limits": limits,
            "questions_per_request": questions_per_request,
        }
        self._travel = Travel(arguments, client is not None or api_key is not None, "OPENAI_API_KEY")
        self.identity = f"openai-decisions {self._client.base_url} {model}"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._travel.reduce(type(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> "OpenAIDecisions":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order."""
        return ask_in_groups(queries, self.questions_per_request, self._ask, self._run)

    def _ask(self, queries: Sequence[Query]) -> list[Decision]:
        names = [option_names(query.question.options) for query in queries]
        fitting = [
            i for i, n in enumerate(names) if queries[i].question.kind != "choice" or len(n.names) <= MOST_CHOICES
        ]
        body = self._send(queries[0], {f"q{i}": request_question(queries[i].question, names[i]) for i in fitting})
        answers = _by_name(body.get("answers"), fitting)
        usage = _usage(body.get("usage")) if body else Usage()
        decisions = []
        for i, query in enumerate(queries):
            # The context is sent once, so the request's whole cost stands with its first question.
            cost = usage if i == 0 else Usage()
            if i in fitting:
                decisions.append(read_answer(query.question, names[i], answers.get(i), cost))
            else:
                reason = f"{len(names[i].names)} options, but the service takes at most {MOST_CHOICES}"
                decisions.append(Decision(query.question, unscored=reason, usage=cost))
        return decisions

    def _send(self, query: Query, questions: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        if not questions:
            return {}
        context = query.context or "(nothing)"
        messages = [{"role": "system", "content": query.system}, {"role": "user", "content": context}]
        named = [{"name": name, **question} for name, question in questions.items()]
        answer = self._errors.guard(
            lambda: self._client.decisions.create(
                model=self.model, input=messages if query.system else context, questions=named
            )
        )
        # The library builds its answer objects without checking them.
        body = answer.to_dict(warnings=False) if hasattr(answer, "to_dict") else None
        if not isinstance(body, dict) or not isinstance(body.get("answers"), list):
            raise ServiceError("the answer has not the promised form", passing=True)
        return body


def request_question(question: Question, names: OptionNames) -> dict[str, Any]:
    """A question as the service takes it."""
    if question.kind == "choice":
        return {"type": "choice", "instructions": question.text, "choices": [{"value": n} for n in names.names]}
    if question.kind == "score":
        return {"type": "score", "instructions": question.text, "levels": [{"label": o} for o in question.options]}
    words = question.options
    meaning = "" if words == ("yes", "no") else f"\n(True means: {words[0]}. False means: {words[1]}.)"
    return {"type": "predicate", "instructions": question.text + meaning}


def read_answer(question: Question, names: OptionNames, answer: Any, usage: Usage) -> Decision:
    """The decision that an answer of the service gives, unscored when it is none."""
    if not isinstance(answer, Mapping):
        return Decision(question, unscored="the service left the question out", usage=usage)
    if answer.get("type") == "refusal":
        return Decision(question, unscored="the model refused to answer", usage=usage)
    if answer.get("type") != question.kind:
        return Decision(question, unscored=f"a {question.kind} was answered by a {answer.get('type')!r}", usage=usage)
    if question.kind == "predicate":
        yes = answer.get("probability")
        no = 1 - yes if isinstance(yes, (int, float)) else None
        return sound_decision(question, (yes, no), usage)
    rows = answer.get("probabilities")
    rows = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    if question.kind == "score":
        levels = sorted((row for row in rows if isinstance(row.get("value"), int)), key=lambda row: row["value"])
        return sound_decision(question, [row.get("probability") for row in levels], usage)
    by_name = {row.get("value"): row.get("probability") for row in rows}
    found = [by_name.get(name) for name in names.names]
    if not all(isinstance(p, (int, float)) for p in found):
        return sound_decision(question, [None] * len(question.options), usage)
    return sound_decision(question, names.spread([float(p) for p in found if p is not None]), usage)


def _by_name(answers: Any, asked: Sequence[int]) -> dict[int, Any]:
    """Answers by the index of their question: by name where they are named, else by place if none is missing."""
    rows = [answer for answer in answers or () if isinstance(answer, Mapping)]
    if any(row.get("name") is not None for row in rows):
        by_name = {row.get("name"): row for row in rows}
        return {i: by_name.get(f"q{i}") for i in asked}
    return dict(zip(asked, rows, strict=True)) if len(rows) == len(asked) else {}


def _usage(usage: Any) -> Usage:
    counts = usage if isinstance(usage, Mapping) else {}
    tokens = [counts.get(name) for name in ("input_tokens", "output_tokens")]
    return Usage(*(count if isinstance(count, int) else 0 for count in tokens), requests=1)
