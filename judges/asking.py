"""Questions about several trajectories, put to a decision model in one batch."""

from collections.abc import Callable, Sequence

from agentkit.decisions import Decision, DecisionModel, Query
from agentkit.trajectory import Trajectory


def ask_about_all(
    model: DecisionModel, ask: Callable[[Trajectory], Sequence[Query]], trajectories: Sequence[Trajectory]
) -> list[list[Decision]]:
    """The decisions on each trajectory's queries, from one call of the model (none when there is nothing to ask).

    Raises:
        ValueError: the model did not give one decision a query.
    """
    queries = [ask(trajectory) for trajectory in trajectories]
    flat = [query for group in queries for query in group]
    decisions = list(model(flat)) if flat else []
    if len(decisions) != len(flat):
        raise ValueError(f"the model gave {len(decisions)} decisions for {len(flat)} queries; it must give one each")
    remaining = iter(decisions)
    return [[next(remaining) for _ in group] for group in queries]
