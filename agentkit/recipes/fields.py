"""Values for the fields of a configuration dataclass, checked by its own type hints."""

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from typing import Any

from agentkit.recipes.naming import suggestion


def check_fields(kind: type, values: Mapping[str, Any], where: str) -> None:
    """Check keys and types of values for a dataclass such as `AgentGRPOConfig`.

    What a value means (a range, an allowed word) is left to the dataclass.

    Raises:
        ValueError: an unknown key, with the nearest known one, or a value of a wrong type.
    """
    known = {f.name for f in dataclasses.fields(kind) if f.init}
    hints = typing.get_type_hints(kind)
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{where}: unknown key {name!r}{suggestion(name, known)}; it sets a {kind.__name__}")
        if not fits(value, hints[name]):
            raise ValueError(f"{where}.{name} must be {describe(hints[name])}, got {value!r}")


def fits(value: Any, hint: Any) -> bool:
    """Whether a YAML value has the type of the hint; an int is a float, a bool is no int.

    >>> fits(1, float), fits(True, int), fits("no", str | None), fits([1, "a"], list[int])
    (True, False, True, False)
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, (str, typing.TypeVar)):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is typing.Literal:
        return any(value == choice and type(value) is type(choice) for choice in arguments)
    if origin in (list, dict, tuple):
        items = value.values() if isinstance(value, dict) else value
        holds = isinstance(value, dict if origin is dict else (list, tuple))
        return holds and (not arguments or all(fits(item, arguments[-1]) for item in items))
    if hint in (bool, str, dict, list, types.NoneType):
        return isinstance(value, hint)
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return value in [member.value for member in hint]
    return True  # a class of its own: the dataclass converts what it understands


def describe(hint: Any) -> str:
    """A type hint in words.

    >>> describe(float | None)
    'a number or null'
    """
    names = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        types.NoneType: "null",
        dict: "a mapping",
        list: "a list",
    }
    if hint in names:
        return names[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(describe(argument) for argument in arguments))
    if origin is typing.Literal:
        return " or ".join(map(repr, arguments))
    if origin in names:
        return names[origin]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return "one of " + ", ".join(repr(member.value) for member in hint)
    return getattr(hint, "__name__", str(hint))
