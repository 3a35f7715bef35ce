"""Trainers: GRPO that learns from step rewards, on TRL and Accelerate."""

if not __name__.startswith("agentkit."):
    raise ImportError(f"import agentkit.trainers instead of {__name__}: this folder is a room of the package agentkit")

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.trainers.branching.collect import collect_branches
    from agentkit.trainers.branching.examples import comparator_examples, critic_examples
    from agentkit.trainers.config import AgentGRPOConfig
    from agentkit.trainers.credit.terms import (
        AnchorState,
        DiscountedReturns,
        Outcome,
        RoleCredit,
        StepScores,
        TriageAdvantage,
    )
    from agentkit.trainers.decisions.building import decider_examples, judge_examples, outcome_examples, role_examples
    from agentkit.trainers.decisions.config import DecisionConfig
    from agentkit.trainers.decisions.examples import DecisionExample, load_examples, save_examples, split_by_group
    from agentkit.trainers.decisions.trainer import DecisionTrainer
    from agentkit.trainers.grpo import AgentGRPOTrainer

_HOMES = {
    "AgentGRPOConfig": "agentkit.trainers.config",
    "AgentGRPOTrainer": "agentkit.trainers.grpo",
    "AnchorState": "agentkit.trainers.credit.terms",
    "DecisionConfig": "agentkit.trainers.decisions.config",
    "DecisionExample": "agentkit.trainers.decisions.examples",
    "DecisionTrainer": "agentkit.trainers.decisions.trainer",
    "DiscountedReturns": "agentkit.trainers.credit.terms",
    "Outcome": "agentkit.trainers.credit.terms",
    "RoleCredit": "agentkit.trainers.credit.terms",
    "StepScores": "agentkit.trainers.credit.terms",
    "TriageAdvantage": "agentkit.trainers.credit.terms",
    "collect_branches": "agentkit.trainers.branching.collect",
    "comparator_examples": "agentkit.trainers.branching.examples",
    "critic_examples": "agentkit.trainers.branching.examples",
    "decider_examples": "agentkit.trainers.decisions.building",
    "judge_examples": "agentkit.trainers.decisions.building",
    "load_examples": "agentkit.trainers.decisions.examples",
    "outcome_examples": "agentkit.trainers.decisions.building",
    "role_examples": "agentkit.trainers.decisions.building",
    "save_examples": "agentkit.trainers.decisions.examples",
    "split_by_group": "agentkit.trainers.decisions.examples",
}

__all__ = [
    "AgentGRPOConfig",
    "AgentGRPOTrainer",
    "AnchorState",
    "DecisionConfig",
    "DecisionExample",
    "DecisionTrainer",
    "DiscountedReturns",
    "Outcome",
    "RoleCredit",
    "StepScores",
    "TriageAdvantage",
    "collect_branches",
    "comparator_examples",
    "critic_examples",
    "decider_examples",
    "judge_examples",
    "load_examples",
    "outcome_examples",
    "role_examples",
    "save_examples",
    "split_by_group",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: these modules need torch and trl.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    from agentkit.extras import require

    if name.startswith("AgentGRPO"):
        require("trl", "train")
    if name in ("DecisionConfig", "DecisionTrainer"):
        require("transformers", "train")
    return getattr(importlib.import_module(_HOMES[name]), name)
