"""The ledger: states in which an intervention was possible, each with what came of it and of leaving it."""

import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import attrs

from agentkit.journal import Journal

Kind: TypeAlias = Literal["rescued", "harmed", "both right", "both wrong"]
KINDS: tuple[Kind, ...] = ("rescued", "harmed", "both right", "both wrong")


def kind_of(won_without: bool, won_with: bool) -> Kind:
    """What an intervention did to an outcome.

    >>> kind_of(won_without=False, won_with=True)
    'rescued'
    """
    if won_without == won_with:
        return "both right" if won_with else "both wrong"
    return "rescued" if won_with else "harmed"


_flag = attrs.validators.instance_of(bool)
_text = attrs.validators.instance_of(str)
_count = [attrs.validators.instance_of(int), attrs.validators.ge(0)]


@attrs.frozen(kw_only=True)
class LedgerRow:
    """One state, played on twice: with the intervention, and with the proposal let through."""

    task_id: str = attrs.field(validator=_text)
    task_type: str = attrs.field(default="", validator=_text)
    seed: int = attrs.field(validator=attrs.validators.instance_of(int))
    """What the environment was reset with and the actor was made with, in both."""
    step: int = attrs.field(validator=_count)
    """How many actions had been executed before."""
    proposal: str = attrs.field(validator=_text)
    preferred: tuple[str, ...] = attrs.field(converter=tuple)
    """What the gate preferred to it."""
    features: Mapping[str, float | None]
    """What was known before the intervention; see `agentkit.causal.features`."""
    advice: str | None = None
    """What the actor did with the advice: "followed", "reproposed" or "ignored"; None when it was forced."""
    won_without: bool = attrs.field(validator=_flag)
    won_with: bool = attrs.field(validator=_flag)
    return_without: float = 0.0
    """Sum of the environment's rewards from the start of the episode."""
    return_with: float = 0.0
    steps_without: int = attrs.field(default=0, validator=_count)
    """Executed actions of the whole episode."""
    steps_with: int = attrs.field(default=0, validator=_count)

    @property
    def kind(self) -> Kind:
        """Rescued, harmed, both right or both wrong."""
        return kind_of(self.won_without, self.won_with)

    @property
    def effect(self) -> int:
        """1 for rescued, -1 for harmed, else 0."""
        return int(self.won_with) - int(self.won_without)


def _rows(values: Sequence[LedgerRow]) -> tuple[LedgerRow, ...]:
    return tuple(values)


@attrs.frozen(kw_only=True)
class LedgerEpisode:
    """All rows of one episode: one line of the ledger's file, so that a line is a finished piece of work."""

    seed: int = attrs.field(validator=attrs.validators.instance_of(int))
    task_id: str = attrs.field(validator=_text)
    won: bool = attrs.field(validator=_flag)
    """Without any intervention."""
    steps: int = attrs.field(validator=_count)
    possible: int = attrs.field(validator=_count)
    """States in which the gate would have intervened; ``rows`` holds all of them or a sample."""
    settings: str = attrs.field(default="", validator=_text)
    """What the ledger was collected with, so that a file is not continued with something else."""
    rows: tuple[LedgerRow, ...] = attrs.field(default=(), converter=_rows)


def load_ledger(path: str | os.PathLike[str]) -> list[LedgerRow]:
    """The rows of a ledger's file, episode by episode.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is not an episode of a ledger; the message names it.
    """
    journal = Journal(path, LedgerEpisode)
    if not journal.path.exists():
        raise FileNotFoundError(f"no ledger at {path}; agentkit.causal.collect_ledger(..., out=...) writes one")
    return [row for episode in journal.entries() for row in episode.rows]
