"""A loss or a gradient that is not finite stops the run, and what led to it is saved."""

import json
import math

import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file

from agentkit.trainers.robustness.watch import FiniteWatch, NonFiniteError
from agentkit.trajectory import Step, Trajectory, load_trajectories


def batch(value=1.0):
    return {"advantages": torch.full((2, 3), value), "completion_ids": torch.arange(6).view(3, 2).T, "num_items": 6}


def trajectory():
    return Trajectory(goal="g", steps=[Step(observation="o", action="a", reward=0.0)])


def test_finite_numbers_leave_nothing_behind(tmp_path):
    watch = FiniteWatch(tmp_path)
    watch.check_loss(torch.tensor(0.5), batch(), step=0)
    watch.check_gradients(torch.tensor(1.0), torch.nn.Linear(1, 1), step=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_stops_with_its_batch(tmp_path, loss):
    watch = FiniteWatch(tmp_path, rank=1)
    watch.note_rollouts([trajectory()])
    with pytest.raises(
        NonFiniteError, match=rf"the loss is {loss} in step 7; .*nonfinite-step-7-rank-1.*learning_rate"
    ):
        watch.check_loss(torch.tensor(loss), batch(), step=7)
    folder = tmp_path / "nonfinite-step-7-rank-1"
    saved = load_file(folder / "batch-0.safetensors")
    assert saved["completion_ids"].tolist() == [[0, 2, 4], [1, 3, 5]]
    assert saved["advantages"].tolist() == [[1.0] * 3] * 2
    assert load_trajectories(folder / "rollouts.jsonl") == [trajectory()]
    report = json.loads((folder / "report.json").read_text())
    assert report["what"] == f"the loss is {loss}"
    assert report["other_values"] == [{"num_items": "6"}]


def test_gradients_name_the_parameters_and_save_all_batches_of_the_step(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    model[1].weight.grad[0, 0] = math.nan
    watch = FiniteWatch(tmp_path)
    watch.check_loss(torch.tensor(0.5), batch(1.0), step=2)
    watch.check_loss(torch.tensor(0.5), batch(2.0), step=2)
    with pytest.raises(NonFiniteError, match="the norm of the gradients is nan in step 2"):
        watch.check_gradients(torch.tensor(math.nan), model, step=2)
    folder = tmp_path / "nonfinite-step-2-rank-0"
    report = json.loads((folder / "report.json").read_text())
    assert report["parameters_with_such_gradients"] == ["1.weight"]
    assert report["parameters_with_such_values"] == []
    assert [float(load_file(folder / f"batch-{i}.safetensors")["advantages"][0, 0]) for i in range(2)] == [1.0, 2.0]


def test_batches_of_earlier_steps_are_forgotten(tmp_path):
    watch = FiniteWatch(tmp_path)
    watch.check_loss(torch.tensor(0.5), batch(1.0), step=0)
    watch.check_gradients(None, torch.nn.Linear(1, 1), step=0)
    with pytest.raises(NonFiniteError):
        watch.check_loss(torch.tensor(math.nan), batch(2.0), step=1)
    saved = list((tmp_path / "nonfinite-step-1-rank-0").glob("*.safetensors"))
    assert [float(load_file(path)["advantages"][0, 0]) for path in saved] == [2.0]
