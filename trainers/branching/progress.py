"""How far a collection of branches is, and an estimate of what is to come."""

from collections.abc import Callable
from typing import Any

import attrs


@attrs.frozen
class BranchProgress:
    """How far a collection is."""

    episodes: int
    """Finished, with those that were on disk before."""
    wanted: int
    """Episodes in all."""
    continuations: int
    """Played to an end since the start of this run."""
    expected: int
    """An estimate of how many this run will have played when all is done."""


class ProgressCount:
    """Counts what is done, and estimates what is to come from the episodes whose branches are known.

    Args:
        tell: called with every change; None = nobody wants to know.
        wanted: episodes in all.
        missing: those that this run has to play.
    """

    def __init__(self, tell: Callable[[BranchProgress], Any] | None, wanted: int, missing: int):
        self._tell, self._wanted, self._missing = tell, wanted, missing
        self._begun = self._finished = self._planned = self._played = 0

    def planned(self, episodes: int, continuations: int) -> None:
        """So many episodes have been played, whose branches make so many continuations."""
        self._begun += episodes
        self._planned += continuations
        self._report()

    def played(self) -> None:
        """One continuation has ended."""
        self._played += 1
        self._report()

    def finished(self) -> None:
        """One episode has all its branches."""
        self._finished += 1
        self._report()

    def _report(self) -> None:
        if self._tell is not None:
            done = self._wanted - self._missing + self._finished
            expected = round(self._planned * self._missing / max(1, self._begun))
            self._tell(BranchProgress(done, self._wanted, self._played, expected))
