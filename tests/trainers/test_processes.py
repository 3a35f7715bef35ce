"""Two processes (gloo) train as one does: groups that span both, unequal numbers of rows, cut batches."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

from agentkit.trajectory import load_trajectories

ROOT = Path(__file__).resolve().parents[2]


LAUNCH = [
    *("-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"),
    *("--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"),
]
"""``--multi_gpu`` is accelerate's word for several processes; without GPUs they talk through gloo."""


def train(folder, processes, *settings):
    launch = LAUNCH if processes == 2 else []
    done = subprocess.run(
        [sys.executable, *launch, "-m", "tests.trainers.processes", str(folder), *settings],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    steps = json.loads((folder / "steps.json").read_text())
    advantages = {
        (t.group, tuple(s.action for s in t.steps)): [s.advantage for s in t.steps]
        for t in load_trajectories(folder / "rollouts.jsonl")
    }
    return steps, advantages


@pytest.mark.slow
@pytest.mark.parametrize(("style", "loss_type"), [("conversation", "dapo"), ("windowed", "grpo")])
def test_two_processes_equal_one(tmp_path, style, loss_type):
    """8 episodes in 2 groups of 4: of one process, and of two with 4 each."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = train(tmp_path / "one", 1, style, loss_type, "8")
    two = train(tmp_path / "two", 2, style, loss_type, "4")
    assert len(one[0]) == len(two[0]) == 3
    for expected, found in zip(one[0], two[0], strict=True):
        assert found == pytest.approx(expected, abs=1e-5)
    assert any(step["grad_norm"] > 1e-3 for step in one[0])
    assert two[1].keys() == one[1].keys()
    for key, values in one[1].items():
        assert two[1][key] == pytest.approx(values, abs=1e-5)
