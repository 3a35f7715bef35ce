"""Diagnosis of actors: whether an easier sub-goal draws them away from the one that has to come first."""

from agentkit.diagnosis.dependency import SuccessTable, success_by_dependency
from agentkit.diagnosis.diagnose import diagnose
from agentkit.diagnosis.result import ActorDiagnosis, Diagnosis
from agentkit.diagnosis.states import DiagnosticState, collect_states, load_states, save_states

__all__ = [
    "ActorDiagnosis",
    "Diagnosis",
    "DiagnosticState",
    "SuccessTable",
    "collect_states",
    "diagnose",
    "load_states",
    "save_states",
    "success_by_dependency",
]
