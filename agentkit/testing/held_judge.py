"""`HeldJudge`: a judge that answers late, at the moment that a test chooses."""

import threading
from collections.abc import Callable
from typing import Any

from agentkit.trajectory import Trajectory


class HeldJudge:
    """Answers as another judge does, but each call waits for a `release`.

    It is meant for judges that are called in a thread, as with the ``timeout`` of `JudgeRewardWrapper`: the test goes
    on while the judge is thinking, without sleeping and without a clock.

    Args:
        judge: the judge that knows the answers.
        name: its name.
        context: ``"prefix"`` for a judge that needs no later steps.
    """

    def __init__(self, judge: Callable[[Trajectory], Any], name: str = "held", context: str = "hindsight"):
        self.judge, self.name, self.context = judge, name, context
        self._answers = threading.Semaphore(0)

    def __call__(self, trajectory: Trajectory) -> Any:
        """Wait, then answer."""
        self._answers.acquire()
        return self.judge(trajectory)

    def release(self, answers: int = 1) -> None:
        """Let so many calls go on."""
        if answers:  # a semaphore rejects 0
            self._answers.release(answers)
