"""Names that say what a model's answers depend on, for caches."""

from typing import Any


def wrapped_identity(wrapper: str, model: Any) -> str | None:
    """The identity of a wrapped model; None when the model has none of its own.

    >>> wrapped_identity("lettered", object()) is None
    True
    """
    own = getattr(model, "identity", None)
    return None if own is None else f"{wrapper}({own})"
