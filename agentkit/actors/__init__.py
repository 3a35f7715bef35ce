"""Actors: callables ``actor(observation, info) -> action``."""

from typing import TYPE_CHECKING, Any

from agentkit.actors.chance import RandomActor

if TYPE_CHECKING:
    from agentkit.actors.expert import ExpertActor
    from agentkit.actors.readout import ConstrainedReadoutActor

_HOMES = {
    "ConstrainedReadoutActor": "agentkit.actors.readout",
    "ExpertActor": "agentkit.actors.expert",
}

__all__ = ["ConstrainedReadoutActor", "ExpertActor", "RandomActor"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
