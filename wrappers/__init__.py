"""Gymnasium wrappers for text environments: judging, role credit, gating, recording, textualising, branching."""

if not __name__.startswith("agentkit."):
    raise ImportError(f"import agentkit.wrappers instead of {__name__}: this folder is a room of the package agentkit")

from agentkit.wrappers.comparator_gate import ComparatorGateWrapper
from agentkit.wrappers.judge_reward import JudgeRewardWrapper
from agentkit.wrappers.role_credit import RoleCreditWrapper

__all__ = ["ComparatorGateWrapper", "JudgeRewardWrapper", "RoleCreditWrapper"]
