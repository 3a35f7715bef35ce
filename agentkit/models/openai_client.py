"""The ``openai`` client that the backends share: no retries of its own, and errors that are safe to show."""

import os
from typing import Any

from agentkit.extras import require
from agentkit.models.failures import ErrorReader, conceal
from agentkit.models.limits import Limits


def open_client(client: Any, base_url: str | None, api_key: str | None, limits: Limits) -> tuple[Any, ErrorReader]:
    """A client whose retries are left to `RequestRunner`, and the reader of its errors.

    Args:
        client: an ``openai.OpenAI``; None = one for the other arguments.
        base_url: any OpenAI-compatible server; None = OpenAI's own, or ``$OPENAI_BASE_URL``.
        api_key: None = ``$OPENAI_API_KEY``; a server given by ``base_url`` may do without.
        limits: whose time-out each request has.

    Raises:
        ImportError: openai is missing; the message holds the pip line.
        ValueError: there is no key for OpenAI's own service.
    """
    openai = require("openai", "api")
    if client is None:
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if base_url else "")
        if not key:
            raise ValueError("no API key: set OPENAI_API_KEY, or give api_key= or the base_url= of a server without")
        client = openai.OpenAI(base_url=base_url, api_key=key)
    secrets = (str(client.api_key),) if client.api_key not in (None, "", "none") else ()
    conceal("openai", secrets)
    reader = ErrorReader(openai.APITimeoutError, openai.APIConnectionError, openai.OpenAIError, secrets)
    return client.with_options(max_retries=0, timeout=limits.timeout), reader
