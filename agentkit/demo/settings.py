"""What a demo run is, and the folder that it fills."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import attrs

from agentkit.trajectory import write_atomically

TEACHERS = ("oracle", "model")


@attrs.frozen(kw_only=True)
class DemoSettings:
    """Everything that a run depends on; a run is continued only under the same settings."""

    seed: int = 0
    games: int = attrs.field(default=12, validator=attrs.validators.ge(6))
    """How many games to make; at least one of each of the six task types."""
    played: int = attrs.field(default=4, validator=attrs.validators.ge(2))
    """Episodes played with the whole stack, in groups of two."""
    turns: int = attrs.field(default=8, validator=attrs.validators.ge(1))
    """The most actions of an episode."""
    updates: int = attrs.field(default=4, validator=attrs.validators.ge(1))
    """Optimizer steps; each plays one group."""
    group_size: int = attrs.field(default=4, validator=attrs.validators.ge(2))
    """Episodes in a group."""
    evaluated: int = attrs.field(default=4, validator=attrs.validators.ge(1))
    """Episodes for the success before and after."""
    teacher: str = attrs.field(default="oracle", validator=attrs.validators.in_(TEACHERS))
    """Whose scores train: the environment's ground truth, or the model's own hindsight judgement."""


@attrs.frozen
class DemoFolder:
    """The files of a run."""

    root: Path = attrs.field(converter=Path)

    @property
    def games(self) -> Path:
        """The ALFWORLD_DATA folder."""
        return self.root / "games"

    @property
    def episodes(self) -> Path:
        """The played episodes."""
        return self.root / "episodes.jsonl"

    @property
    def training(self) -> Path:
        """The trainer's output folder."""
        return self.root / "training"

    @property
    def rollouts(self) -> Path:
        """The training episodes with their advantages."""
        return self.training / "rollouts.jsonl"

    @property
    def metrics(self) -> Path:
        """The figures of the run; its presence marks a finished run."""
        return self.root / "metrics.json"

    @property
    def settings(self) -> Path:
        return self.root / "settings.json"

    @property
    def heatmap(self) -> Path:
        return self.root / "scores.png"

    @property
    def page(self) -> Path:
        return self.root / "index.html"

    def open(self, settings: DemoSettings, fresh: bool) -> bool:
        """Prepare the folder and say whether an unfinished run under the same settings goes on.

        A finished run, and one asked to be ``fresh``, starts over.

        Raises:
            OSError: the folder cannot be written to.
            ValueError: it holds an unfinished run with other settings, or files that are not of a demo.
        """
        self._check_writable()
        wanted = attrs.asdict(settings)
        if not self.settings.exists():
            if any(self.root.iterdir()):
                raise ValueError(f"{self.root} is not empty and holds no demo; choose another folder with --out")
        elif fresh or self.metrics.exists():
            for child in self.root.iterdir():
                shutil.rmtree(child) if child.is_dir() else child.unlink()
        elif json.loads(self.settings.read_text("utf-8")) == wanted:
            return True
        else:
            raise ValueError(
                f"{self.root} holds an unfinished demo with other settings; add --fresh to start over, or choose --out"
            )
        write_atomically(self.settings, json.dumps(wanted, indent=2) + "\n")
        return False

    def _check_writable(self) -> None:
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise OSError(
                f"cannot write to the output folder {self.root}: {reason}; choose another with --out"
            ) from error
