"""Wrapper arguments that are models: shared instead of copied, or named by an import string."""

import importlib
from typing import Any

import attrs


@attrs.frozen
class Shared:
    """Holds a constructor argument that must not be deep-copied.

    Gymnasium deep-copies recorded arguments at construction, in ``env.spec`` and in ``gym.make``; a judge that holds a
    language model would be copied three times.
    """

    value: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> "Shared":
        return self


def record(argument: Any) -> Any:
    """The form in which an argument is recorded: strings and numbers as they are, anything else shared."""
    return argument if argument is None or isinstance(argument, (str, int, float, bool, Shared)) else Shared(argument)


def resolve(argument: Any, name: str) -> Any:
    """The object that an argument stands for.

    ``"package.module:attribute"`` is imported (and called without arguments when it ends in ``()``), so that a spec
    with such an argument survives JSON.

    Raises:
        ValueError: a string that is not of this form.
        ImportError: the module or the attribute does not exist.
    """
    if isinstance(argument, Shared):
        return argument.value
    if not isinstance(argument, str):
        return argument
    module, separator, attribute = argument.partition(":")
    if not separator or not module or not attribute:
        raise ValueError(f"{name} must be an object or a string 'package.module:attribute', got {argument!r}")
    try:
        found = getattr(importlib.import_module(module), attribute.removesuffix("()"))
    except AttributeError as error:
        raise ImportError(f"{name}={argument!r}: {error}") from error
    return found() if attribute.endswith("()") else found
