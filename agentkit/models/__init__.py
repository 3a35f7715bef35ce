"""Decision models: local readouts, chat models and services behind one call, ``decide(queries) -> decisions``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.models.cached import Cached
    from agentkit.models.calibration import Calibrated
    from agentkit.models.labels import Lettered, Listed
    from agentkit.models.limits import Limits
    from agentkit.models.openai_decisions import OpenAIDecisions
    from agentkit.models.packaged import smollm2
    from agentkit.models.prompted import Prompted
    from agentkit.models.readout import ConstrainedReadout
    from agentkit.models.rotations import Rotated
    from agentkit.models.system_one import SystemOne
    from agentkit.models.transformers_decision import TransformersDecision
    from agentkit.models.usage import UsageMeter

_HOMES = {
    "Cached": "agentkit.models.cached",
    "Calibrated": "agentkit.models.calibration",
    "ConstrainedReadout": "agentkit.models.readout",
    "Lettered": "agentkit.models.labels",
    "Listed": "agentkit.models.labels",
    "Limits": "agentkit.models.limits",
    "OpenAIDecisions": "agentkit.models.openai_decisions",
    "Prompted": "agentkit.models.prompted",
    "Rotated": "agentkit.models.rotations",
    "SystemOne": "agentkit.models.system_one",
    "TransformersDecision": "agentkit.models.transformers_decision",
    "UsageMeter": "agentkit.models.usage",
    "smollm2": "agentkit.models.packaged",
}
_NEEDS = {"ConstrainedReadout": ("torch", "transformers")}

__all__ = [
    "Cached",
    "Calibrated",
    "ConstrainedReadout",
    "Lettered",
    "Limits",
    "Listed",
    "OpenAIDecisions",
    "Prompted",
    "Rotated",
    "SystemOne",
    "TransformersDecision",
    "UsageMeter",
    "smollm2",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use, since these modules need torch or a client library.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    from agentkit.extras import require

    for library in _NEEDS.get(name, ()):
        require(library, "models")
    return getattr(importlib.import_module(_HOMES[name]), name)
