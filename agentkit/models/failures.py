"""What went wrong with a service, in words that are safe to log: no key, no request, no page."""

import json
import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import attrs

PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
"""HTTP statuses after which the same request may succeed."""
REJECTIONS = frozenset({400, 413, 422})
"""HTTP statuses that say that something in the request is not acceptable; perhaps one question of many."""
CREDENTIALS = frozenset({401, 403})
LONGEST_QUOTE = 200
_KEY_LIKE = re.compile(r"(?i)(bearer\s+\S+|\b(?:sk|pk|key|tsk)[-_][\w-]{6,})")


class ServiceError(Exception):
    """A request that brought no answer.

    Args:
        reason: what happened, safe to show.
        passing: whether the same request may succeed later.
        rejected: whether the service found fault with what was asked.
        retry_after: seconds that the service asks to wait, if it says so.
    """

    def __init__(self, reason: str, *, passing: bool = False, rejected: bool = False, retry_after: float | None = None):
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.rejected = rejected
        self.retry_after = retry_after


@attrs.frozen
class ErrorReader:
    """Turns the exceptions of a client library into `ServiceError`.

    Args:
        timeout: the library's exception for a request that took too long.
        connection: its exception for a connection that failed.
        api: the base class of everything it raises about a request.
        secrets: texts that no reason may hold.
    """

    timeout: type[Exception]
    connection: type[Exception]
    api: type[Exception]
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)

    def guard(self, request: Callable[[], Any]) -> Any:
        """The result of ``request()``.

        Raises:
            ServiceError: the library raised one of its exceptions, or could not read the answer.
        """
        try:
            return request()
        # Without "from": a library's exception may hold the request and its headers.
        except self.timeout:
            raise ServiceError("the request timed out", passing=True) from None
        except self.api as error:
            raise self._failure(error) from None
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise ServiceError("the answer is not JSON", passing=True) from None

    def _failure(self, error: Exception) -> ServiceError:
        status = getattr(error, "status_code", None) or getattr(error, "status", None)
        if isinstance(error, self.connection) or not isinstance(status, int):
            if isinstance(error, self.connection):
                return ServiceError("the connection failed", passing=True)
            return ServiceError(f"the request failed: {redact(str(error), self.secrets)}")
        if status < HTTPStatus.BAD_REQUEST:
            return ServiceError("the answer has not the promised form", passing=True)
        if status in CREDENTIALS:
            return ServiceError(f"the service refused the credentials ({_named(status)})")
        words = "" if status in PASSING else redact(_message(getattr(error, "body", None)), self.secrets)
        response = getattr(error, "response", None)
        headers = getattr(error, "headers", None) if response is None else response.headers
        return ServiceError(
            f"the service answered {_named(status)}" + (f": {words}" if words else ""),
            passing=status in PASSING,
            rejected=status in REJECTIONS,
            retry_after=retry_after(headers or {}),
        )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that ``Retry-After`` (a number or an HTTP date) or ``retry-after-ms`` asks for; None without either."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        raw = headers.get(name)
        if raw is None:
            continue
        try:
            seconds = float(raw) * unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(raw).timestamp() - time.time()
            except (ValueError, TypeError, OverflowError):
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


@attrs.frozen
class _Concealer(logging.Filter):
    """Takes secrets out of log records."""

    secrets: tuple[str, ...] = attrs.field(repr=False)

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if any(secret in message for secret in self.secrets):
            for secret in self.secrets:
                message = message.replace(secret, "[redacted]")
            record.msg, record.args = message, ()
        return True


def conceal(logger_name: str, secrets: tuple[str, ...]) -> None:
    """Keep secrets out of a library's log.

    The libraries hide the headers that they send; but a server may repeat a key in its answer, whose text some of them
    log when debugging.
    """
    if secrets:
        logging.getLogger(logger_name).addFilter(_Concealer(secrets))  # an equal filter is added only once


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """The text, shortened, without the secrets and without anything that looks like a key.

    >>> redact("Incorrect API key provided: sk-abcdef123", ())
    'Incorrect API key provided: [redacted]'
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[redacted]")
    text = _KEY_LIKE.sub("[redacted]", text)
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"


def _named(status: int) -> str:
    phrase = next((s.phrase for s in HTTPStatus if s.value == status), "")
    return f"HTTP {status} {phrase}".strip()


def _message(body: Any) -> str:
    """The words of an error body: ``error.message``, ``message`` or ``detail``, whichever a service uses."""
    if isinstance(body, str):
        return body
    if isinstance(body, Mapping):
        for name in ("error", "message", "detail"):
            if body.get(name):
                return _message(body[name])
    if isinstance(body, list):
        return "; ".join(str(part.get("msg", "")) for part in body if isinstance(part, Mapping))
    return ""
