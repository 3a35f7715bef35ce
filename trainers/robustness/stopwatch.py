"""Where the seconds of a training step go."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import gymnasium as gym
from transformers import TrainerCallback

ENVIRONMENT, WRAPPERS, POLICY, TRAINING = "environment", "judging", "generation", "forward_backward"
PARTS: tuple[str, ...] = (ENVIRONMENT, WRAPPERS, POLICY, TRAINING)


class Stopwatch:
    """Adds up seconds by part; the rest of the wall time since the last lap is *idle* (logging, waiting for others)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seconds: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self._since = time.perf_counter()

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Count what happens inside towards ``part``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(part, time.perf_counter() - start)

    def add(self, part: str, seconds: float) -> None:
        """Count seconds towards ``part``; negative ones move what was counted twice."""
        with self._lock:
            self._seconds[part] += seconds

    def lap(self) -> dict[str, float]:
        """Seconds by part since the last lap, with ``idle`` and ``total``."""
        now = time.perf_counter()
        with self._lock:
            seconds, total = dict(self._seconds), now - self._since
            self._seconds, self._since = dict.fromkeys(PARTS, 0.0), now
        # Environments that step in several threads count more seconds than passed; the wall time is what they share.
        seconds[ENVIRONMENT] += min(0.0, seconds[WRAPPERS])
        seconds[WRAPPERS] = max(0.0, seconds[WRAPPERS])
        return {**seconds, "idle": max(0.0, total - sum(seconds.values())), "total": total}


class StartClock(TrainerCallback):
    """Starts the first lap when training begins."""

    def __init__(self, stopwatch: Stopwatch):
        self._stopwatch = stopwatch

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._stopwatch.lap()


class ClockedEnv(gym.Wrapper):
    """Stands innermost, so that the environment's own seconds are told apart from those of the wrappers around it.

    The caller counts all of ``env.step`` towards `WRAPPERS`; this moves the environment's part of it.
    """

    def __init__(self, env: gym.Env, stopwatch: Stopwatch):
        super().__init__(env)
        self._stopwatch = stopwatch

    @contextmanager
    def _own(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self._stopwatch.add(ENVIRONMENT, seconds)
            self._stopwatch.add(WRAPPERS, -seconds)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        with self._own():
            return self.env.reset(seed=seed, options=options)

    def step(self, action: Any):
        with self._own():
            return self.env.step(action)
