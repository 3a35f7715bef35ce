"""A trained model as an ordinary checkpoint folder, whole or not at all."""

import copy
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def save_whole(
    trainer: Any, folder: str | os.PathLike[str], complete: Callable[[Path], Any] = lambda folder: None
) -> Path:
    """Write the trainer's model and tokenizer to ``folder``, which appears (or is replaced) as a whole.

    Every process calls it, since sharded weights are gathered from all; the main one writes. An adapter is merged into
    a copy of the weights, so that the folder loads without PEFT.

    Args:
        trainer: a `transformers.Trainer`.
        folder: where the checkpoint goes.
        complete: writes further files into the folder that it is given, before it is put in place.
    """
    target = Path(folder)
    partial = target.with_name(f".{target.name}.part")
    if trainer.args.should_save:
        shutil.rmtree(partial, ignore_errors=True)
    if not hasattr(trainer.accelerator.unwrap_model(trainer.model), "merge_and_unload"):
        trainer.save_model(str(partial))
    elif trainer.args.should_save:
        copied: Any = copy.deepcopy(trainer.accelerator.unwrap_model(trainer.model))
        copied.merge_and_unload().save_pretrained(partial)
        trainer.processing_class.save_pretrained(partial)
    if trainer.args.should_save:
        (partial / "training_args.bin").unlink(missing_ok=True)  # a pickle, which no reader of the folder needs
        complete(partial)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    return target
