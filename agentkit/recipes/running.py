"""Runs a recipe: checks it, trains, and leaves complete files whenever it stops."""

import gc
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from agentkit.recipes import building
from agentkit.recipes.checking import check_recipe
from agentkit.recipes.folder import RunFolder, is_main_process
from agentkit.recipes.recipe import DecisionRecipe, GRPORecipe, Recipe, SFTRecipe
from agentkit.trainers.robustness.quiet import quieten_libraries
from agentkit.trajectory import load_trajectories, write_atomically

Say = Callable[[str], None]


@attrs.frozen(kw_only=True)
class RunResult:
    """What a run came to."""

    folder: RunFolder
    finished: bool
    """False when it was asked to stop; ``--resume`` goes on."""
    metrics: dict[str, Any]
    """The last value of every logged figure; for decision models also held-out figures before and after."""


def run_recipe(recipe: Recipe, out: str | os.PathLike[str], *, resume: bool = False, say: Say = print) -> RunResult:
    """Train as the recipe says.

    Args:
        recipe: what to do.
        out: the run's folder.
        resume: go on with the unfinished run in ``out``.
        say: called with each message.

    Raises:
        ValueError: a key or a value of the recipe is wrong, or the folder holds another run.
        OSError: a file or a checkpoint is missing, or the folder cannot be written to.
        ImportError: an extra is missing; the message holds the pip line.
        KeyboardInterrupt: a second Ctrl-C; the last checkpoint is complete.
    """
    check_recipe(recipe)
    quieten_libraries()
    folder = RunFolder(Path(out))
    arguments = building.build_arguments(recipe, str(folder.root))
    if is_main_process():
        folder.check(recipe, resume)
    if folder.result.exists():
        say(f"the run in {folder.root} is finished")
        return RunResult(folder=folder, finished=True, metrics=json.loads(folder.result.read_text("utf-8")))
    return _train(recipe, folder, arguments, say)


def _train(recipe: Recipe, folder: RunFolder, arguments: Any, say: Say) -> RunResult:
    from agentkit.recipes.callbacks import GracefulStop, MetricsFile, ProgressLine

    stop = GracefulStop()
    trainer = _trainer(recipe, arguments, [MetricsFile(folder), ProgressLine(), stop])
    stop.go_with(trainer)
    _print_nothing_else(trainer)
    if is_main_process():  # not before, so that a recipe that cannot be built leaves nothing behind
        folder.begin(recipe, arguments.to_dict())
    last = folder.last_checkpoint()
    if last is not None:
        say(f"going on from {last}")
    measured = _measure(recipe, trainer, folder, "before") if last is None else _measured(folder)
    with stop.listening():
        trainer.train(resume_from_checkpoint=str(last) if last is not None else None)
    if stop.stopped:
        return RunResult(folder=folder, finished=False, metrics=_latest(trainer))
    metrics = {**_latest(trainer), **measured, **_measure(recipe, trainer, folder, "after")}
    _save(recipe, trainer, folder)
    if is_main_process():
        write_atomically(folder.result, json.dumps(metrics, indent=2) + "\n")
    return RunResult(folder=folder, finished=True, metrics=metrics)


def _trainer(recipe: Recipe, arguments: Any, callbacks: list[Any]) -> Any:
    if isinstance(recipe, GRPORecipe):
        return _grpo_trainer(recipe, arguments, callbacks)
    if isinstance(recipe, SFTRecipe):
        return _sft_trainer(recipe, arguments, callbacks)
    return _decision_trainer(recipe, arguments, callbacks)


def _grpo_trainer(recipe: GRPORecipe, arguments: Any, callbacks: list[Any]) -> Any:
    from agentkit.trainers import AgentGRPOTrainer
    from agentkit.trainers.grpo import tasks

    factory = building.build_factory(recipe.env)
    factory().close()  # data that are missing should be told before the model is loaded
    wrappers = [building.build_wrapper(part, f"wrappers[{i}]") for i, part in enumerate(recipe.wrappers)]
    terms = [building.build_part(part, f"terms[{i}]") for i, part in enumerate(recipe.terms)]
    model, tokenizer = building.load_model(recipe.model)
    return AgentGRPOTrainer(
        model,
        factory,
        arguments,
        wrappers=wrappers,
        credit_terms=terms,
        train_dataset=tasks(recipe.tasks.count, recipe.tasks.first_seed),
        processing_class=tokenizer,
        peft_config=building.build_peft(recipe),
        callbacks=callbacks,
    )


def _sft_trainer(recipe: SFTRecipe, arguments: Any, callbacks: list[Any]) -> Any:
    from agentkit.trainers.sft import sft_trainer

    episodes = load_trajectories(recipe.demonstrations)
    model, tokenizer = building.load_model(recipe.model)
    return sft_trainer(
        model,
        tokenizer,
        arguments,
        episodes,
        **building.build_wording(recipe, tokenizer),
        only_won=recipe.only_won,
        peft_config=building.build_peft(recipe),
        callbacks=callbacks,
    )


def _decision_trainer(recipe: DecisionRecipe, arguments: Any, callbacks: list[Any]) -> Any:
    from agentkit.trainers import DecisionTrainer, load_examples, split_by_group

    source = recipe.examples
    examples = load_examples(source) if isinstance(source, str) else building.build_part(source, "examples")
    training, held_out = split_by_group(examples, recipe.held_out, recipe.split_seed)
    model, tokenizer = building.load_model(recipe.model)
    peft = building.build_peft(recipe)
    return DecisionTrainer(model, tokenizer, arguments, training, held_out, peft_config=peft, callbacks=callbacks)


def _measure(recipe: Recipe, trainer: Any, folder: RunFolder, when: str) -> dict[str, Any]:
    """Held-out figures of a decision model, kept in a file, since a resumed run has no untrained model to measure."""
    if not isinstance(recipe, DecisionRecipe):
        return {}
    figures = {when: attrs.asdict(trainer.measure(trainer.eval_examples))}
    if is_main_process():
        write_atomically(folder.root / f"held_out_{when}.json", json.dumps(figures, indent=2) + "\n")
    return figures


def _measured(folder: RunFolder) -> dict[str, Any]:
    path = folder.root / "held_out_before.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def _save(recipe: Recipe, trainer: Any, folder: RunFolder) -> None:
    from agentkit.trainers.decisions.saving import save_whole

    if isinstance(recipe, DecisionRecipe):
        trainer.save_readout(folder.model)
    else:
        save_whole(trainer, folder.model)


def _print_nothing_else(trainer: Any) -> None:
    """The live line has the terminal to itself."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)


def _latest(trainer: Any) -> dict[str, Any]:
    return {name: value for entry in trainer.state.log_history for name, value in entry.items()}


def leave_processes() -> None:
    """End the talk between processes, once no trainer is used any more.

    Threads of a process group that something still refers to can abort an interpreter as it ends.
    """
    import torch.distributed

    gc.collect()  # trainers and their wrapped models refer to each other, and to the group
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()  # so that no process leaves while another still listens
        torch.distributed.destroy_process_group()
