"""From the episodes of all processes to one advantage a step."""

from collections.abc import Sequence

import attrs

from agentkit.credit import Floats, combine
from agentkit.trainers.credit.metrics import batch_metrics
from agentkit.trainers.credit.terms import CreditTerm, Outcome, evaluate_terms, term_name
from agentkit.trajectory import Trajectory


@attrs.frozen
class Credit:
    """What N episodes are worth, step by step."""

    steps: list[Floats]
    """N arrays of shape (T_i,): the advantage of each step."""
    metrics: dict[str, float]


def with_outcome(terms: Sequence[CreditTerm], outcome: Outcome) -> list[CreditTerm]:
    """The terms, after ``outcome`` unless one of them is named "outcome" and takes its place."""
    names = [term_name(term) for term in terms]
    if len(set(names)) != len(names):
        raise ValueError(f"credit terms must have different names, got {names}")
    return list(terms) if outcome.name in names else [outcome, *terms]


def assign_credit(trajectories: Sequence[Trajectory], group_size: int, terms: Sequence[CreditTerm]) -> Credit:
    """Sum all credit terms.

    Args:
        trajectories: N episodes of all processes; ``group_size`` neighbours form a group.
        group_size: G.
        terms: see `agentkit.trainers.credit.terms`.
    """
    groups = [trajectories[i : i + group_size] for i in range(0, len(trajectories), group_size)]
    columns = evaluate_terms(terms, groups)
    return Credit(combine(columns, [len(t) for t in trajectories]), batch_metrics(groups, columns))
