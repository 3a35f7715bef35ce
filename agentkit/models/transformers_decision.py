"""`TransformersDecision`: ``transformers.pipeline("decision")`` as a decision model."""

from collections.abc import Callable, Sequence
from typing import Any

from agentkit.decisions import Decision, Query, Usage
from agentkit.extras import require
from agentkit.models.answers import ask_in_groups
from agentkit.models.failures import ServiceError
from agentkit.models.typed_questions import state, typed_decisions, typed_questions


class TransformersDecision:
    """``decide(queries) -> decisions`` from a decision pipeline, which reads one prompt at a time.

    Args:
        pipeline: a decision pipeline, or the model (a folder, a hub name or an object) to build one from.
        **kwargs: passed to ``transformers.pipeline`` when it is built here, such as ``tokenizer``.

    Raises:
        ImportError: transformers is missing or has no decision pipeline; the message says what to install.
    """

    def __init__(self, pipeline: Any, **kwargs: Any):
        pipelines = require("transformers.pipelines", "models")
        kind = getattr(pipelines, "DecisionPipeline", None)
        if kind is None:
            raise ImportError('this transformers has no decision pipeline; run: pip install "transformers>=5.24"')
        self.pipeline = pipeline if isinstance(pipeline, kind) else pipelines.pipeline("decision", pipeline, **kwargs)
        self.identity = f"transformers-decision {self.pipeline.model.name_or_path}"

    def __deepcopy__(self, memo: dict[int, Any]) -> "TransformersDecision":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order; what the pipeline does not take is unscored with its reason."""
        return ask_in_groups(queries, max(1, len(queries)), self._ask, _one_by_one)

    def _ask(self, queries: Sequence[Query]) -> list[Decision]:
        request = {"state": state(queries[0]) or "(nothing)", "questions": typed_questions(queries)}
        try:
            answers = self.pipeline(request)
        except ValueError as error:  # what the pipeline raises for questions it does not take
            raise ServiceError(f"the pipeline rejects the question: {error}", rejected=True) from error
        return typed_decisions(queries, answers, Usage(requests=1))


def _one_by_one(requests: Sequence[Callable[[], Sequence[Decision]]]) -> list[Sequence[Decision] | ServiceError]:
    results: list[Sequence[Decision] | ServiceError] = []
    for request in requests:
        try:
            results.append(request())
        except ServiceError as failure:
            results.append(failure)
    return results
