"""`SystemOne`: TypeSafe's System One service, or any server that speaks its protocol."""

import os
from collections.abc import Sequence
from typing import Any

from agentkit.decisions import Decision, Query, Usage
from agentkit.extras import require
from agentkit.models.answers import ask_in_groups
from agentkit.models.failures import ErrorReader, ServiceError, conceal
from agentkit.models.limits import Limits, RequestRunner
from agentkit.models.sending import Travel
from agentkit.models.typed_questions import state, typed_decisions, typed_questions

NO_KEY = "none"
"""Sent to servers that need no key, since the client insists on one."""


class SystemOne:
    """``decide(queries) -> decisions`` through ``typesafe_sdk.TypeSafeClient``.

    ``transformers serve MODEL`` speaks the protocol too, at most 26 options to a question. Questions about one context
    go in one request. What is left out or answered badly is unscored with the reason; the other answers are kept.

    Args:
        model: the server's name of the model; None = the client's own.
        client: a ``TypeSafeClient``; None = one from the next two arguments.
        base_url: the server; None = TypeSafe's own, or ``$TYPESAFE_BASE_URL``.
        api_key: None = ``$TYPESAFE_API_KEY``; a server given by ``base_url`` may do without.
        limits: requests at a time and a minute, retries, time-outs; None = `Limits()`.
        questions_per_request: ``transformers serve`` takes at most 64.

    Raises:
        ImportError: typesafe-sdk or tenacity is missing; the message holds the pip line.
        ValueError: there is no key for TypeSafe's own service.
    """

    def __init__(
        self,
        model: str | None = None,
        client: Any = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        limits: Limits | None = None,
        questions_per_request: int = 64,
    ):
        if questions_per_request < 1:
            raise ValueError(f"questions_per_request must be at least 1, got {questions_per_request!r}")
        sdk = require("typesafe_sdk", "api")
        self.model = model
        self.questions_per_request = questions_per_request
        self._run = RequestRunner(limits or Limits())
        self._client = client if client is not None else _open_client(sdk, base_url, api_key)
        config = getattr(self._client, "_config", None)  # for the key that no error text may hold
        keys = (api_key, getattr(config, "api_key", None))
        secrets = tuple(key for key in keys if key and key != NO_KEY)
        conceal("typesafe_sdk", secrets)
        self._errors = ErrorReader(
            sdk.TypeSafeAPITimeoutError, sdk.TypeSafeAPIConnectionError, sdk.TypeSafeError, secrets
        )
        # The client's own retries know nothing of other requests' Retry-After.
        self._no_retries = sdk.RetryPolicy(max_retries=0)
        # Its own answer type rejects the whole response for one bad number.
        self._answer_type = require("pydantic", "api").create_model("Answers", answers=(Any, None), usage=(Any, None))
        arguments = {
            "model": model,
            "base_url": base_url,
            "limits": limits,
            "questions_per_request": questions_per_request,
        }
        self._travel = Travel(arguments, client is not None or api_key is not None, "TYPESAFE_API_KEY")
        self.identity = f"system-one {getattr(config, 'base_url', base_url)} {model}"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._travel.reduce(type(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> "SystemOne":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order."""
        return ask_in_groups(queries, self.questions_per_request, self._ask, self._run)

    def _ask(self, queries: Sequence[Query]) -> list[Decision]:
        answer = self._errors.guard(
            lambda: self._client.system_one(
                state(queries[0]) or "(nothing)",
                typed_questions(queries),
                model=self.model,
                retry=self._no_retries,
                timeout=self._run.limits.timeout,
                response_model=self._answer_type,
            )
        )
        if not isinstance(answer.answers, dict):
            raise ServiceError("the answer has not the promised form", passing=True)
        counts = answer.usage if isinstance(answer.usage, dict) else {}
        tokens = [counts.get(name) for name in ("input_tokens", "output_tokens")]
        usage = Usage(*(count if isinstance(count, int) else 0 for count in tokens), requests=1)
        return typed_decisions(queries, answer.answers, usage)


def _open_client(sdk: Any, base_url: str | None, api_key: str | None) -> Any:
    key = api_key or os.environ.get("TYPESAFE_API_KEY") or (NO_KEY if base_url else "")
    if not key:
        raise ValueError("no API key: set TYPESAFE_API_KEY, or give api_key= or the base_url= of a server without")
    return sdk.TypeSafeClient(base_url=base_url, api_key=key)
