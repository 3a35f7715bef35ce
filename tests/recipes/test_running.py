"""Runs from recipes: complete files, stops that lose nothing, and errors before anything is trained."""

import json
import os
import signal
from types import SimpleNamespace

import pytest

pytest.importorskip("trl")
pytest.importorskip("yaml")

import torch
from safetensors.torch import load_file
from transformers import TrainerControl

from agentkit.actors import RandomActor
from agentkit.models import ConstrainedReadout
from agentkit.recipes import read_recipe
from agentkit.recipes.callbacks import GracefulStop, shown_figures
from agentkit.recipes.folder import RunFolder
from agentkit.recipes.reading import structure_recipe
from agentkit.recipes.running import run_recipe
from agentkit.report import write_run_page
from agentkit.rollout import rollout
from agentkit.testing import ScriptedEnv
from agentkit.trainers import DecisionExample, save_examples
from agentkit.trainers.robustness.resume import SaveBetweenRollouts
from agentkit.trajectory import load_trajectories, save_trajectories
from tests.recipes.conftest import QUICK


def run(data, out, **options):
    said = []
    return run_recipe(structure_recipe(data), out, say=said.append, **options), said


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_grpo_run_leaves_all_its_files_and_a_page(grpo, tmp_path, capsys):
    result, _ = run(grpo, tmp_path / "run")
    assert result.finished
    folder = result.folder
    assert read_recipe(folder.config) == structure_recipe(grpo)
    assert "learning_rate: 0.01" in folder.arguments.read_text()
    assert [entry["step"] for entry in lines(folder.metrics) if "loss" in entry] == [1, 2]
    assert {"episodes/success", "credit/step_scores/mean"} <= set(lines(folder.metrics)[0])
    assert len(load_trajectories(folder.root / "rollouts.jsonl")) == 4
    assert ConstrainedReadout.from_pretrained(str(folder.model)).encoder.terminator
    assert "credit" in json.dumps(json.loads(folder.result.read_text()))
    page = write_run_page(folder.root).read_text("utf-8")
    assert "The latest 4 of 4 episodes" in page
    bar = capsys.readouterr().err
    assert "2/2" in bar
    assert "loss" in bar
    assert "success" in bar
    assert run(grpo, folder.root, resume=True)[1] == [f"the run in {folder.root} is finished"]


def stopping_at(step, signals=1):
    """Sends this process signals, as Ctrl-C does, when a step begins."""

    class Interrupts(GracefulStop):
        def on_step_begin(self, args, state, control, **kwargs):
            if state.global_step == step - 1:
                for _ in range(signals):
                    os.kill(os.getpid(), signal.SIGINT)

    return Interrupts


def examples(tmp_path):
    from agentkit.decisions import Query, Question

    question = Question("Which?", "choice", ("left", "right"))
    kept = [DecisionExample(Query(f"Room {i}.", question), "right", f"task {i}") for i in range(6)]
    return str(save_examples(tmp_path / "examples.jsonl", kept))


def decision(tiny_folder, tmp_path, **trainer):
    return {
        "kind": "decision",
        "model": tiny_folder,
        "examples": examples(tmp_path),
        "held_out": 0.3,
        "trainer": {**QUICK, "max_steps": 4, "per_device_train_batch_size": 2, **trainer},
    }


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupted_run_goes_on_to_the_weights_of_an_uninterrupted_one(
    tiny_folder, tmp_path, monkeypatch, capsys, signals
):
    data = decision(tiny_folder, tmp_path)
    whole, _ = run(data, tmp_path / "whole")
    monkeypatch.setattr("agentkit.recipes.callbacks.GracefulStop", stopping_at(3, signals))
    if signals == 1:
        assert not run(data, tmp_path / "cut")[0].finished
        assert "stopping after this step" in capsys.readouterr().err
    else:
        with pytest.raises(KeyboardInterrupt):
            run(data, tmp_path / "cut")
    monkeypatch.undo()
    folder = RunFolder(tmp_path / "cut")
    assert not folder.result.exists()
    assert folder.last_checkpoint() == folder.root / f"checkpoint-{3 if signals == 1 else 2}"
    with pytest.raises(ValueError, match="holds a run; add --resume"):
        run(data, folder.root)
    result, said = run(data, folder.root, resume=True)
    assert result.finished
    assert said[0].startswith("going on from")
    assert [entry["step"] for entry in lines(folder.metrics) if "loss" in entry] == [1, 2, 3, 4]
    ends = [load_file(str(r.folder.model / "model.safetensors")) for r in (whole, result)]
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
    assert result.metrics["before"] == whole.metrics["before"]
    assert result.metrics["after"] == whole.metrics["after"]


def test_an_interrupted_grpo_run_plays_no_episode_twice(grpo, tmp_path, monkeypatch):
    monkeypatch.setattr("agentkit.recipes.callbacks.GracefulStop", stopping_at(1))
    assert not run(grpo, tmp_path / "run")[0].finished
    monkeypatch.undo()
    result, _ = run(grpo, tmp_path / "run", resume=True)
    played = load_trajectories(result.folder.root / "rollouts.jsonl")
    assert [t.group for t in played] == ["step-0-group-0"] * 2 + ["step-1-group-0"] * 2
    assert [entry["step"] for entry in lines(result.folder.metrics) if "loss" in entry] == [1, 2]


def test_a_decision_run_measures_before_and_after_and_saves_a_readout(tiny_folder, tmp_path):
    result, _ = run(decision(tiny_folder, tmp_path, labels="letters", max_steps=8), tmp_path / "run")
    assert result.metrics["after"]["nll"] < result.metrics["before"]["nll"]
    assert ConstrainedReadout.from_pretrained(str(result.folder.model)).labels == "letters"
    assert json.loads((result.folder.root / "held_out_after.json").read_text())["after"]["examples"] == 2


def test_a_warm_start_reads_demonstrations(tiny_folder, tmp_path):
    path = save_trajectories(tmp_path / "demos.jsonl", rollout(ScriptedEnv(), RandomActor(seed=0), 4, seed=0))
    data = {"kind": "sft", "model": tiny_folder, "demonstrations": str(path), "only_won": False}
    data["prompt"] = {"prompt_style": "windowed"}
    data["trainer"] = {**QUICK, "per_device_train_batch_size": 1, "gradient_checkpointing": False}
    result, _ = run(data, tmp_path / "run")
    assert result.metrics["loss"] > 0
    assert (result.folder.model / "model.safetensors").exists()
    data["prompt"] = {"action_style": "generated"}
    with pytest.raises(ValueError, match=r"prompt\.thought must be false"):
        run(data, tmp_path / "other")


def test_a_stop_waits_for_the_last_step_of_a_batch_of_rollouts():
    handler = SimpleNamespace(callbacks=[SaveBetweenRollouts(3)])
    stop = GracefulStop()
    stop.go_with(SimpleNamespace(callback_handler=handler))
    stop.asked = True
    ended = []
    for step in range(1, 7):
        control = TrainerControl()
        stop.on_step_end(SimpleNamespace(device="cpu"), SimpleNamespace(global_step=step, max_steps=6), control)
        ended.append((control.should_training_stop, control.should_save))
    assert ended == [(step == 3, step == 3) for step in range(1, 7)]


def test_a_folder_of_something_else_is_left_alone(grpo, tmp_path):
    recipe = structure_recipe(grpo)
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty and holds no run; choose another --out"):
        RunFolder(tmp_path).check(recipe, resume=False)
    with pytest.raises(ValueError, match="holds no run to resume"):
        RunFolder(tmp_path / "new").check(recipe, resume=True)


def test_other_settings_are_not_mixed_in_and_named(grpo, tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin(structure_recipe(grpo), {})
    folder.check(structure_recipe(grpo), resume=True)
    grpo["trainer"]["learning_rate"] = 0.5
    with pytest.raises(ValueError, match=r"other settings \(trainer\.learning_rate\); resume it with: agentkit train"):
        folder.check(structure_recipe(grpo), resume=True)


def test_figures_after_the_checkpoint_are_dropped(tmp_path):
    folder = RunFolder(tmp_path)
    folder.metrics.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"st')
    folder.forget_after(2)
    assert lines(folder.metrics) == [{"step": 1}, {"step": 2}]


def test_the_live_line_shows_what_was_logged():
    shown = shown_figures(
        {"loss": 0.25, "episodes/success": 0.5, "reward": 1, "credit/unscored": 0.1, "grad_norm": 9.0}
    )
    assert shown == {"loss": 0.25, "success": 0.5, "reward": 1.0, "unscored": 0.1}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("trainer", {"num_generations": 1, "use_cpu": True, "bf16": False}, "trainer: .*generations"),
        ("peft", {"r": -1}, "`r` should be a positive integer"),
        ("env", {"use": "agentkit.testing:ScriptedEnv", "states": {}}, r"env \(agentkit.testing:ScriptedEnv\): "),
    ],
)
def test_what_a_configuration_refuses_is_said_before_training(grpo, tmp_path, key, value, message):
    grpo[key] = value
    with pytest.raises(ValueError, match=message):
        run(grpo, tmp_path / "run")
    assert not (tmp_path / "run").exists()
