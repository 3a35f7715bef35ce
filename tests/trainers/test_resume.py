"""A killed run goes on to the losses of an uninterrupted one, and loses and repeats nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("trl")

import torch

from agentkit.testing import ScriptedEnv
from agentkit.trainers.robustness.resume import (
    SaveBetweenRollouts,
    checkpoint_step,
    drop_rollouts_from,
    last_complete_checkpoint,
    load_state,
    save_state,
    set_aside,
    stateful_parts,
)
from agentkit.trajectory import Trajectory, append_trajectory, load_trajectories
from agentkit.wrappers import JudgeRewardWrapper
from tests.trainers.resuming import STEPS, Budgeted, Tiring, make_trainer
from tests.trainers.settings import logged, losses

ROOT = Path(__file__).resolve().parents[2]


class Counter:
    """The least that has a state."""

    def __init__(self, count=0):
        self.count = count

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def checkpoint(folder, step, complete=True):
    path = folder / f"checkpoint-{step}"
    path.mkdir()
    (path / "model.safetensors").touch()
    if complete:
        (path / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    return path


# Checkpoints


def test_the_last_complete_checkpoint_is_that_of_the_highest_step(tmp_path):
    assert last_complete_checkpoint(tmp_path) is None
    paths = [checkpoint(tmp_path, step) for step in (2, 10, 4)]
    assert last_complete_checkpoint(tmp_path) == paths[1]
    assert checkpoint_step(paths[1]) == 10


@pytest.mark.parametrize("state", [None, "", '{"global_step": 1'])
def test_a_checkpoint_that_was_being_written_is_passed_over(tmp_path, caplog, state):
    whole = checkpoint(tmp_path, 2)
    broken = checkpoint(tmp_path, 4, complete=False)
    if state is not None:
        (broken / "trainer_state.json").write_text(state)
    assert last_complete_checkpoint(tmp_path) == whole
    assert "checkpoint-4 is passed over" in caplog.text
    with pytest.raises(ValueError, match=r"resume_from_checkpoint='.*checkpoint-4' is no complete checkpoint"):
        checkpoint_step(broken)


def test_other_folders_are_no_checkpoints(tmp_path):
    (tmp_path / "checkpoint-best").mkdir()
    assert last_complete_checkpoint(tmp_path / "absent") is None
    assert last_complete_checkpoint(tmp_path) is None


# State


def test_state_goes_round_through_json(tmp_path):
    save_state(tmp_path, {"factory": Counter(3), "judge": Counter(5)}, rank=1)
    fresh = {"factory": Counter(), "judge": Counter()}
    load_state(tmp_path, fresh, rank=1)
    assert [part.count for part in fresh.values()] == [3, 5]


def test_parts_that_came_or_went_are_named(tmp_path, caplog):
    save_state(tmp_path, {"gone": Counter(3)})
    fresh = Counter()
    load_state(tmp_path, {"fresh": fresh})
    assert fresh.count == 0
    assert "gone had a state, but is not there any more" in caplog.text
    assert "fresh has no saved state and begins anew" in caplog.text


def test_a_state_that_is_no_json_names_its_part(tmp_path):
    with pytest.raises(TypeError, match=r"state_dict\(\) of judge \(Counter\) is not made of JSON values"):
        save_state(tmp_path, {"judge": Counter({1, 2})})
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_state_is_named(tmp_path):
    (tmp_path / "agentkit_state-0.json").write_text("{")
    with pytest.raises(ValueError, match=r"agentkit_state-0.json is damaged .* resume from an earlier checkpoint"):
        load_state(tmp_path, {"judge": Counter()})


def test_what_has_a_state_is_found_in_the_stacks_and_kept_once():
    judge = Budgeted()
    envs = [JudgeRewardWrapper(Tiring(ScriptedEnv()), judge) for _ in range(2)]
    parts = stateful_parts({"factory": ScriptedEnv, "network": torch.nn.Linear(1, 1), "term": Counter()}, envs)
    assert {name: type(part).__name__ for name, part in parts.items()} == {
        "term": "Counter",
        "env-0/layer-0/judge": "Budgeted",
        "env-0/layer-1": "Tiring",
        "env-1/layer-1": "Tiring",
    }


# Rollouts


def write_rollouts(path, groups):
    for group in groups:
        append_trajectory(path, Trajectory(goal='of "group": "step-9-', steps=(), group=group))


def test_episodes_that_are_played_again_are_taken_back(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    write_rollouts(path, ["step-0-group-0", "step-1-group-0", "step-10-group-1", "step-2-group-0", None])
    assert drop_rollouts_from(path, 2) == 2
    assert [t.group for t in load_trajectories(path)] == ["step-0-group-0", "step-1-group-0", None]
    assert drop_rollouts_from(path, 2) == 0


def test_the_evaluation_before_a_checkpoint_stays(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    write_rollouts(path, ["step-1-group-0", "eval-step-2-group-0", "step-2-group-0", "eval-step-3-group-0"])
    drop_rollouts_from(path, 2)
    assert [t.group for t in load_trajectories(path)] == ["step-1-group-0", "eval-step-2-group-0"]


def test_a_line_that_was_cut_off_goes_too(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    write_rollouts(path, ["step-0-group-0"])
    with open(path, "a") as file:
        file.write('{"goal": "", "steps": [')
    assert drop_rollouts_from(path, 5) == 1
    assert len(load_trajectories(path)) == 1


def test_no_rollouts_are_no_error(tmp_path):
    assert drop_rollouts_from(tmp_path / "rollouts.jsonl", 0) == 0
    assert set_aside(tmp_path / "rollouts.jsonl") is None


def test_rollouts_of_an_earlier_run_are_kept_under_other_names(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    for number in (1, 2):
        write_rollouts(path, ["step-0-group-0"])
        assert set_aside(path) == tmp_path / f"rollouts-earlier-{number}.jsonl"
    assert not path.exists()


# When checkpoints are written


def saved_at(every, due, last=12):
    callback = SaveBetweenRollouts(every)
    saved = []
    for step in range(1, last + 1):
        control = SimpleNamespace(should_save=step in due, should_training_stop=False)
        callback.on_step_end(None, SimpleNamespace(global_step=step, max_steps=last), control)
        saved += [step] * control.should_save
    return saved


@pytest.mark.parametrize(
    ("every", "due", "expected"),
    [(1, [3, 5], [3, 5]), (4, [3, 4, 9], [4, 12]), (5, [12], [12]), (5, [11], [12]), (4, [], [])],
)
def test_checkpoints_wait_for_the_end_of_a_batch_of_rollouts(every, due, expected):
    assert saved_at(every, due) == expected


def test_a_batch_of_rollouts_lasts_at_least_one_step():
    with pytest.raises(ValueError, match="steps must be at least 1"):
        SaveBetweenRollouts(0)


# Whole runs


def die(folder, at):
    program = [sys.executable, "-m", "tests.trainers.resuming", str(folder), str(at)]
    # Sums in another number of threads round differently.
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    return subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, check=False)


@pytest.mark.slow
def test_a_run_killed_in_the_middle_of_a_step_goes_on_to_the_same_losses(tmp_path):
    whole = make_trainer(tmp_path / "whole")
    whole.train()
    played = load_trajectories(tmp_path / "whole" / "rollouts.jsonl")
    before = sum(len(t) for t in played if int(t.group.split("-")[1]) < 3)

    assert die(tmp_path / "killed", before + 3).returncode == -signal.SIGKILL
    killed = load_trajectories(tmp_path / "killed" / "rollouts.jsonl")
    assert len(killed) == 3 * 4  # three whole steps; the episodes of the fourth died with it
    assert last_complete_checkpoint(tmp_path / "killed").name == "checkpoint-2"

    resumed = make_trainer(tmp_path / "killed")
    resumed.train(resume_from_checkpoint=True)
    assert losses(resumed) == losses(whole)
    assert logged(resumed, "grad_norm") == logged(whole, "grad_norm")
    assert len(losses(whole)) == STEPS
    again = load_trajectories(tmp_path / "killed" / "rollouts.jsonl")
    assert again == played  # advantages, scores, rewards and order included
    for mine, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(mine, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"num_iterations": 2, "save_steps": 3},
        {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 2},
        {"prompt_style": "windowed"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_resumed_run_has_the_same_losses(tmp_path, settings):
    whole = make_trainer(tmp_path, **settings)
    whole.train()
    expected, played = losses(whole), load_trajectories(tmp_path / "rollouts.jsonl")
    (first, *_) = sorted(path for path in tmp_path.glob("checkpoint-*") if path.name != f"checkpoint-{STEPS}")
    resumed = make_trainer(tmp_path, **settings)
    resumed.train(resume_from_checkpoint=str(first))
    assert losses(resumed) == expected
    assert load_trajectories(tmp_path / "rollouts.jsonl") == played


@pytest.mark.slow
def test_the_state_of_judges_and_environments_matters(tmp_path):
    """Without their states the losses after the checkpoint are others: the tests above would see it."""
    whole = make_trainer(tmp_path)
    whole.train()
    expected = losses(whole)
    state = tmp_path / "checkpoint-4" / "agentkit_state-0.json"
    kept = json.loads(state.read_text())
    assert {"outage", "spending"} < kept.keys()
    assert all(kept[f"env-{i}/layer-4"]["age"] > 0 for i in range(4))
    assert [value["budget"] < 30 for name, value in kept.items() if name.endswith("/judge")] == [True]
    state.unlink()
    resumed = make_trainer(tmp_path)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert losses(resumed)[:4] == expected[:4]
    assert losses(resumed)[4:] != expected[4:]
