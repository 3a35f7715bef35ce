"""One thread in which a judge answers while the environment goes on."""

import concurrent.futures
import math
from collections.abc import Callable
from typing import Any


class Background:
    """Asks one question after the other in a single thread, so that a judge is never called twice at once.

    Pickles without what is being asked.

    Args:
        timeout: how many seconds `ask` waits for an answer; 0 = not at all.

    Raises:
        ValueError: ``timeout`` is negative or not finite.
    """

    def __init__(self, timeout: float):
        if not math.isfinite(timeout) or timeout < 0:
            raise ValueError(f"timeout must be a finite number of seconds of at least 0, or None, got {timeout!r}")
        self.timeout = timeout
        self._executor: concurrent.futures.ThreadPoolExecutor | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_executor": None}

    def ask(self, function: Callable[..., Any], *arguments: Any) -> "concurrent.futures.Future[Any]":
        """Queue a call, wait for it as long as ``timeout`` says, and return its future, done or not."""
        answer = self.submit(function, *arguments)
        concurrent.futures.wait([answer], self.timeout)
        return answer

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "concurrent.futures.Future[Any]":
        """Queue a call."""
        if self._executor is None:
            self._executor = concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="judge")
        return self._executor.submit(function, *arguments)

    def close(self) -> None:
        """Drop what is queued; a call that is running is left to end by itself, for which Python waits as it exits."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
