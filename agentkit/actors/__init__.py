"""Actors: callables ``actor(observation, info) -> action``."""

from typing import TYPE_CHECKING, Any

from agentkit.actors.chance import RandomActor

if TYPE_CHECKING:
    from agentkit.actors.advised import AdvisedActor
    from agentkit.actors.batched import BatchedActor
    from agentkit.actors.best_of_n import BestOfNActor
    from agentkit.actors.critiqued import CritiquedActor
    from agentkit.actors.expert import ExpertActor
    from agentkit.actors.hasty import HastyActor
    from agentkit.actors.mistaken import MistakenActor
    from agentkit.actors.ordered_subgoals import OrderedSubgoalsActor
    from agentkit.actors.prompted import PromptedActor
    from agentkit.actors.readout import ConstrainedReadoutActor

_HOMES = {
    "AdvisedActor": "agentkit.actors.advised",
    "BatchedActor": "agentkit.actors.batched",
    "BestOfNActor": "agentkit.actors.best_of_n",
    "ConstrainedReadoutActor": "agentkit.actors.readout",
    "CritiquedActor": "agentkit.actors.critiqued",
    "ExpertActor": "agentkit.actors.expert",
    "HastyActor": "agentkit.actors.hasty",
    "MistakenActor": "agentkit.actors.mistaken",
    "OrderedSubgoalsActor": "agentkit.actors.ordered_subgoals",
    "PromptedActor": "agentkit.actors.prompted",
}

__all__ = [
    "AdvisedActor",
    "BatchedActor",
    "BestOfNActor",
    "ConstrainedReadoutActor",
    "CritiquedActor",
    "ExpertActor",
    "HastyActor",
    "MistakenActor",
    "OrderedSubgoalsActor",
    "PromptedActor",
    "RandomActor",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
