"""Decision models: local readouts, chat models and services behind one call, ``decide(queries) -> decisions``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.models.packaged import smollm2
    from agentkit.models.readout import ConstrainedReadout

_HOMES = {
    "ConstrainedReadout": "agentkit.models.readout",
    "smollm2": "agentkit.models.packaged",
}

__all__ = ["ConstrainedReadout", "smollm2"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, since these modules need torch or a client library.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
