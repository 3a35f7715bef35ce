"""The demo end to end with real parts in a small setting, interrupted twice and continued."""

import json
import os

import pytest

pytest.importorskip("trl")

from agentkit.demo import DemoSettings, run_demo
from agentkit.trajectory import load_trajectories

SMALL = DemoSettings(games=6, played=2, turns=2, updates=2, group_size=2, evaluated=1)


def interrupt_at(words, said):
    """A listener that keeps the lines and presses Ctrl-C at the one that begins with ``words``."""

    def say(line):
        said.append(line.strip())
        if line.strip().startswith(words):
            raise KeyboardInterrupt

    return say


def test_an_interrupted_demo_goes_on_without_repeating(smol, tmp_path):
    first, second, third = [], [], []
    with pytest.raises(KeyboardInterrupt):
        run_demo(tmp_path, SMALL, say=interrupt_at("episode 1/2", first))
    assert len(load_trajectories(tmp_path / "episodes.jsonl")) == 1
    with pytest.raises(KeyboardInterrupt):
        run_demo(tmp_path, SMALL, say=interrupt_at("update 2/2", second))
    assert not any(line.startswith("episode 1/2") for line in second)
    result = run_demo(tmp_path, SMALL, say=third.append)
    assert not any("episode" in line or "update 1/2" in line for line in third)
    assert result.page == tmp_path / "index.html"
    _check_files(tmp_path, result)


def _check_files(folder, result):
    metrics = json.loads((folder / "metrics.json").read_text("utf-8"))
    assert metrics == result.metrics
    assert len(metrics["losses"]) == SMALL.updates
    rollouts = load_trajectories(folder / "training" / "rollouts.jsonl")
    assert [t.group for t in rollouts] == ["step-0-group-0"] * 2 + ["step-1-group-0"] * 2
    for trajectory in [*load_trajectories(folder / "episodes.jsonl"), *rollouts]:
        assert all(step.advantage is not None for step in trajectory.steps)
    played = load_trajectories(folder / "episodes.jsonl")
    assert all({"model", "oracle"} <= set(step.scores) and step.role and step.gate for t in played for step in t.steps)
    page = (folder / "index.html").read_text("utf-8")
    assert all(t.goal in page for t in played)
    assert 'src="http' not in page
    assert "data:image/png;base64," in page
    assert (folder / "scores.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write to the output folder .*file.demo.*choose another with --out"):
        run_demo(tmp_path / "file" / "demo", SMALL)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_one_clear_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot write to the output folder"):
        run_demo(tmp_path, SMALL)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="not empty and holds no demo"):
        run_demo(tmp_path, SMALL)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_other_settings_are_not_mixed_in(tmp_path):
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(ValueError, match="other settings; add --fresh"):
        run_demo(tmp_path, SMALL)
