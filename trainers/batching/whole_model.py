"""A model whose parameters are spread over processes, put together for rollouts."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from trl.models import unwrap_model_for_generation


@contextmanager
def whole_model(trainer: Any) -> Iterator[Any]:
    """The trainer's bare model, ready for forward passes that other processes do not take part in.

    Rollouts make as many passes as their episodes have turns, which differs between processes; sharded parameters must
    therefore be gathered before. DDP needs nothing, DeepSpeed ZeRO-3 and FSDP hold the whole model meanwhile.
    """
    model = trainer.model_wrapped
    with ExitStack() as stack:
        unwrapped = stack.enter_context(
            unwrap_model_for_generation(
                model, trainer.accelerator, gather_deepspeed3_params=trainer.args.ds3_gather_for_generation
            )
        )
        if trainer.accelerator.is_fsdp2:
            stack.enter_context(_unsharded(model))
        else:
            stack.enter_context(trainer._dist.summon_full_params(model, writeback=False))
        stack.enter_context(torch.no_grad())
        stack.enter_context(trainer.accelerator.autocast())
        training = unwrapped.training
        stack.callback(unwrapped.train, training)
        unwrapped.eval()
        yield unwrapped


@contextmanager
def _unsharded(model: Any) -> Iterator[None]:
    """FSDP2: gather every module's parameters once, and keep them until the end."""
    from torch.distributed.fsdp import FSDPModule

    modules = [module for module in model.modules() if isinstance(module, FSDPModule)]
    for module in modules:
        module.set_reshard_after_forward(False, recurse=False)
        module.unshard()
    try:
        yield
    finally:
        for module in modules:
            module.reshard()
            # Accelerate's default: the parameters of a block are freed again after its forward pass.
            module.set_reshard_after_forward(module is not model, recurse=False)
