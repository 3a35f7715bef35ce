"""Actors: callables ``actor(observation, info) -> action``."""

from typing import TYPE_CHECKING, Any

from agentkit.actors.chance import RandomActor

if TYPE_CHECKING:
    from agentkit.actors.batched import BatchedActor
    from agentkit.actors.expert import ExpertActor
    from agentkit.actors.ordered_subgoals import OrderedSubgoalsActor
    from agentkit.actors.prompted import PromptedActor
    from agentkit.actors.readout import ConstrainedReadoutActor

_HOMES = {
    "BatchedActor": "agentkit.actors.batched",
    "ConstrainedReadoutActor": "agentkit.actors.readout",
    "ExpertActor": "agentkit.actors.expert",
    "OrderedSubgoalsActor": "agentkit.actors.ordered_subgoals",
    "PromptedActor": "agentkit.actors.prompted",
}

__all__ = [
    "BatchedActor",
    "ConstrainedReadoutActor",
    "ExpertActor",
    "OrderedSubgoalsActor",
    "PromptedActor",
    "RandomActor",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
