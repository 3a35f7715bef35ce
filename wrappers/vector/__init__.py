"""Wrappers for vector environments: one batched call of the judge for all the copies.

As in Gymnasium, a vector wrapper has the name of the wrapper for one environment whose work it does.
"""

from agentkit.wrappers.vector.judge_reward import JudgeRewardWrapper
from agentkit.wrappers.vector.record_trajectory import RecordTrajectoryWrapper
from agentkit.wrappers.vector.role_credit import RoleCreditWrapper

__all__ = ["JudgeRewardWrapper", "RecordTrajectoryWrapper", "RoleCreditWrapper"]
