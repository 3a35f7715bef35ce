"""The causal view of interventions: what the same state leads to with and without one, and when to intervene.

The terms are those of *When Harnesses Lose the Signal: Causal Evaluation of Recovery in LLM Agents* (arXiv 2610.00372):
an intervention *rescues* a failing trajectory or *harms* one that would have succeeded; its value is the difference.
"""

from agentkit.causal.collecting import collect_ledger
from agentkit.causal.crossfit import RouterReport, cross_fit
from agentkit.causal.effects import Effect, effect_by_time, effect_of, effect_table
from agentkit.causal.features import FEATURES, StateWatch
from agentkit.causal.ledger import LedgerEpisode, LedgerRow, load_ledger
from agentkit.causal.router import Router, fit_router, load_router
from agentkit.causal.statistics import bootstrap_interval, mcnemar_exact, wilson_interval

__all__ = [
    "FEATURES",
    "Effect",
    "LedgerEpisode",
    "LedgerRow",
    "Router",
    "RouterReport",
    "StateWatch",
    "bootstrap_interval",
    "collect_ledger",
    "cross_fit",
    "effect_by_time",
    "effect_of",
    "effect_table",
    "fit_router",
    "load_ledger",
    "load_router",
    "mcnemar_exact",
    "wilson_interval",
]
