"""Judges and models that misbehave, by name: what real ones did, and code around them has to survive."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs

from agentkit.decisions import Decision, Query, Question
from agentkit.trajectory import Trajectory


@attrs.frozen
class BadJudge:
    """A judge that misbehaves. Picklable."""

    name: str
    answer: Callable[[Trajectory], Any]
    error: type[Exception] | None
    """What a caller must raise for it; None = the steps must end up unscored."""

    def __call__(self, trajectory: Trajectory) -> Any:
        return self.answer(trajectory)


@attrs.frozen
class BadModel:
    """A decision model that misbehaves: whatever uses it must end up without a score, never with 0. Picklable."""

    name: str
    answer: Callable[[Sequence[Query]], Any]

    def __call__(self, queries: Sequence[Query]) -> Any:
        return self.answer(queries)


def _time_out(asked: Any) -> Any:
    raise TimeoutError("the judge did not answer in time")


def _abstain(trajectory: Trajectory) -> list[None]:
    return [None] * len(trajectory)


def _nan(trajectory: Trajectory) -> list[float]:
    return [math.nan] * len(trajectory)


def _infinite(trajectory: Trajectory) -> list[float]:
    return [math.inf] * len(trajectory)


def _percent(trajectory: Trajectory) -> list[float]:
    return [85.0] * len(trajectory)


def _negative(trajectory: Trajectory) -> list[float]:
    return [-0.01] * len(trajectory)


def _words(trajectory: Trajectory) -> list[str]:
    return ["very helpful"] * len(trajectory)


def _one_short(trajectory: Trajectory) -> list[float]:
    return [0.5] * (len(trajectory) - 1)


def _one_over(trajectory: Trajectory) -> list[float]:
    return [0.5] * (len(trajectory) + 1)


def _one_number(trajectory: Trajectory) -> float:
    return 0.5


def _nothing(asked: Any) -> None:
    return None


def _refuse(queries: Sequence[Query]) -> list[Decision]:
    return [Decision(query.question, unscored="refusal") for query in queries]


def _drop_last(queries: Sequence[Query]) -> list[Decision]:
    return [Decision(query.question, _even(query.question)) for query in queries[:-1]]


def _repeat_last(queries: Sequence[Query]) -> list[Decision]:
    return [Decision(query.question, _even(query.question)) for query in [*queries, queries[-1]]]


def _prose(queries: Sequence[Query]) -> list[str]:
    return ["As a language model, I think that it helped."] * len(queries)


def _other_question(queries: Sequence[Query]) -> list[Decision]:
    other = Question("Which fruit?", "choice", ("apple", "pear", "plum", "fig", "date"))
    return [Decision(other, _even(other)) for _ in queries]


def _even(question: Question) -> tuple[float, ...]:
    return (1 / len(question.options),) * len(question.options)


BAD_JUDGES: Mapping[str, BadJudge] = MappingProxyType(
    {
        judge.name: judge
        for judge in (
            BadJudge("times out", _time_out, None),
            BadJudge("abstains", _abstain, None),
            BadJudge("nan", _nan, ValueError),
            BadJudge("infinite", _infinite, ValueError),
            BadJudge("percent", _percent, ValueError),
            BadJudge("negative", _negative, ValueError),
            BadJudge("words", _words, TypeError),
            BadJudge("one short", _one_short, ValueError),
            BadJudge("one over", _one_over, ValueError),
            BadJudge("one number", _one_number, TypeError),
            BadJudge("nothing", _nothing, TypeError),
        )
    }
)
"""Name -> a judge whose answers no wrapper may take for scores."""

BAD_MODELS: Mapping[str, BadModel] = MappingProxyType(
    {
        model.name: model
        for model in (
            BadModel("times out", _time_out),
            BadModel("refuses", _refuse),
            BadModel("one short", _drop_last),
            BadModel("one over", _repeat_last),
            BadModel("prose", _prose),
            BadModel("other question", _other_question),
            BadModel("nothing", _nothing),
        )
    }
)
"""Name -> a decision model that gives no usable answer."""
