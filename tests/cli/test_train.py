"""``agentkit train`` and ``agentkit report RUN``: interrupted with a real Ctrl-C, resumed, drawn; and bad input."""

import json
import signal
import subprocess
import sys

import pytest

pytest.importorskip("typer")
pytest.importorskip("trl")
pytest.importorskip("yaml")

from typer.testing import CliRunner

from agentkit.cli.app import app
from agentkit.cli.train import default_folder
from agentkit.decisions import Query, Question
from agentkit.recipes.reading import to_yaml
from agentkit.trainers import DecisionExample, save_examples

COMMAND = [sys.executable, "-m", "agentkit.cli"]


@pytest.fixture
def recipe(tiny, tmp_path):
    """A recipe that trains a random two-layer model for 30 quick steps."""
    model = tmp_path / "tiny"
    tiny.model.save_pretrained(model)
    tiny.tokenizer.save_pretrained(model)
    question = Question("Which?", "choice", ("left", "right"))
    examples = [DecisionExample(Query(f"Room {i}.", question), "right", f"task {i}") for i in range(6)]
    data = {
        "kind": "decision",
        "model": str(model),
        "examples": str(save_examples(tmp_path / "examples.jsonl", examples)),
        "trainer": {"max_steps": 30, "per_device_train_batch_size": 2, "use_cpu": True, "bf16": False},
    }
    path = tmp_path / "recipe.yaml"
    path.write_text(to_yaml(data), encoding="utf-8")
    return path


def start(*arguments, cwd):
    return subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=-1, stderr=-1, cwd=cwd)


@pytest.mark.slow
def test_a_run_is_interrupted_resumed_and_reported(recipe, tmp_path):
    process = start("train", recipe, cwd=tmp_path)
    assert process.stderr is not None
    seen = b""
    while b" 3/30 " not in seen:  # the live line
        byte = process.stderr.read(1)
        assert byte, seen.decode()
        seen += byte
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=250)
    assert process.returncode == 1
    assert b"stopping after this step" in said
    assert f"Go on with: agentkit train {recipe} --out runs/recipe --resume" in said.decode()
    assert b"Traceback" not in said

    run = tmp_path / "runs" / "recipe"
    process = start("train", run / "config.yaml", "--resume", cwd=tmp_path)
    out, said = process.communicate(timeout=250)
    assert process.returncode == 0, said.decode()
    assert b"going on from" in said
    assert b"agentkit report" in out
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in steps if "loss" in entry] == list(range(1, 31))

    done = CliRunner().invoke(app, ["report", str(run)])
    assert done.exit_code == 0, done.output
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "Training run recipe" in (run / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--set", "trainer.learning_rat=1"], r"unknown key 'learning_rat' (did you mean 'learning_rate'?)"),
        (["--set", "trainer.max_steps=many"], "trainer.max_steps must be a whole number, got 'many'"),
        (["--set", "examples=absent.jsonl"], "absent.jsonl"),
        (["--set", "held_out=2"], "held_out must be a share in (0, 1), got 2.0"),
        (["--set", "nonsense"], "--set takes KEY=VALUE"),
        (["--resume"], "holds no run to resume"),
    ],
)
def test_bad_input_is_one_line_that_names_it(recipe, tmp_path, monkeypatch, changes, message):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["train", str(recipe), *changes])
    assert done.exit_code == 1
    assert isinstance(done.exception, (ValueError, OSError)), done.exception
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not (tmp_path / "runs").exists()


def test_a_recipe_or_a_run_that_is_not_there_is_named(tmp_path):
    done = CliRunner().invoke(app, ["train", "absent.yaml"])
    assert "absent.yaml" in str(done.exception)
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert "holds no training run" in str(done.exception)


@pytest.mark.parametrize(
    ("config", "folder"), [("examples/a.yaml", "runs/a"), ("sft", "runs/sft"), ("runs/x/config.yaml", "runs/x")]
)
def test_a_run_goes_under_its_recipes_name(config, folder):
    assert default_folder(config).as_posix() == folder
