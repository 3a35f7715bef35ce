"""Compares ways of intervening on the same tasks: performance, cost, time, frequency, rescue and harm."""

from agentkit.comparing.actor_shift import ActorShift, actor_shift, shift_table
from agentkit.comparing.arms import Arm, Player
from agentkit.comparing.offline_cost import OfflineCost, offline_table
from agentkit.comparing.playing import PlayedEpisode, play_arms
from agentkit.comparing.results import ArmResult, budget_table, summarise_arm, summarise_arms
from agentkit.comparing.tables import causal_table, performance_table

__all__ = [
    "ActorShift",
    "Arm",
    "ArmResult",
    "OfflineCost",
    "PlayedEpisode",
    "Player",
    "actor_shift",
    "budget_table",
    "causal_table",
    "offline_table",
    "performance_table",
    "play_arms",
    "shift_table",
    "summarise_arm",
    "summarise_arms",
]
