"""YAML files as recipes: every key is known, every value has its type, and what is wrong is said in one line."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs

from agentkit.extras import require
from agentkit.recipes.naming import suggestion
from agentkit.recipes.recipe import KINDS, ModelSource, Part, Recipe, Tasks

_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
"""YAML 1.1 takes 1e-6 for a text, since it has no dot."""


def read_recipe(source: str | os.PathLike[str], changes: Sequence[str] = ()) -> Recipe:
    """A recipe from a YAML file, or from its kind alone (``grpo``, ``sft``, ``decision``).

    Args:
        source: the file, or a kind.
        changes: ``key=value`` each, values as in YAML: ``trainer.max_steps=10`` sets a key below another.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no YAML mapping, or a key or a value is wrong; the message names it.
    """
    name = os.fspath(source)
    if name in KINDS and not Path(name).exists():
        data: dict[str, Any] = {"kind": name}
    else:
        data = read_values(name)
    for change in changes:
        _apply(data, change)
    try:
        return structure_recipe(data)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def read_values(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The keys and values of a YAML file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no YAML mapping, or a key stands twice.
    """
    return _load(Path(path).read_text("utf-8"), os.fspath(path))


def structure_recipe(data: Mapping[str, Any]) -> Recipe:
    """A recipe from YAML values.

    Raises:
        ValueError: a key or a value is wrong; the message names it.
    """
    rest = dict(data)
    kind = rest.pop("kind", None)
    if kind not in KINDS:
        near = suggestion(str(kind), KINDS)
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}{near}")
    try:
        return _converter.structure(rest, KINDS[kind])
    except Exception as error:
        # cattrs wraps whatever a field raised; users want the keys by name, not an exception group.
        raise ValueError("; ".join(cattrs.transform_error(error, "recipe", format_exception=_in_words))) from error


def recipe_to_dict(recipe: Recipe) -> dict[str, Any]:
    """The recipe as YAML values, defaults included; `structure_recipe` takes them back."""
    kind = next(name for name, cls in KINDS.items() if isinstance(recipe, cls))
    return {"kind": kind, **_converter.unstructure(recipe)}


def to_yaml(data: Mapping[str, Any]) -> str:
    """YAML text of plain values, keys in their order."""
    return require("yaml", "train").safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=120)


def _load(text: str, name: str) -> dict[str, Any]:
    yaml = require("yaml", "train")

    class Loader(yaml.SafeLoader):
        """Reads 1e-6 as a number, and refuses a key that stands twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys = [key.value for key, _ in node.value]
            twice = sorted({key for key in keys if keys.count(key) > 1})
            if twice:
                raise ValueError(f"{name}, line {node.start_mark.line + 1}: the key {twice[0]!r} stands twice")
            return super().construct_mapping(node, deep)

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+0123456789"))
    try:
        data = yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{name} must hold a mapping that begins with kind, got {type(data).__name__}")
    return data


def _apply(data: dict[str, Any], change: str) -> None:
    key, separator, value = change.partition("=")
    if not separator or not key:
        raise ValueError(f"--set takes KEY=VALUE, such as trainer.max_steps=10; got {change!r}")
    *above, last = key.split(".")
    for part in above:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise ValueError(f"--set {change}: {part!r} holds a value, not keys")
    data[last] = _load(f"value: {value}", f"--set {change}")["value"]


def _exactly(value: Any, kind: type) -> Any:
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return kind(value)


def is_part(value: Any) -> bool:
    """Whether a YAML value stands for a part."""
    return isinstance(value, Mapping) and ("use" in value or "ref" in value)


def read_part(value: Any) -> Part:
    """``{use: NAME, ...}`` or ``{ref: NAME}``; ``{id: ID, ...}`` stands for ``{use: gymnasium:make, id: ID, ...}``.

    Raises:
        TypeError: anything else.
    """
    if isinstance(value, Mapping) and "id" in value and not is_part(value):
        value = {"use": "gymnasium:make", **value}
    if isinstance(value, Mapping) and isinstance(value.get("ref"), str) and len(value) == 1:
        return Part(use=value["ref"], called=False)
    if isinstance(value, Mapping) and isinstance(value.get("use"), str) and "ref" not in value:
        return Part(use=value["use"], arguments={k: v for k, v in value.items() if k != "use"})
    raise TypeError(f"expected a part, {{use: NAME, ...}} with its arguments or {{ref: NAME}} alone; got {value!r}")


def _part(value: Any, kind: type[Part]) -> Part:
    return read_part(value)


def _write_part(part: Part) -> dict[str, Any]:
    return {"use": part.use, **part.arguments} if part.called else {"ref": part.use}


def _examples(value: Any, kind: Any) -> str | Part:
    return value if isinstance(value, str) else read_part(value)


def _keys(kind: type, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    """A structure function of an attrs class that says so when it gets no mapping."""
    structure = cattrs.gen.make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True)
    names = ", ".join(field.name for field in attrs.fields(kind))

    def checked(value: Any, _: Any) -> Any:
        if kind is ModelSource and isinstance(value, str):
            return ModelSource(name=value)
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a mapping with the keys {names}, got {value!r}")
        return structure(value, kind)

    return checked


def _parts(value: Any, kind: Any) -> tuple[Part, ...]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list of parts, each {{use: NAME, ...}}; got {value!r}")
    return tuple(map(read_part, value))


def _mapping(value: Any, kind: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"expected keys with values, got {value!r}")
    return dict(value)


_converter = cattrs.Converter(forbid_extra_keys=True)
for _kind in (str, int, float, bool):
    _converter.register_structure_hook(_kind, _exactly)
for _class in (ModelSource, Tasks):
    _converter.register_structure_hook(_class, _keys(_class, _converter))
_converter.register_structure_hook(Part, _part)
_converter.register_structure_hook_func(lambda kind: kind == (str | Part), _examples)
_converter.register_structure_hook_func(lambda kind: kind == tuple[Part, ...], _parts)
_converter.register_structure_hook_func(lambda kind: kind == Mapping[str, Any], _mapping)
_converter.register_unstructure_hook(Part, _write_part)


def _in_words(error: BaseException, kind: type | None) -> str:
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(error.cl)]
        unknown = sorted(error.extra_fields)
        return ", ".join(f"unknown key {key!r}{suggestion(key, known)}" for key in unknown)
    if isinstance(error, KeyError):
        return f"{error.args[0]} must be given"
    own = isinstance(error, (TypeError, ValueError))
    return str(error.args[0]) if own and error.args else cattrs.v.format_exception(error, kind)
