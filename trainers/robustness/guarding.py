"""One environment that raises or hangs costs its episode, not the training step.

`GuardedEnv` turns both into `EnvFailureError` and goes on with a fresh environment from the factory at the next reset.
`play_all` then completes the batch by a stated rule: the failed episodes are played again, at most so many times, and
what still fails is dropped (it gets no advantage and counts in no mean) or raises.

A hanging call cannot be killed inside a process. With a time-out, an environment therefore lives in a thread of its
own, which is *abandoned* when a call takes too long: the caller goes on at once, but what the abandoned thread holds
(memory, a core if it computes) is only given back when its call returns. Code that hangs while it holds Python's global
lock cannot be bounded this way; run such an environment in a process of its own.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import attrs
import gymnasium as gym

from agentkit.trajectory import Trajectory

logger = logging.getLogger(__name__)

FAILURE = "env_failure"
"""The key of ``Trajectory.info`` under which a failed episode says what happened."""
BRANCHING = ("snapshot", "restore")
"""Methods of environments that can branch."""
FailureKind: TypeAlias = Literal["raised", "hung"]
FailureRule: TypeAlias = Literal["retry", "drop", "raise"]
Result = TypeVar("Result")


class EnvFailureError(RuntimeError):
    """An environment raised or hung.

    Args:
        kind: ``"raised"`` or ``"hung"``.
        reason: what happened, in words.
    """

    def __init__(self, kind: FailureKind, reason: str):
        super().__init__(f"the environment {kind}: {reason}")
        self.kind: FailureKind = kind
        self.reason = reason


class GuardedEnv(gym.Wrapper):
    """An environment from a factory, replaced by a fresh one after it raised or hung.

    It belongs innermost: what judges and other wrappers outside it raise is theirs to explain, and a judge's time is
    not the environment's. Without a time-out a call costs a ``try``; with one, two hand-overs between threads.

    Args:
        factory: makes the environment; called in the thread that the environment lives in.
        timeout: seconds that making, a reset or a step may take; None = no bound.

    Raises:
        EnvFailureError: (also from ``reset`` and ``step``) the environment raised, or took longer than ``timeout``.
        ValueError: a time-out that is not positive.
    """

    def __init__(self, factory: Callable[[], gym.Env], timeout: float | None = None):
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be a positive number of seconds or None, got {timeout!r}")
        self._factory, self._timeout = factory, timeout
        self._thread = _CallThread() if timeout is not None else None
        self._broken = False
        super().__init__(self._guard("making it", factory))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        if self._broken:
            self._replace()
        return self._guard("reset", lambda: self.env.reset(seed=seed, options=options))

    def step(self, action: Any):
        if self._broken:
            raise EnvFailureError("raised", "it failed before; call reset(), which makes a fresh one")
        return self._guard(f"step({action!r})", lambda: self.env.step(action))

    def get_wrapper_attr(self, name: str) -> Any:
        """As every wrapper; what branches the environment is guarded too."""
        found = super().get_wrapper_attr(name)
        if name not in BRANCHING:
            return found
        return lambda *arguments: self._guard(name, lambda: found(*arguments))

    def close(self) -> None:
        """Close the environment; one that failed is left alone."""
        if not self._broken:
            self._guard("close", self.env.close)
        if self._thread is not None:
            self._thread.finish()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_thread": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._thread = _CallThread() if self._timeout is not None else None

    def _replace(self) -> None:
        if self._thread is not None:
            self._thread.finish()
            self._thread = _CallThread()
        self.env = self._guard("making it", self._factory)
        self._broken = False

    def _guard(self, what: str, call: Callable[[], Result]) -> Result:
        try:
            return call() if self._thread is None else self._thread.call(call, self._timeout)
        except _TookTooLongError:
            self._broken = True
            raise EnvFailureError("hung", f"{what} took longer than {self._timeout} s") from None
        except gym.error.ResetNeeded:
            raise  # the caller's mistake, not the environment's
        except Exception as error:
            self._broken = True
            raise EnvFailureError("raised", f"{what}: {type(error).__name__}: {error}") from error


class _TookTooLongError(Exception):
    """A call did not end in time."""


class _CallThread:
    """Runs calls one after another in a thread that does not keep the process alive."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=_run_calls, args=(self._calls,), daemon=True, name="guarded environment").start()

    def call(self, function: Callable[[], Result], timeout: float | None) -> Result:
        """The function's result; raises what it raises, or `_TookTooLongError` after ``timeout`` seconds."""
        future: Future[Result] = Future()
        finished = threading.Event()
        future.add_done_callback(lambda _: finished.set())
        self._calls.put((future, function))
        # Not future.result(timeout), in which a TimeoutError of the call itself would look like ours.
        if not finished.wait(timeout):
            raise _TookTooLongError
        return future.result()

    def finish(self) -> None:
        """Let the thread end once it is idle."""
        self._calls.put(None)


def _run_calls(calls: "queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]") -> None:
    # A function and not a method: an abandoned thread must not hold more than the call it is stuck in.
    while (item := calls.get()) is not None:
        future, function = item
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)
        del item, future, function


@attrs.frozen
class FailureReport:
    """What became of the environments of a batch."""

    raised: int = 0
    """Attempts that ended with an exception of the environment."""
    hung: int = 0
    """Attempts that ended with a time-out."""
    retried: int = 0
    """Episodes that were played again."""
    dropped: int = 0
    """Episodes that could not be completed."""

    def metrics(self) -> dict[str, float]:
        """``env/raised``, ``env/hung``, ``env/retried`` and ``env/dropped``."""
        return {f"env/{name}": float(count) for name, count in attrs.asdict(self).items()}


class Played(Protocol):
    """What playing an episode gives, such as a `TokenEpisode`."""

    @property
    def trajectory(self) -> Trajectory:
        """The episode, up to the failure if there was one."""
        ...


Episode = TypeVar("Episode", bound=Played)


def play_all(
    play: Callable[[Sequence[int], int], Sequence[Episode]],
    count: int,
    *,
    rule: FailureRule = "retry",
    max_retries: int = 2,
    anyone: Callable[[bool], bool] = bool,
) -> tuple[list[Episode], FailureReport]:
    """Play ``count`` episodes and complete those whose environment failed.

    Args:
        play: ``play(indices, attempt)`` plays the episodes with these indices (attempt 0, then 1, ...) and gives one
            for each, in order; one that failed is marked by `mark_failed`.
        count: N.
        rule: ``"retry"`` plays failed episodes again from fresh environments and drops what still fails, ``"drop"``
            drops at once, ``"raise"`` stops.
        max_retries: how often an episode is played again, at least 0.
        anyone: whether something is so on any process, given whether it is here; all processes then play as many
            attempts, and ``play`` may get no indices.

    Returns:
        N episodes, in order, and the counts. Dropped ones stay marked.

    Raises:
        EnvFailureError: with ``"raise"``, or when no episode at all could be completed on any process.
        ValueError: an unknown rule, or ``max_retries`` below 0.
    """
    check_rule(rule, max_retries)
    episodes: dict[int, Episode] = {}
    waiting, attempt, retried, kinds = list(range(count)), 0, 0, {"raised": 0, "hung": 0}
    while attempt == 0 or (anyone(bool(waiting)) and rule == "retry" and attempt <= max_retries):
        retried += len(waiting) if attempt else 0
        episodes.update(zip(waiting, play(waiting, attempt), strict=True))
        waiting = [i for i in waiting if is_dropped(episodes[i].trajectory)]
        for i in waiting:
            _note(episodes[i].trajectory, kinds, rule)
        attempt += 1
    if count and not anyone(len(waiting) < count):
        reason = episodes[0].trajectory.info[FAILURE]["reason"]
        raise EnvFailureError(episodes[0].trajectory.info[FAILURE]["kind"], f"{reason}; this befell all episodes")
    report = FailureReport(kinds["raised"], kinds["hung"], retried, dropped=len(waiting))
    return [episodes[i] for i in range(count)], report


def check_rule(rule: str, max_retries: int) -> None:
    """Refuse an unknown rule and a negative number of retries with a ValueError."""
    if rule not in ("retry", "drop", "raise"):
        raise ValueError(f"on_env_failure must be 'retry', 'drop' or 'raise', got {rule!r}")
    if max_retries < 0:
        raise ValueError(f"max_env_retries must be at least 0, got {max_retries!r}")


def _note(trajectory: Trajectory, kinds: dict[str, int], rule: FailureRule) -> None:
    failure = trajectory.info[FAILURE]
    kinds[failure["kind"]] += 1
    if rule == "raise":
        raise EnvFailureError(failure["kind"], failure["reason"])
    logger.warning(
        "an episode (seed %s, after %d steps) is lost: the environment %s: %s",
        trajectory.seed,
        len(trajectory),
        failure["kind"],
        failure["reason"],
    )


def mark_failed(trajectory: Trajectory, failure: EnvFailureError) -> Trajectory:
    """The episode up to the failure, marked so that it counts nowhere unless it is played again."""
    told = {"kind": failure.kind, "reason": failure.reason}
    return attrs.evolve(trajectory, truncated=True, info={**trajectory.info, FAILURE: told})


def is_dropped(trajectory: Trajectory) -> bool:
    """Whether the episode's environment failed."""
    return FAILURE in trajectory.info
