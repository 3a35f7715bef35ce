"""What it took to train a comparator, before it advises for the first time."""

import os
from collections.abc import Mapping

import attrs

from agentkit.structuring import read_json
from agentkit.tables import text_table


@attrs.frozen(kw_only=True)
class OfflineCost:
    """Hours of one machine, by what they were spent on (COTA's Table 8 counts H200 GPU-hours)."""

    base_rollouts: float = attrs.field(converter=float, validator=attrs.validators.ge(0.0))
    """Playing the actor's own episodes, from whose states the branches start."""
    branch_rollouts: float = attrs.field(converter=float, validator=attrs.validators.ge(0.0))
    """Playing on after each candidate."""
    fine_tuning: float = attrs.field(converter=float, validator=attrs.validators.ge(0.0))
    """Training the comparator on the pairs."""
    pairs: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    """How many pairs came of it."""

    @property
    def total(self) -> float:
        """Hours in all."""
        return self.base_rollouts + self.branch_rollouts + self.fine_tuning


def offline_table(costs: Mapping[str, OfflineCost]) -> str:
    """A row an environment: hours of base rollouts, branch rollouts and fine-tuning (COTA's Table 8), and the pairs."""
    header = ["hours", "base rollouts", "branch rollouts", "fine-tuning", "total", "pairs"]
    rows = [
        [name, *(f"{v:.3g}" for v in (c.base_rollouts, c.branch_rollouts, c.fine_tuning, c.total)), str(c.pairs)]
        for name, c in costs.items()
    ]
    return text_table(header, rows)


def read_offline_costs(path: str | os.PathLike[str]) -> dict[str, OfflineCost]:
    """The costs in a JSON file ``{"name": {"base_rollouts": hours, "branch_rollouts": …, "fine_tuning": …}}``.

    Raises:
        ValueError: the file is not of this form; the message names it and the fault.
    """
    return read_json(path, dict[str, OfflineCost], "offline costs")
