"""Calling a Hugging Face causal LM with masks of one's own, for the logits that are wanted and no others."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def output_of(model: Any, pick: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Within it, the model's logits are those of ``pick(hidden)``.

    For a large vocabulary the output embeddings are most of the work and of the memory. Whatever a model does to its
    logits afterwards (scaling, soft capping) it still does.

    Args:
        model: a Hugging Face causal LM.
        pick: hidden states of shape (B, S, H) -> those wanted, of shape (b, s, H).
    """

    def replace(_: Any, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        return (pick(arguments[0]),)

    hook = model.get_output_embeddings().register_forward_pre_hook(replace)
    try:
        yield
    finally:
        hook.remove()


def cache_argument(model: Any) -> str:
    """The name under which a model's forward takes its keys and values; it changes during transformers 5."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "cache" if "cache" in inspect.signature(type(base).forward).parameters else "past_key_values"


def takes_boolean_masks(model: Any) -> bool:
    """Whether attention takes a boolean mask per pair of tokens (``sdpa``), or one that is added (``eager``).

    Raises:
        ValueError: it takes neither.
    """
    attention = getattr(model.config, "_attn_implementation", "eager")
    if attention not in ("sdpa", "eager"):
        raise ValueError(f"attention {attention!r} takes no custom mask; load with attn_implementation='sdpa'")
    return attention == "sdpa"


def attention_mask(model: Any, visible: torch.Tensor) -> torch.Tensor:
    """A mask of shape (B, 1, S, L), True where a token sees another, in the form that the model's attention takes."""
    if takes_boolean_masks(model):
        return visible
    lowest = torch.finfo(model.dtype).min
    return torch.zeros(visible.shape, dtype=model.dtype, device=visible.device).masked_fill(~visible, lowest)
