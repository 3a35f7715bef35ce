"""`Journal`: results that were paid for, kept one JSON line each as they come, and read again after an interruption."""

import json
import logging
import os
from pathlib import Path
from typing import Any, Generic, TypeVar

import cattrs

from agentkit.appending import append_line
from agentkit.structuring import faults

logger = logging.getLogger(__name__)

Entry = TypeVar("Entry")


class Journal(Generic[Entry]):
    """A JSONL file of attrs objects that only grows.

    Args:
        path: the file; its folder is made when the first entry is added.
        kind: the attrs class of the entries.
    """

    def __init__(self, path: str | os.PathLike[str], kind: type[Entry]):
        self.path = Path(path)
        self._kind = kind
        self._converter = cattrs.Converter(forbid_extra_keys=True, omit_if_default=True)

    def entries(self) -> list[Entry]:
        """Everything that was added so far; a last line that was cut off is taken out of the file, and that is logged.

        Raises:
            ValueError: another line is not an entry; the message names the file and the line.
        """
        if not self.path.exists():
            return []
        whole, newline, rest = self.path.read_bytes().rpartition(b"\n")
        if rest:
            logger.warning("%s: the last line is cut off and taken out", self.path)
            os.truncate(self.path, len(whole) + len(newline))  # what is added next must not be glued to it
        lines = whole.decode("utf-8").split("\n")
        return [self._read(line, number) for number, line in enumerate(lines, start=1) if line.strip()]

    def add(self, entry: Entry) -> None:
        """Write one entry to the end of the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        values: Any = self._converter.unstructure(entry)
        append_line(self.path, json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n")

    def _read(self, line: str, number: int) -> Entry:
        try:
            return self._converter.structure(json.loads(line), self._kind)
        except Exception as error:
            reasons = str(error) if isinstance(error, json.JSONDecodeError) else faults(error)
            raise ValueError(
                f"{self.path}, line {number} is no {self._kind.__name__}: {reasons}; delete that line"
            ) from error
