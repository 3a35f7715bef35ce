"""Trainers: GRPO that learns from step rewards, on TRL and Accelerate."""

if not __name__.startswith("agentkit."):
    raise ImportError(f"import agentkit.trainers instead of {__name__}: this folder is a room of the package agentkit")

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.trainers.config import AgentGRPOConfig
    from agentkit.trainers.grpo import AgentGRPOTrainer
    from agentkit.trainers.terms import RoleCredit, StepScores

_HOMES = {
    "AgentGRPOConfig": "agentkit.trainers.config",
    "AgentGRPOTrainer": "agentkit.trainers.grpo",
    "RoleCredit": "agentkit.trainers.terms",
    "StepScores": "agentkit.trainers.terms",
}

__all__ = ["AgentGRPOConfig", "AgentGRPOTrainer", "RoleCredit", "StepScores"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: these modules need torch and trl.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    from agentkit.extras import require

    if name.startswith("AgentGRPO"):
        require("trl", "train")
    return getattr(importlib.import_module(_HOMES[name]), name)
