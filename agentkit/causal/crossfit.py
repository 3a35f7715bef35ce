"""What a router is worth on tasks that it has not seen: cross-fitting by task."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from agentkit.causal.ledger import LedgerRow
from agentkit.causal.router import Router, fit_router
from agentkit.causal.statistics import bootstrap_interval
from agentkit.tables import text_table


@attrs.frozen(kw_only=True)
class Policy:
    """What comes of deciding in one way in which of N states to intervene."""

    states: int
    interventions: int
    won: int
    rescued: int
    harmed: int
    net_interval: tuple[float, float]
    """95 % bootstrap interval of (rescued − harmed) / N, drawn by task."""

    @property
    def success(self) -> float:
        """Share of the N states that lead to success."""
        return self.won / self.states


@attrs.frozen(kw_only=True)
class RouterReport:
    """Policies over the same held-out states: intervene never, always, as the router says, and with hindsight."""

    policies: dict[str, Policy]
    values: tuple[float, ...] = attrs.field(converter=tuple)
    """For each row of the ledger, what a router fitted to other tasks says it is worth to intervene."""

    def table(self) -> str:
        """A row a policy, as plain text."""
        header = ["policy", "states", "interventions", "success", "rescued", "harmed", "net", "95 %"]
        return text_table(header, [_cells(name, policy) for name, policy in self.policies.items()])


def cross_fit(
    rows: Sequence[LedgerRow],
    *,
    folds: int = 5,
    seed: int = 0,
    fit: Callable[[Sequence[LedgerRow]], Router] = fit_router,
) -> RouterReport:
    """Fit routers to all folds but one, and let each decide in the states of the fold that it has not seen.

    Folds are made of tasks, so no router decides about a task that it was fitted to. The policies are "never",
    "always", "router" (intervene where its value is above 0) and "hindsight" (exactly where it rescues: the bound).

    Args:
        rows: of a ledger, N of them.
        folds: how many; at most as many as there are tasks.
        seed: decides which tasks go together.
        fit: makes a router from rows.

    Raises:
        ValueError: there are fewer tasks than folds, or fewer than 2 folds.
    """
    tasks = list(dict.fromkeys(row.task_id for row in rows))
    if folds < 2 or len(tasks) < folds:
        raise ValueError(f"folds must be at least 2 and at most the number of tasks ({len(tasks)}), got {folds}")
    order = np.random.default_rng(seed).permutation(len(tasks))
    fold_of = {tasks[task]: place % folds for place, task in enumerate(order)}
    values = np.zeros(len(rows))
    for fold in range(folds):
        router = fit([row for row in rows if fold_of[row.task_id] != fold])
        for i, row in enumerate(rows):
            if fold_of[row.task_id] == fold:
                values[i] = router(row.features)
    decisions = {
        "never": [False] * len(rows),
        "always": [True] * len(rows),
        "router": (values > 0).tolist(),
        "hindsight": [row.kind == "rescued" for row in rows],
    }
    policies = {name: _policy(rows, acts) for name, acts in decisions.items()}
    return RouterReport(policies=policies, values=values.tolist())


def _policy(rows: Sequence[LedgerRow], acts: Sequence[bool]) -> Policy:
    effects = [row.effect if act else 0 for row, act in zip(rows, acts, strict=True)]
    return Policy(
        states=len(rows),
        interventions=sum(acts),
        won=sum(row.won_without for row in rows) + sum(effects),
        rescued=effects.count(1),
        harmed=effects.count(-1),
        net_interval=bootstrap_interval(effects, [row.task_id for row in rows]),
    )


def _cells(name: str, policy: Policy) -> list[str]:
    low, high = policy.net_interval
    counts: list[Any] = [policy.states, policy.interventions, f"{policy.success:.1%}", policy.rescued, policy.harmed]
    net = (policy.rescued - policy.harmed) / policy.states
    return [name, *map(str, counts), f"{net:+.3f}", f"[{low:+.3f}, {high:+.3f}]"]
