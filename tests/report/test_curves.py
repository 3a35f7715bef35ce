"""The curves of a run show what was logged, and the page holds them with the latest episodes."""

import json

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from agentkit.report import draw_curves, load_metrics, write_run_page
from agentkit.report.curves import PANELS, collect_series, panel_lines
from agentkit.trajectory import Step, Trajectory, save_trajectories

LOGGED = [
    {
        "step": step,
        "loss": 1 / step,
        "reward": 0.1 * step,
        "episodes/success": 0.1 * step,
        "credit/outcome/mean": 0.0,
        "credit/outcome/std": 1.0,
        "credit/step_scores/mean": 0.01 * step,
        "credit/step_scores/std": 0.2,
        "credit/unscored": 0.5,
        "time/environment": 3.0,
        "time/generation": 5.0,
        "kl": None,
    }
    for step in (1, 2, 3)
]


def write_metrics(folder, entries=LOGGED, end=""):
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries) + end)
    return folder


def titles(metrics):
    series = collect_series(metrics)
    return {panel.title: panel_lines(panel, series) for panel in PANELS if panel_lines(panel, series)}


def test_every_logged_kind_has_its_panel_and_absent_ones_have_none():
    found = titles(LOGGED)
    assert set(found) == {"loss", "success", "reward", "shares of steps", "seconds of a step"}
    assert found["loss"] == {"loss": [(1, 1.0), (2, 0.5), (3, 1 / 3)]}
    assert set(found["shares of steps"]) == {"unscored"}
    assert set(found["seconds of a step"]) == {"environment", "generation"}


def test_the_last_value_of_a_step_counts_and_missing_ones_are_left_out():
    series = collect_series([{"step": 2, "loss": 5.0}, {"step": 1, "loss": None}, {"step": 2, "loss": 4.0}])
    assert series == {"loss": [(2, 4.0)]}


def test_held_out_figures_and_token_accuracy_are_told_apart():
    found = titles([{"step": 1, "eval_accuracy": 0.5, "eval_ece": 0.1, "mean_token_accuracy": 0.7, "eval_nll": 1.0}])
    assert set(found["held out"]) == {"accuracy", "ece"}
    assert set(found["token accuracy"]) == {"token accuracy"}
    assert set(found["loss"]) == {"nll"}


def test_the_figure_is_a_png_and_replaces_an_older_one_whole(tmp_path):
    target = draw_curves(tmp_path / "curves.png", LOGGED)
    assert draw_curves(target, LOGGED[:1]).read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["curves.png"]


def test_nothing_logged_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no step has been logged yet"):
        draw_curves(tmp_path / "curves.png", [])


def test_the_page_holds_curves_figures_and_the_latest_episodes(tmp_path):
    run = write_metrics(tmp_path / "run")
    step = Step(observation="hall", action="open the door", reward=1.0)
    episodes = [Trajectory(goal=f"goal number {i}", steps=[step]) for i in range(20)]
    save_trajectories(run / "rollouts.jsonl", episodes)
    page = write_run_page(run).read_text("utf-8")
    assert "Training run run" in page
    assert "data:image/png;base64," in page
    assert "The latest 16 of 20 episodes" in page
    assert "goal number 19" in page
    assert "goal number 3<" not in page
    assert "0.3333" in page
    assert write_run_page(run, tmp_path / "elsewhere.html") == tmp_path / "elsewhere.html"


def test_a_line_that_is_being_written_is_left_out_and_a_damaged_one_named(tmp_path):
    assert load_metrics(write_metrics(tmp_path / "a", end='{"step": 4, "lo')) == LOGGED
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 4: not JSON"):
        load_metrics(write_metrics(tmp_path / "b", end='{"step": 4, "lo\n'))
    with pytest.raises(ValueError, match=r"line 4: expected an object with a step"):
        load_metrics(write_metrics(tmp_path / "c", end='{"loss": 4}\n'))


def test_a_run_of_plain_transformers_is_read_from_its_checkpoint(tmp_path):
    checkpoint = tmp_path / "checkpoint-2"
    checkpoint.mkdir()
    history = {"log_history": [{"step": 1, "loss": 2.0, "note": "text"}]}
    (checkpoint / "trainer_state.json").write_text(json.dumps(history))
    assert load_metrics(tmp_path) == [{"step": 1, "loss": 2.0}]


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no training run"):
        load_metrics(tmp_path)
