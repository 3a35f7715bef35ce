"""How hard a service is driven: requests at a time, requests a minute, retries, time-outs."""

import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import attrs

from agentkit.extras import require
from agentkit.models.failures import ServiceError

T = TypeVar("T")

_positive = attrs.validators.gt(0.0)


@attrs.frozen
class Limits:
    """Times are in seconds."""

    concurrency: int = attrs.field(default=8, validator=attrs.validators.ge(1))
    """Requests under way at one time."""
    requests_per_minute: float | None = attrs.field(default=None, validator=attrs.validators.optional(_positive))
    """Requests begun a minute, evenly spaced; None = as fast as the answers come."""
    attempts: int = attrs.field(default=4, validator=attrs.validators.ge(1))
    """How often a request is sent before it counts as failed."""
    timeout: float = attrs.field(default=30.0, validator=_positive)
    """For one complete answer, however slowly its bytes trickle in."""
    first_wait: float = attrs.field(default=0.5, validator=attrs.validators.ge(0.0))
    """Before the first retry; doubled each time, and shortened by up to half at random."""
    longest_wait: float = attrs.field(default=60.0, validator=attrs.validators.ge(0.0))
    """A service that asks to wait longer (Retry-After) is not asked again."""
    deadline: float = attrs.field(default=600.0, validator=_positive)
    """For a whole batch; what is not answered by then is unscored."""


class RequestRunner:
    """Runs a batch of requests within `Limits`; what fails comes back as a `ServiceError` in its place.

    A service that answers 429 with Retry-After is left alone by all requests for that long.

    Raises:
        ImportError: tenacity is missing; the message holds the pip line.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self._tenacity = require("tenacity", "api")
        self._lock = threading.Lock()
        self._next_start = 0.0

    def __call__(self, requests: Sequence[Callable[[], T]]) -> list[T | ServiceError]:
        """One result or failure for each request, in order."""
        if not requests:
            return []
        ends = time.monotonic() + self.limits.deadline
        with ThreadPoolExecutor(min(self.limits.concurrency, len(requests))) as pool:
            futures = [pool.submit(self._persist, request, ends) for request in requests]
            return [future.result() for future in futures]

    def _persist(self, request: Callable[[], T], ends: float) -> T | ServiceError:
        limits, tenacity = self.limits, self._tenacity

        def too_long(state: Any) -> bool:
            return state.upcoming_sleep > min(limits.longest_wait, ends - time.monotonic())

        retrying = tenacity.Retrying(
            stop=tenacity.stop_any(tenacity.stop_after_attempt(limits.attempts), too_long),
            wait=self._wait,
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, ServiceError) and error.passing),
            reraise=True,
        )
        try:
            return retrying(self._attempt, request, ends)
        except ServiceError as failure:
            return failure

    def _attempt(self, request: Callable[[], T], ends: float) -> T:
        start = self._claim_start(ends)
        if start is None:
            raise ServiceError(f"the batch was not finished within {self.limits.deadline:g} s")
        time.sleep(max(0.0, start - time.monotonic()))
        try:
            return within(request, min(self.limits.timeout, ends - start))
        except ServiceError as failure:
            if failure.retry_after is not None and failure.retry_after <= self.limits.longest_wait:
                with self._lock:
                    self._next_start = max(self._next_start, time.monotonic() + failure.retry_after)
            raise

    def _wait(self, state: Any) -> float:
        failure = state.outcome.exception()
        if failure.retry_after is not None:
            return failure.retry_after
        longest = min(self.limits.longest_wait, self.limits.first_wait * 2.0 ** (state.attempt_number - 1))
        return longest * random.uniform(0.5, 1.0)  # so that requests that failed together do not return together

    def _claim_start(self, ends: float) -> float | None:
        """When (on the monotonic clock) this request may begin; None, and nothing claimed, if that is too late."""
        per_minute = self.limits.requests_per_minute
        with self._lock:
            start = max(time.monotonic(), self._next_start)
            if start >= ends:
                return None
            self._next_start = start + (60.0 / per_minute if per_minute else 0.0)
        return start


def within(request: Callable[[], T], seconds: float) -> T:
    """The result of ``request()``, which is abandoned (in a daemon thread) if it takes longer.

    A client's own time-out is for each read, so a server that sends a byte now and then is never timed out by it.

    Raises:
        ServiceError: it took longer.
    """
    answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put((request(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        answer, error = answers.get(timeout=max(0.0, seconds))
    except queue.Empty:
        raise ServiceError(f"no complete answer within {seconds:.3g} s", passing=True) from None
    if error is not None:
        raise error
    return answer
