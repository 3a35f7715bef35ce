"""Arguments that notice when they are deep-copied."""

from collections.abc import Mapping
from typing import Any


class CopiedError(Exception):
    """An argument was deep-copied; the message is its name."""


class Uncopyable:
    """Stands for an argument that can be called, and raises when it is deep-copied."""

    def __init__(self, argument: str, value: Any):
        self._argument, self._value = argument, value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._value(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_value"], name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        raise CopiedError(self._argument)


def guarded(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The same arguments, with those that can be called (judges, models) as `Uncopyable`."""
    return {
        name: Uncopyable(name, value) if callable(value) and not isinstance(value, type) else value
        for name, value in arguments.items()
    }
