"""Concurrency, pace, retries and deadlines of requests."""

import itertools
import threading
import time
from typing import Any

import pytest

from agentkit.models.failures import ServiceError
from agentkit.models.limits import Limits, RequestRunner, within

pytest.importorskip("tenacity")


class Scripted:
    """A request that fails as told, then answers."""

    def __init__(self, *outcomes: Any):
        self.outcomes = list(outcomes)
        self.calls = 0

    def __call__(self) -> Any:
        self.calls += 1
        outcome = self.outcomes[min(self.calls, len(self.outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def passing(retry_after: float | None = None) -> ServiceError:
    return ServiceError("busy", passing=True, retry_after=retry_after)


def test_results_stand_in_the_order_of_the_requests() -> None:
    def request(i: int) -> Any:
        def run() -> int:
            time.sleep(0.02 * (5 - i))
            return i

        return run

    assert RequestRunner(Limits(concurrency=5))([request(i) for i in range(5)]) == list(range(5))
    assert RequestRunner(Limits())([]) == []


def test_no_more_requests_run_at_a_time_than_allowed() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def request() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1

    RequestRunner(Limits(concurrency=3))([request] * 12)
    assert most == 3


def test_requests_begin_at_the_pace_that_is_set_and_across_calls() -> None:
    runner = RequestRunner(Limits(concurrency=8, requests_per_minute=1200))
    starts: list[float] = []
    for _ in range(2):
        runner([lambda: starts.append(time.monotonic())] * 4)
    assert len(starts) == 8
    assert max(starts) - min(starts) >= 7 * 0.05 - 0.02


def test_requests_that_came_too_late_do_not_delay_the_next_batch() -> None:
    runner = RequestRunner(Limits(requests_per_minute=300, deadline=0.3))
    results = runner([Scripted("ok") for _ in range(50)])
    assert results[:2] == ["ok", "ok"]
    assert {str(result) for result in results[2:]} == {"the batch was not finished within 0.3 s"}
    begun = time.monotonic()
    assert runner([Scripted("ok")]) == ["ok"]
    assert time.monotonic() - begun < 2  # 50 claimed places would take 10 s


def test_attempts_are_bounded_and_only_what_passes_is_retried() -> None:
    run = RequestRunner(Limits(attempts=3, first_wait=0.001))
    never, later, final = Scripted(passing()), Scripted(passing(), passing(), "ok"), Scripted(ServiceError("no"))
    results = run([never, later, final])
    assert [str(results[0]), results[1], str(results[2])] == ["busy", "ok", "no"]
    assert (never.calls, later.calls, final.calls) == (3, 3, 1)


def test_waits_double_up_to_the_longest() -> None:
    moments: list[float] = []

    def request() -> None:
        moments.append(time.monotonic())
        raise passing()

    RequestRunner(Limits(attempts=4, first_wait=0.08, longest_wait=0.16))([request])
    waits = [b - a for a, b in itertools.pairwise(moments)]
    # Each is shortened by up to half, so only these bounds hold for sure.
    assert waits[0] >= 0.04
    assert waits[1] >= 0.08
    assert waits[2] >= 0.08


def test_every_request_waits_when_the_service_says_so() -> None:
    runner = RequestRunner(Limits(attempts=1))
    runner([Scripted(passing(retry_after=0.4))])
    begun = time.monotonic()
    assert runner([Scripted("ok")]) == ["ok"]
    assert time.monotonic() - begun >= 0.35


def test_an_error_of_ones_own_is_raised_and_not_swallowed() -> None:
    with pytest.raises(KeyError, match="mistake"):
        RequestRunner(Limits())([Scripted(KeyError("mistake"))])


def test_a_request_that_takes_too_long_is_abandoned() -> None:
    release = threading.Event()
    begun = time.monotonic()
    with pytest.raises(ServiceError, match=r"no complete answer within 0.05 s") as caught:
        within(lambda: release.wait(20), 0.05)
    release.set()
    assert time.monotonic() - begun < 5
    assert caught.value.passing


@pytest.mark.parametrize(
    "arguments",
    [
        {"concurrency": 0},
        {"requests_per_minute": 0},
        {"attempts": 0},
        {"timeout": 0},
        {"deadline": -1},
        {"first_wait": -1},
        {"longest_wait": -1},
    ],
)
def test_bad_limits(arguments: dict[str, Any]) -> None:
    (name,) = arguments
    with pytest.raises(ValueError, match=name):
        Limits(**arguments)
