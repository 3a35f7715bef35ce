"""Gymnasium wrappers for text environments: judging, role credit, gating, recording, textualising, branching."""

if not __name__.startswith("agentkit."):
    raise ImportError(f"import agentkit.wrappers instead of {__name__}: this folder is a room of the package agentkit")

from agentkit.wrappers import vector as vector
from agentkit.wrappers.comparator_gate import ComparatorGateWrapper
from agentkit.wrappers.intervention_router import InterventionRouterWrapper
from agentkit.wrappers.judge_reward import JudgeRewardWrapper
from agentkit.wrappers.record_trajectory import RecordTrajectoryWrapper
from agentkit.wrappers.replay_snapshot import ReplaySnapshot
from agentkit.wrappers.role_credit import RoleCreditWrapper
from agentkit.wrappers.textualize import TextualizeWrapper

__all__ = [
    "ComparatorGateWrapper",
    "InterventionRouterWrapper",
    "JudgeRewardWrapper",
    "RecordTrajectoryWrapper",
    "ReplaySnapshot",
    "RoleCreditWrapper",
    "TextualizeWrapper",
]
