"""``agentkit branches``: files, tables, names, and going on after a stop."""

import itertools
import json

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from agentkit.actors import RandomActor
from agentkit.branches import common_labels, load_branch_episodes, load_branches
from agentkit.cli.app import app
from agentkit.testing.scripted_env import ENV_ID
from agentkit.trajectory import Step, Trajectory, save_trajectories

SHORT = ["branches", "--env", ENV_ID, "--actor", "random", "--limit", "3", "--max-steps", "8"]


def run(*arguments):
    return CliRunner().invoke(app, [*SHORT, *map(str, arguments)], catch_exceptions=False)


def test_it_writes_a_file_and_says_what_is_in_it(tmp_path):
    out = tmp_path / "b.jsonl"
    result = run("--out", out, "--discount", "0.9")
    pairs = load_branches(out)
    assert result.exit_code == 0
    assert f"{len(pairs)} pairs in 3 episodes" in result.stdout
    train = next(line.split() for line in result.stdout.splitlines() if line.startswith("train"))
    labels = [pair.label for pair in pairs if pair.split == "train"]
    assert train[2:] == [str(labels.count(label)) for label in "ABT"]
    settings = json.loads(load_branch_episodes(out)[0].settings)
    assert (settings["discount"], settings["note"]["actor"], settings["note"]["env"]) == (0.9, "random", ENV_ID)


def test_the_same_again_plays_nothing_and_other_settings_are_refused(tmp_path):
    out = tmp_path / "b.jsonl"
    run("--out", out)
    before = out.read_bytes()
    run("--out", out)
    assert out.read_bytes() == before
    with pytest.raises(ValueError, match=r"candidates=\['environment'\] \(here \['actor'\]\)"):
        run("--out", out, "--candidates", "actor")


def test_another_actor_goes_on_from_the_same_branches(tmp_path):
    run("--out", tmp_path / "a.jsonl", "--discount", "0.9")
    run(
        "--out",
        tmp_path / "b.jsonl",
        "--discount",
        "0.9",
        "--continue-with",
        "tests.trainers.branch_actors:make_lazy_actor",
    )
    first, second = (load_branches(tmp_path / name) for name in ("a.jsonl", "b.jsonl"))
    ours, theirs = common_labels(first, second)
    assert len(ours) == len(first) == len(second) > 5
    assert ours != theirs


def test_sources_of_candidates_take_turns(tmp_path):
    steps = [Step(observation="", action=action, reward=0) for action in ("take gem", "take gem", "lock chest")]
    save_trajectories(tmp_path / "episodes.jsonl", [Trajectory(goal="", steps=steps, won=True)])
    out = tmp_path / "b.jsonl"
    run("--out", out, "--candidates", f"pool:{tmp_path / 'episodes.jsonl'}", "--k", "1")
    assert {pair.b for pair in load_branches(out)} <= {"take gem", "lock chest"}
    run("--out", tmp_path / "c.jsonl", "--candidates", "actor", "--candidates", "environment", "--k", "2")
    assert load_branches(tmp_path / "c.jsonl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--candidates", "nowhere"], "no candidates 'nowhere'; choose from environment, actor"),
        (["--candidates", "small-lm:nowhere"], "no model 'nowhere'; give smollm2 or a checkpoint folder"),
        (["--actor", "randm"], "no actor 'randm'"),
        (["--env", "agentkit/ALFWrld-v0"], "no environment 'agentkit/ALFWrld-v0'"),
    ],
)
def test_unknown_names_are_one_clear_error(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        run("--out", tmp_path / "b.jsonl", *arguments)


def test_ctrl_c_leaves_a_whole_file_that_the_same_command_completes(tmp_path, monkeypatch):
    out, plain = tmp_path / "b.jsonl", RandomActor.__call__
    calls = itertools.count()

    def interrupted(self, observation, info):
        if next(calls) == 150:
            raise KeyboardInterrupt
        return plain(self, observation, info)

    monkeypatch.setattr(RandomActor, "__call__", interrupted)
    stopped = run("--out", out, "--limit", "12")
    assert stopped.exit_code == 1
    assert f"finished episodes are in {out}. Go on with: agentkit" in stopped.output
    assert 0 < len(load_branch_episodes(out)) < 12
    monkeypatch.undo()
    run("--out", out, "--limit", "12")
    run("--out", tmp_path / "whole.jsonl", "--limit", "12")
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
