"""JSON files that hold one value of an attrs class, with every fault named."""

import json
import os
from pathlib import Path
from typing import Any, TypeVar

import cattrs

Value = TypeVar("Value")


def read_json(path: str | os.PathLike[str], kind: type[Value], name: str) -> Value:
    """The value in a JSON file.

    Args:
        path: the file.
        kind: an attrs class, or a container of such.
        name: what the file should hold, in words, for the error.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not JSON, or not of that kind; the message names the file and the fields at fault.
    """
    text = Path(path).read_text(encoding="utf-8")
    try:
        return cattrs.Converter(forbid_extra_keys=True).structure(json.loads(text), kind)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    except Exception as error:
        raise ValueError(f"{path} holds no {name}: {faults(error)}") from error


def faults(error: Exception) -> str:
    """What is wrong with values that cattrs refused: the fields by name, in a validator's own words where it has some.

    cattrs raises whatever a field raised, in a group.
    """
    return "; ".join(cattrs.transform_error(error, format_exception=_in_words))


def _in_words(error: BaseException, kind: Any) -> str:
    own = isinstance(error, (TypeError, ValueError)) and error.args
    return str(error.args[0]) if own else cattrs.v.format_exception(error, kind)
