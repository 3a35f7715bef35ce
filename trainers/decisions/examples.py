"""`DecisionExample`: a question with its right answer, hard or soft; JSONL files and splits of such examples."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs
import numpy as np

from agentkit.decisions import Query
from agentkit.structuring import faults
from agentkit.trajectory import write_atomically


def _as_target(value: str | Sequence[float]) -> str | tuple[float, ...]:
    if isinstance(value, str):
        return value
    try:
        return tuple(map(float, value))
    except (TypeError, ValueError) as error:
        raise TypeError(f"target must be an option or one probability for each option, got {value!r}") from error


def _check_target(instance: "DecisionExample", attribute: "attrs.Attribute[Any]", value: str | tuple) -> None:
    options = instance.query.question.options
    if isinstance(value, str):
        if value not in options:
            raise ValueError(f"target {value!r} is none of the options {options!r}")
    elif len(value) != len(options):
        raise ValueError(f"target has {len(value)} probabilities for the {len(options)} options {options!r}")
    elif not all(math.isfinite(p) and p >= 0 for p in value) or abs(sum(value) - 1) > 1e-6:
        raise ValueError(f"target must be probabilities that sum to 1, got {value!r}")


def _check_query(instance: "DecisionExample", attribute: "attrs.Attribute[Query]", value: Query) -> None:
    options = value.question.options
    if len(options) < 2 or len(set(options)) != len(options):
        raise ValueError(f"an example needs at least two different options and none twice, got {options!r}")


@attrs.frozen
class DecisionExample:
    """One question and the answer that a model should learn to give.

    Raises:
        ValueError: fewer than two options, an option twice, or a target that is no distribution over them.
        TypeError: a target that is neither an option nor numbers.
    """

    query: Query = attrs.field(validator=_check_query)
    target: str | tuple[float, ...] = attrs.field(converter=_as_target, validator=_check_target)
    """The right option (a hard label), or a probability for each option in the question's order (a soft one)."""
    group: str = ""
    """The task that it comes from: examples of one group are held out together or not at all."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The label as a distribution, shape (K,): a hard one is certain of its option."""
        if isinstance(self.target, str):
            return tuple(float(option == self.target) for option in self.query.question.options)
        return self.target


def _text(value: Any, kind: Any) -> str:
    """cattrs alone would turn 3 into "3"."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {value!r}")
    return value


def _texts(value: Any, kind: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list of strings, got {value!r}")
    return tuple(_text(item, str) for item in value)


_converter = cattrs.Converter(forbid_extra_keys=True, omit_if_default=True)
_converter.register_structure_hook(str, _text)
_converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _texts)
_converter.register_structure_hook_func(lambda kind: kind == str | tuple[float, ...], lambda value, kind: value)


def example_to_dict(example: DecisionExample) -> dict[str, Any]:
    """The example as JSON values; fields at their default are left out."""
    return _converter.unstructure(example)


def example_from_dict(data: Any) -> DecisionExample:
    """The inverse of `example_to_dict`.

    Raises:
        ValueError: a field is missing, unknown, or of the wrong type; the message names it.
    """
    if not isinstance(data, dict):
        raise ValueError(f"an example is a JSON object, got {data!r}")
    try:
        return _converter.structure(data, DecisionExample)
    except Exception as error:
        raise ValueError(faults(error)) from error


def save_examples(path: str | os.PathLike[str], examples: Iterable[DecisionExample]) -> Path:
    """Write examples as JSONL (one a line, UTF-8), atomically, and return the path."""
    lines = (json.dumps(example_to_dict(example), ensure_ascii=False) + "\n" for example in examples)
    return write_atomically(path, "".join(lines))


def iterate_examples(path: str | os.PathLike[str]) -> Iterator[DecisionExample]:
    """Read a JSONL file one example at a time.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is not JSON, or not an example; the message names the file, the line and the field.
    """
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    yield example_from_dict(json.loads(line))
                except (ValueError, TypeError) as error:
                    raise ValueError(f"{path}, line {number}: {error}") from error


def load_examples(path: str | os.PathLike[str]) -> list[DecisionExample]:
    """Read a whole JSONL file; the errors are those of `iterate_examples`."""
    return list(iterate_examples(path))


def split_by_group(
    examples: Sequence[DecisionExample], held_out: float = 0.2, seed: int = 0
) -> tuple[list[DecisionExample], list[DecisionExample]]:
    """Training and held-out examples, without a task on both sides.

    Whole groups are drawn, in an order that depends on the seed and the groups' names alone, until the held-out ones
    have at least the wanted share of the examples; at least one group stays on either side.

    Raises:
        ValueError: the share is not in (0, 1), or there are fewer than two groups.
    """
    if not 0 < held_out < 1:
        raise ValueError(f"held_out must be a share in (0, 1), got {held_out!r}")
    groups = sorted({example.group for example in examples})
    if len(groups) < 2:
        raise ValueError(f"examples of {len(groups)} group(s) cannot be split by group; give each its task in 'group'")
    drawn: set[str] = set()
    sizes = {group: sum(example.group == group for example in examples) for group in groups}
    for index in np.random.default_rng(seed).permutation(len(groups))[:-1]:
        drawn.add(groups[index])
        if sum(sizes[group] for group in drawn) >= held_out * len(examples):
            break
    kept = [example for example in examples if example.group not in drawn]
    return kept, [example for example in examples if example.group in drawn]
