"""What judges have cost so far: tokens, dollars and seconds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import gymnasium as gym

from agentkit.models.usage import UsageMeter
from agentkit.trainers.robustness.outage import layers

ASKED = ("judge", "comparator", "model", "decide", "chat")
"""Attributes under which wrappers and judges keep what they ask."""


@attrs.frozen
class MeteredRole:
    """A role of a usage meter; None = all its roles."""

    meter: UsageMeter
    role: str | None


def usage_of(judge: Any) -> list[MeteredRole]:
    """The meters that count what a judge uses.

    A judge says so with an attribute ``meter`` (a `agentkit.models.usage.UsageMeter`, and optionally ``role``), on
    itself or on what it asks (`ASKED`), as the models of ``UsageMeter.metered(...)`` have it.
    """
    found: list[MeteredRole] = []
    waiting, seen = [judge], set()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(getattr(part, "meter", None), UsageMeter):
            found.append(MeteredRole(part.meter, getattr(part, "role", None)))
        waiting += [getattr(part, name, None) for name in ASKED]
    return found


def usage_in(envs: Iterable[gym.Env]) -> list[MeteredRole]:
    """The meters of everything that the wrappers of these environments ask, each once."""
    asked = (getattr(layer, name, None) for env in envs for layer in layers(env) for name in ("judge", "comparator"))
    found: dict[tuple[int, str | None], MeteredRole] = {}
    for judge in asked:
        found |= {(id(entry.meter), entry.role): entry for entry in usage_of(judge)}
    return list(found.values())


class JudgeSpending:
    """What judges have cost since the run began, interruptions included.

    Args:
        meters: the meters of the judges in use, asked for again at each reading.
    """

    def __init__(self, meters: Callable[[], Sequence[MeteredRole]]):
        self._meters = meters
        self._before: Mapping[str, float] = {}
        self._seconds = 0.0

    def add_seconds(self, seconds: float) -> None:
        """Count time that judges took."""
        self._seconds += seconds

    def totals(self) -> dict[str, float]:
        """``judges/seconds``; ``judges/tokens`` where a meter counts, ``judges/dollars`` where a model has a price."""
        accounts = [(entry.meter, a) for entry in self._meters() for a in entry.meter.accounts(entry.role)]
        spent = {"judges/seconds": self._seconds}
        if accounts:
            spent["judges/tokens"] = float(sum(a.usage.input_tokens + a.usage.output_tokens for _, a in accounts))
        priced = [meter.prices[a.model].dollars(a.usage) for meter, a in accounts if a.model in meter.prices]
        if priced:
            spent["judges/dollars"] = sum(priced)
        return {name: self._before.get(name, 0.0) + spent.get(name, 0.0) for name in [*spent, *self._before]}

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run counts on from."""
        return self.totals()

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """The inverse of `state_dict`, for a run whose meters begin at 0."""
        self._before = {name: float(value) for name, value in state.items()}
