"""What interventions did: rescue, harm, net value, and how they change with time in the episode."""

from collections import Counter
from collections.abc import Sequence

import attrs

from agentkit.causal.ledger import KINDS, LedgerRow
from agentkit.causal.statistics import bootstrap_interval, mcnemar_exact, wilson_interval
from agentkit.tables import text_table

Interval = tuple[float, float]


@attrs.frozen(kw_only=True)
class Effect:
    """Counts of the four kinds over N states, with what follows from them."""

    rescued: int
    harmed: int
    both_right: int
    both_wrong: int
    net_interval: Interval
    """95 % bootstrap interval of the net value, drawn by task."""

    @property
    def states(self) -> int:
        """N."""
        return self.rescued + self.harmed + self.both_right + self.both_wrong

    @property
    def success_without(self) -> float:
        """Share of the states that lead to success when the proposal goes through."""
        return (self.both_right + self.harmed) / self.states

    @property
    def success_with(self) -> float:
        """Share of the states that lead to success with the intervention."""
        return (self.both_right + self.rescued) / self.states

    @property
    def net(self) -> float:
        """(rescued − harmed) / N, in [-1, 1]: the mean effect of intervening in one of these states."""
        return (self.rescued - self.harmed) / self.states

    @property
    def rescue_rate(self) -> float | None:
        """Share of the states lost without the intervention that it rescues; None where none is lost."""
        lost = self.rescued + self.both_wrong
        return self.rescued / lost if lost else None

    @property
    def harm_rate(self) -> float | None:
        """Share of the states won without the intervention that it harms; None where none is won."""
        won = self.harmed + self.both_right
        return self.harmed / won if won else None

    @property
    def rescue_interval(self) -> Interval:
        """95 % Wilson interval of the share of rescued states among those lost without the intervention."""
        return wilson_interval(self.rescued, self.rescued + self.both_wrong)

    @property
    def harm_interval(self) -> Interval:
        """95 % Wilson interval of the share of harmed states among those won without the intervention."""
        return wilson_interval(self.harmed, self.harmed + self.both_right)

    @property
    def p_value(self) -> float:
        """Of `mcnemar_exact`, which takes the states to be independent."""
        return mcnemar_exact(self.rescued, self.harmed)


def effect_of(rows: Sequence[LedgerRow]) -> Effect:
    """The effect over some rows.

    Raises:
        ValueError: there are none.
    """
    if not rows:
        raise ValueError("the ledger has no rows: the gate would have intervened in no state")
    counts = Counter(row.kind for row in rows)
    return Effect(
        **{kind.replace(" ", "_"): counts[kind] for kind in KINDS},
        net_interval=bootstrap_interval([row.effect for row in rows], [row.task_id for row in rows]),
    )


def effect_by_time(rows: Sequence[LedgerRow], width: int = 10) -> dict[range, Effect]:
    """The effect by when it came: states whose ``step`` lies in [0, width), [width, 2 width), …; empty ones left out.

    Raises:
        ValueError: ``width`` is below 1, or there are no rows.
    """
    if width < 1:
        raise ValueError(f"width must be at least 1 step, got {width}")
    if not rows:
        raise ValueError("the ledger has no rows: the gate would have intervened in no state")
    buckets: dict[int, list[LedgerRow]] = {}
    for row in rows:
        buckets.setdefault(row.step // width, []).append(row)
    return {range(i * width, (i + 1) * width): effect_of(buckets[i]) for i in sorted(buckets)}


def effect_table(rows: Sequence[LedgerRow], width: int = 10) -> str:
    """All states and then those of each stretch of ``width`` steps, as a plain-text table."""
    effects = {"all": effect_of(rows)}
    effects |= {f"{steps.start}-{steps.stop - 1}": effect for steps, effect in effect_by_time(rows, width).items()}
    header = ["steps", "states", "rescued", "harmed", "both right", "both wrong", "without", "with", "net", "95 %"]
    return text_table(header, [_cells(name, effect) for name, effect in effects.items()])


def _cells(name: str, effect: Effect) -> list[str]:
    counts = (effect.states, effect.rescued, effect.harmed, effect.both_right, effect.both_wrong)
    low, high = effect.net_interval
    shares = [f"{effect.success_without:.1%}", f"{effect.success_with:.1%}", f"{effect.net:+.3f}"]
    return [name, *map(str, counts), *shares, f"[{low:+.3f}, {high:+.3f}]"]
