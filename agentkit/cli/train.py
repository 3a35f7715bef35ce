"""``agentkit train``: a recipe in, a run folder out."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from agentkit.recipes import read_recipe
from agentkit.recipes.folder import is_main_process
from agentkit.recipes.running import leave_processes, run_recipe


def train(config: str, *, out: Path | None, changes: Sequence[str], resume: bool) -> None:
    """Run the recipe; Ctrl-C leaves complete files and says how to go on."""
    recipe = read_recipe(config, changes)
    folder = out if out is not None else default_folder(config)
    again = resume_command(config, folder, changes)
    try:
        result = run_recipe(recipe, folder, resume=resume, say=lambda line: print(line, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        sys.exit(f"\nstopped at once; the last checkpoint in {folder} is complete. Go on with: {again}")
    leave_processes()
    if not is_main_process():
        return
    if not result.finished:
        sys.exit(f"\nstopped; what is in {folder} is complete. Go on with: {again}")
    print(f"\nthe trained model: {result.folder.model}\nthe curves: agentkit report {folder}")


def default_folder(config: str) -> Path:
    """Where a run goes that names no folder: beside others, under the recipe's name."""
    path = Path(config)
    return path.parent if path.name == "config.yaml" else Path("runs") / path.stem


def resume_command(config: str, folder: Path, changes: Sequence[str]) -> str:
    """The command that goes on with a stopped run.

    >>> resume_command("a.yaml", Path("runs/a"), ["trainer.max_steps=3"])
    'agentkit train a.yaml --set trainer.max_steps=3 --out runs/a --resume'
    """
    options = [word for change in changes for word in ("--set", change)]
    return shlex.join(["agentkit", "train", config, *options, "--out", str(folder), "--resume"])
