"""Checks, at import, that TRL is a version this trainer was tested on and that what it overrides is still there.

Most of the hooks are private. A TRL that renamed one would otherwise train on, silently without our part in it.
"""

import inspect
from collections.abc import Mapping
from types import MappingProxyType

import trl
from packaging.version import Version
from trl import GRPOTrainer

TESTED = ("1.16", "1.17")
"""From the first version that was tested to the first one that was not."""

HOOKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "_prepare_inputs": ("generation_batch",),
        "_generate_and_score_completions": ("inputs",),
        "_calculate_rewards": ("inputs", "prompts", "completions", "completion_ids_list"),
        "_compute_loss": ("model", "inputs"),
        "_get_per_token_logps_and_entropies": (
            "model",
            "input_ids",
            "attention_mask",
            "logits_to_keep",
            "batch_size",
            "compute_entropy",
            "compute_aux_loss",
        ),
        "training_step": ("model", "inputs", "num_items_in_batch"),
    }
)
"""Each method that is overridden or relied upon, with the arguments it must begin with."""


def check_trl(version: str = trl.__version__, trainer: type = GRPOTrainer) -> None:
    """Refuse a TRL that was not tested.

    Raises:
        ImportError: the version is outside `TESTED`, or a hook is gone or has other arguments.
    """
    mend = f'run: pip install "trl>={TESTED[0]},<{TESTED[1]}"'
    if not Version(TESTED[0]) <= Version(version) < Version(TESTED[1]):
        raise ImportError(f"agentkit.trainers was tested with trl {TESTED[0]} and this is {version}; {mend}")
    for name, expected in HOOKS.items():
        method = getattr(trainer, name, None)
        if method is None:
            raise ImportError(f"this trl ({version}) has no GRPOTrainer.{name}; {mend}")
        found = tuple(inspect.signature(method).parameters)[1 : len(expected) + 1]
        if found != expected:
            raise ImportError(f"GRPOTrainer.{name} of this trl ({version}) takes {found}, expected {expected}; {mend}")
