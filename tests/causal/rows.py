"""Ledger rows that tests make up."""

from agentkit.causal import FEATURES, LedgerRow


def row(kind, task="t", step=0, **features):
    """A row of that kind; features that are not given are 0."""
    without, with_ = {
        "rescued": (False, True),
        "harmed": (True, False),
        "both right": (True, True),
        "both wrong": (False, False),
    }[kind]
    return LedgerRow(
        task_id=task,
        seed=0,
        step=step,
        proposal="look",
        preferred=["take key"],
        features={**dict.fromkeys(FEATURES, 0.0), **features},
        won_without=without,
        won_with=with_,
    )
