"""Judges: callables that grade the steps of a trajectory, type them, or compare two actions."""

if not __name__.startswith("agentkit."):
    raise ImportError(f"import agentkit.judges instead of {__name__}: this folder is a room of the package agentkit")

from agentkit.judges.oracle import OracleJudge
from agentkit.judges.pairwise import PairwiseComparator
from agentkit.judges.role_judge import RoleJudge
from agentkit.judges.step_judge import StepJudge

__all__ = ["OracleJudge", "PairwiseComparator", "RoleJudge", "StepJudge"]
