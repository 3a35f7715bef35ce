"""How models behind services travel to other processes: built anew there, with the key from the environment."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs


@attrs.frozen
class Travel:
    """What a model is built from in another process.

    Args:
        arguments: keyword arguments of its class.
        own: whether it has a client or a key of its own, which cannot or must not be sent.
        variable: the environment variable that holds the key instead.
    """

    arguments: Mapping[str, Any]
    own: bool
    variable: str

    def reduce(self, kind: type) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What ``__reduce__`` gives.

        Raises:
            TypeError: the model has a client or a key of its own.
        """
        if self.own:
            raise TypeError(
                f"a {kind.__name__} with a client or an api_key of its own is not sent to other processes, since keys "
                f"are not pickled; set {self.variable} and leave both out"
            )
        return _build, (kind, dict(self.arguments))


def _build(kind: type, arguments: Mapping[str, Any]) -> Any:
    return kind(**arguments)
