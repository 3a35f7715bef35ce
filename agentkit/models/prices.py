"""What tokens cost: a price table that can be read, edited and written as CSV."""

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import attrs

from agentkit.decisions import Usage

_COLUMNS = ("model", "input", "output")


@attrs.frozen
class Price:
    """US dollars per million tokens."""

    input: float = attrs.field(converter=float, validator=attrs.validators.ge(0.0))
    output: float = attrs.field(converter=float, validator=attrs.validators.ge(0.0))

    def dollars(self, usage: Usage) -> float:
        """What so many tokens cost.

        >>> Price(0.117, 0.455).dollars(Usage(input_tokens=1_000_000, output_tokens=2_000_000))
        1.027
        """
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


Prices: TypeAlias = Mapping[str, Price]

DEFAULT_PRICES: Prices = MappingProxyType(
    {
        "Qwen3-8B": Price(0.117, 0.455),
        "Qwen3.6-35B-A3B": Price(0.050, 0.700),
        "DeepSeek-V4-Flash": Price(0.068, 0.168),
        "Llama-3.1-8B-Instruct": Price(0.020, 0.040),
    }
)
"""Table 9 of the paper on comparison-only advisors (arXiv 2608.21027): OpenRouter list prices."""


def read_prices(path: str | os.PathLike[str]) -> dict[str, Price]:
    """The price table in a CSV file with the columns ``model,input,output`` (dollars per million tokens).

    Raises:
        ValueError: a column is missing, or a price is not a number of at least 0; the message names the line.
    """
    prices: dict[str, Price] = {}
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if not set(_COLUMNS) <= set(rows.fieldnames or ()):
            raise ValueError(
                f"{path}: the first line must name the columns {','.join(_COLUMNS)}, got {rows.fieldnames}"
            )
        for row in rows:
            try:
                prices[row["model"]] = Price(row["input"], row["output"])
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{path}, line {rows.line_num}: prices must be numbers of at least 0: {row}"
                ) from error
    return prices


def write_prices(path: str | os.PathLike[str], prices: Prices = DEFAULT_PRICES) -> None:
    """Write a price table for `read_prices`, to be edited; the file appears whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows((name, price.input, price.output) for name, price in prices.items())
    temporary = Path(f"{os.fspath(path)}.{os.getpid()}.tmp")
    temporary.write_text(text.getvalue(), encoding="utf-8")
    temporary.replace(path)
