"""Judges: callables that grade the steps of a trajectory, type them, or compare two actions."""

if not __name__.startswith("agentkit."):
    raise ImportError(f"import agentkit.judges instead of {__name__}: this folder is a room of the package agentkit")

from agentkit.judges.absolute_critic import AbsoluteCritic
from agentkit.judges.comparator_report import ComparatorReport, comparator_report
from agentkit.judges.critic_report import CriticReport, critic_report
from agentkit.judges.gain import GainCondition, gain_condition
from agentkit.judges.missed_credit import missed_credit
from agentkit.judges.oracle import NoisyOracle, OracleJudge, OracleRoles
from agentkit.judges.pairwise import PairwiseComparator
from agentkit.judges.prompts import QUESTIONS, ROLES, RolePrompt, StepPrompt
from agentkit.judges.reference_comparators import OracleComparator, RandomComparator, WrongComparator
from agentkit.judges.reliability import Agreement, RoleReliability, judge_roles, role_agreement, role_reliability
from agentkit.judges.role_judge import RoleJudge
from agentkit.judges.screening import Screening, screen
from agentkit.judges.step_judge import StepJudge

__all__ = [
    "QUESTIONS",
    "ROLES",
    "AbsoluteCritic",
    "Agreement",
    "ComparatorReport",
    "CriticReport",
    "GainCondition",
    "NoisyOracle",
    "OracleComparator",
    "OracleJudge",
    "OracleRoles",
    "PairwiseComparator",
    "RandomComparator",
    "RoleJudge",
    "RolePrompt",
    "RoleReliability",
    "Screening",
    "StepJudge",
    "StepPrompt",
    "WrongComparator",
    "comparator_report",
    "critic_report",
    "gain_condition",
    "judge_roles",
    "missed_credit",
    "role_agreement",
    "role_reliability",
    "screen",
]
