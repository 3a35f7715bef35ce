"""Names that say what a model's answers depend on, for caches."""

import hashlib
from typing import Any

_SAMPLED = 64


def wrapped_identity(wrapper: str, model: Any) -> str | None:
    """The identity of a wrapped model; None when the model has none of its own.

    >>> wrapped_identity("lettered", object()) is None
    True
    """
    own = getattr(model, "identity", None)
    return None if own is None else f"{wrapper}({own})"


def checkpoint_digest(model: Any, tokenizer: Any) -> str:
    """A digest of a torch model and its tokenizer, from evenly spaced weights of every parameter.

    Training moves practically every weight, so a sample tells checkpoints apart without reading gigabytes.
    """
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        flat = parameter.detach().reshape(-1)
        sample = flat[:: max(1, flat.numel() // _SAMPLED)][:_SAMPLED].float().cpu().numpy()
        digest.update(f"{name} {tuple(parameter.shape)} {parameter.dtype}".encode())
        digest.update(sample.tobytes())
    digest.update(f"{type(tokenizer).__name__} {len(tokenizer)} {tokenizer.chat_template}".encode())
    return digest.hexdigest()[:16]
