"""The folder that a run fills."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from agentkit.recipes.reading import read_values, recipe_to_dict, to_yaml
from agentkit.recipes.recipe import Recipe
from agentkit.report.run import METRICS_FILE
from agentkit.trajectory import write_atomically


@attrs.frozen
class RunFolder:
    """The files of a run."""

    root: Path = attrs.field(converter=Path)

    @property
    def config(self) -> Path:
        """The recipe with every change and default; ``agentkit train`` takes it."""
        return self.root / "config.yaml"

    @property
    def arguments(self) -> Path:
        """The final value of every option of the trainer."""
        return self.root / "arguments.yaml"

    @property
    def metrics(self) -> Path:
        """A line of figures for each logged step."""
        return self.root / METRICS_FILE

    @property
    def model(self) -> Path:
        """The trained model, with its tokenizer."""
        return self.root / "model"

    @property
    def result(self) -> Path:
        """The figures of the run; its presence marks a finished run."""
        return self.root / "result.json"

    def check(self, recipe: Recipe, resume: bool) -> None:
        """Refuse a folder that the run cannot go into; nothing is written.

        Raises:
            ValueError: it holds a run and ``resume`` is false, or another run (or none) and ``resume`` is true.
        """
        if self.config.exists():
            if not resume:
                raise ValueError(f"{self.root} holds a run; add --resume to go on with it, or choose another --out")
            self._check_same(recipe_to_dict(recipe))
        elif resume:
            raise ValueError(f"{self.root} holds no run to resume (no {self.config.name}); leave out --resume")
        elif self.root.exists() and any(self.root.iterdir()):
            raise ValueError(f"{self.root} is not empty and holds no run; choose another --out")

    def begin(self, recipe: Recipe, arguments: Mapping[str, Any]) -> None:
        """Write down what is run.

        Raises:
            OSError: the folder cannot be written to.
        """
        write_atomically(self.config, to_yaml(recipe_to_dict(recipe)))
        write_atomically(self.arguments, to_yaml(_plain(arguments)))

    def _check_same(self, wanted: dict[str, Any]) -> None:
        there = read_values(self.config)
        different = sorted(set(_flat(there).items()) ^ set(_flat(wanted).items()))
        if different:
            keys = ", ".join(dict.fromkeys(key for key, _ in different))
            raise ValueError(
                f"{self.root} holds a run with other settings ({keys}); resume it with: "
                f"agentkit train {self.config} --out {self.root} --resume"
            )

    def last_checkpoint(self) -> Path | None:
        """The last checkpoint that was written whole."""
        from agentkit.trainers.robustness.resume import last_complete_checkpoint

        return last_complete_checkpoint(self.root)

    def forget_after(self, step: int) -> None:
        """Drop the figures of steps after a checkpoint: they will be made again."""
        if self.metrics.exists():
            lines = self.metrics.read_text("utf-8").splitlines(keepends=True)
            kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
            write_atomically(self.metrics, "".join(kept))


def is_main_process() -> bool:
    """Whether this is the process that writes, among those that ``accelerate launch`` started."""
    return int(os.environ.get("RANK", "0")) == 0


def _plain(values: Any) -> Any:
    """Options as YAML can hold them."""
    if isinstance(values, Mapping):
        return {str(name): _plain(value) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [_plain(value) for value in values]
    return values if values is None or isinstance(values, (bool, int, float, str)) else str(values)


def _flat(values: Any, key: str = "") -> dict[str, str]:
    if isinstance(values, dict) and values:
        return {k: v for name, item in values.items() for k, v in _flat(item, f"{key}.{name}".lstrip(".")).items()}
    return {key: json.dumps(values)}
