"""What is known before an intervention, as numbers a router can weigh."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from agentkit.examination import Examination

FEATURES: tuple[str, ...] = (
    "step",
    "repetition",
    "revisits",
    "last_changed",
    "entropy",
    "margin",
    "preferred_share",
    "budget_left",
)
"""The names, in the order in which a router's weights stand.

| name | what it is |
|---|---|
| ``step`` | actions executed so far |
| ``repetition`` | how often the proposal was executed before in this episode |
| ``revisits`` | how often this very observation was seen before in this episode |
| ``last_changed`` | 1 when the last action changed something (and at the start), 0 for a no-op |
| ``entropy`` | of the actor's distribution over actions, in nats; None where the actor tells none |
| ``margin`` | how clearly the comparator prefers the alternatives, in [-1, 1] |
| ``preferred_share`` | the share of the alternatives that it prefers, in [0, 1] |
| ``budget_left`` | states that may still see an intervention; None without a budget |
"""


class StateWatch:
    """Follows one episode at a time and says what is known before each proposal is executed."""

    def __init__(self) -> None:
        self.reset("", {})

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """An episode starts."""
        self._executed: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._steps = 0
        self._observation, self._last_changed = observation, True

    def executed(self, action: str, observation: str, info: Mapping[str, Any]) -> None:
        """An action was executed; what a gate withheld was not."""
        self._executed[action] += 1
        self._seen[self._observation] += 1
        self._steps += 1
        self._observation, self._last_changed = observation, bool(info.get("state_changed", True))

    def features(
        self, examined: Examination, distribution: Mapping[str, float] | None = None, budget_left: float = math.inf
    ) -> dict[str, float | None]:
        """The features of the proposal that was examined, by name.

        Args:
            examined: what a comparator said about the proposal.
            distribution: the actor's probability of each action, where it tells.
            budget_left: states that may still see an intervention; infinite without a budget.
        """
        return {
            "step": float(self._steps),
            "repetition": float(self._executed[examined.proposal]),
            "revisits": float(self._seen[self._observation]),
            "last_changed": float(self._last_changed),
            "entropy": entropy(distribution) if distribution else None,
            "margin": examined.margin,
            "preferred_share": examined.preferred_share,
            "budget_left": budget_left if math.isfinite(budget_left) else None,
        }


def entropy(distribution: Mapping[str, float]) -> float:
    """−Σ p log p in nats, of probabilities that need not sum to exactly 1.

    >>> round(entropy({"a": 0.5, "b": 0.5}), 4)
    0.6931
    """
    return -sum(p * math.log(p) for p in distribution.values() if p > 0) + 0.0
