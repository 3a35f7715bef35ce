"""``agentkit screen`` and ``agentkit diagnose``: real episodes and games in, tables and figures out."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from agentkit.actors import ExpertActor, MistakenActor
from agentkit.cli.judge_naming import make_judge
from agentkit.judges import NoisyOracle, OracleJudge
from agentkit.rollout import play_episode
from agentkit.trajectory import load_trajectories, save_trajectories


def agentkit(*arguments, cwd=None, **variables):
    command = [sys.executable, "-c", "from agentkit.cli import main; main()", *map(str, arguments)]
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": root, **variables}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, timeout=280, check=False)


@pytest.fixture(scope="module")
def episodes(alfworld_data, tmp_path_factory):
    """A file of 40 real episodes by an expert that errs."""
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_seen", max_steps=20)
    actor = MistakenActor(ExpertActor("planner", env), 0.5, seed=0)
    played = [play_episode(env, actor, seed=seed) for seed in range(40)]
    return save_trajectories(tmp_path_factory.mktemp("episodes") / "episodes.jsonl", played)


def test_screen_prints_the_table_and_writes_everything(episodes, tmp_path):
    (tmp_path / "mine.py").write_text(
        "def careful(trajectory):\n    return [0.2 if s.state_changed is False else 0.8 for s in trajectory.steps]\n"
    )
    judges = ["--judge", "oracle", "--judge", "noisy-oracle:0.5", "--judge", "mine:careful"]
    done = agentkit("screen", episodes, *judges, "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^oracle \(truth\) +1\.000 +0\.500 +0\.000 +\+1\.000", done.stdout, re.MULTILINE)
    assert re.search(r"^mine:careful +0\.800 +0\.800 +0\.200 +\+0\.600", done.stdout, re.MULTILINE)
    assert "Train with mine:careful" in done.stdout
    written = {path.name for path in (tmp_path / "out").iterdir()}
    texts = {"scores.jsonl", "scored.jsonl", "screening.json", "screening.csv", "screening.md"}
    assert written == texts | {"gap.png", "on_top.png", "heatmap.png"}
    assert set(load_trajectories(tmp_path / "out" / "scored.jsonl")[0].steps[0].scores) == set(judges[1::2])
    again = agentkit("screen", episodes, *judges, "--out", "out", cwd=tmp_path)
    assert again.stdout == done.stdout


def test_an_interrupted_screen_says_how_to_go_on(episodes, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import os\n"
        "asked = []\n"
        "def judge(trajectory):\n"
        "    asked.append(trajectory)\n"
        "    if len(asked) == 3 and 'STOP' in os.environ:\n"
        "        raise KeyboardInterrupt\n"
        "    return [0.5] * len(trajectory.steps)\n"
    )
    arguments = ["screen", episodes, "--judge", "mine:judge", "--limit", 5, "--out", "out"]
    stopped = agentkit(*arguments, cwd=tmp_path, STOP="1")
    assert stopped.returncode == 1
    assert "stopped; the answers so far are in out. Go on with: agentkit" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    kept = (tmp_path / "out" / "scores.jsonl").read_text().splitlines()
    assert len(kept) == 2
    done = agentkit(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "scores.jsonl").read_text().splitlines()[:2] == kept
    assert len((tmp_path / "out" / "scores.jsonl").read_text().splitlines()) == 5


def test_screen_asks_a_local_model(episodes, tiny, tmp_path):
    tiny.model.save_pretrained(tmp_path / "tiny")
    tiny.tokenizer.save_pretrained(tmp_path / "tiny")
    options = ["--limit", 2, "--context", "0.5", "--context", "hindsight", "--question", "progress"]
    done = agentkit("screen", episodes, "--judge", "tiny", *options, "--out", "out", "--batch", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Too thin to tell" in done.stdout or "Nothing to choose from" in done.stdout
    measures = json.loads((tmp_path / "out" / "screening.json").read_text())["measures"]
    assert [m["candidate"] for m in measures] == ["tiny/0.5-progress", "tiny/hindsight-progress"]
    assert all(m["unscored"] == 0 and m["tokens_per_score"] > 100 for m in measures)
    assert all(m["asked_reversed"] == m["scored"] for m in measures)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge", "orakel"], r"no judge 'orakel' \(did you mean 'oracle'\?\); give smollm2, a checkpoint folder"),
        (["--judge", "noisy-oracle:much"], r"what follows noisy-oracle: is a number"),
        (["--judge", "noisy-oracle:2"], r"noise"),
        (["--judge", "json:nothing"], r"json has no callable 'nothing'"),
        (["--judge", "no_such_module:judge"], r"no_such_module"),
        (["--judge", "oracle", "--prices", "absent.csv"], r"absent\.csv"),
    ],
)
def test_bad_input_of_screen_is_one_line(arguments, message, episodes, tmp_path):
    done = agentkit("screen", episodes, *arguments, "--out", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert re.search(message, done.stderr), done.stderr


def test_judges_by_name():
    assert make_judge("oracle") == OracleJudge()
    assert make_judge("noisy-oracle:0.25", seed=3) == NoisyOracle(0.25, 3)
    assert make_judge("agentkit.judges:OracleJudge") == OracleJudge()


def test_diagnose_shows_mass_and_success(alfworld_data, episodes, tmp_path):
    options = ["--actor", "random", "--states", 10, "--split", "valid_seen", "--play", 3, "--max-steps", 3]
    data = {"ALFWORLD_DATA": str(alfworld_data)}
    done = agentkit("diagnose", *options, "--episodes", f"erring={episodes}", "--out", "out", cwd=tmp_path, **data)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^random +without placement +\d+\.\d%", done.stdout, re.MULTILINE)
    assert re.search(r"^erring .*/40\)$", done.stdout, re.MULTILINE)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {
        *("states.jsonl", "probes.jsonl", "diagnosis.json", "diagnosis.md", "diagnosis.png", "success.md"),
        "episodes_random_valid_unseen.jsonl",
    }
    again = agentkit("diagnose", *options, "--out", "out", cwd=tmp_path, **data)
    assert again.returncode == 0, again.stderr
    assert len(load_trajectories(tmp_path / "out" / "episodes_random_valid_unseen.jsonl")) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--actor", "readot"], r"no actor 'readot'; give readout"),
        (["--actor", "readout:loud"], r"after readout: comes words, listed, letters"),
        (["--actor", "json:nothing"], r"json has no callable 'nothing'"),
        (["--actor", "random", "--split", "valid_unsen"], r"unknown split 'valid_unsen'"),
        (["--actor", "random", "--episodes", "file.jsonl"], r"NAME=FILE, got 'file\.jsonl'"),
    ],
)
def test_bad_input_of_diagnose_is_one_line(arguments, message, alfworld_data, tmp_path):
    done = agentkit("diagnose", *arguments, "--out", "out", cwd=tmp_path, ALFWORLD_DATA=str(alfworld_data))
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert re.search(message, done.stderr), done.stderr


def test_diagnose_tabulates_recorded_episodes_alone(episodes, tmp_path):
    done = agentkit("diagnose", "--states", 0, "--episodes", f"erring={episodes}", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "required" not in done.stdout
    assert re.search(r"^erring .*/40\)$", done.stdout, re.MULTILINE)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["success.md"]
