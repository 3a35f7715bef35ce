import json
import math
import multiprocessing
import os
import pickle

import attrs
import numpy as np
import pytest
from hypothesis import given

from agentkit import Step, Trajectory, Verdict, load_trajectories, save_trajectories
from agentkit.appending import append_line
from agentkit.trajectory import (
    append_trajectory,
    iterate_trajectories,
    trajectory_from_dict,
    trajectory_to_dict,
    write_atomically,
)
from tests import strategies

STEP = Step(observation="A door.", action="open door", reward=1.0)


def trajectory(*steps, **fields):
    return Trajectory(goal="get out", steps=steps or (STEP, STEP), **fields)


class TestJsonLines:
    @given(strategies.trajectories)
    def test_round_trip(self, value):
        line = json.dumps(trajectory_to_dict(value), allow_nan=False)
        assert trajectory_from_dict(json.loads(line)) == value
        assert pickle.loads(pickle.dumps(value)) == value

    def test_a_file_of_any_text_holds_one_line_an_episode(self, tmp_path):
        # U+2028 and U+0085 break lines for str.splitlines, but not for files
        episodes = [trajectory(attrs.evolve(STEP, action="sag «Öl» \u2028\u0085\r\n\t 🗝")), trajectory(seed=2**60)]
        path = save_trajectories(tmp_path / "deep" / "episodes.jsonl", episodes)
        assert load_trajectories(path) == episodes
        assert path.read_bytes().count(b"\n") == 2

    def test_saving_replaces_the_file_and_leaves_no_other(self, tmp_path):
        path = tmp_path / "episodes.jsonl"
        save_trajectories(path, [trajectory(), trajectory()])
        save_trajectories(path, [trajectory()])
        assert len(load_trajectories(path)) == 1
        assert os.listdir(tmp_path) == ["episodes.jsonl"]

    def test_a_failed_write_leaves_the_old_file(self, tmp_path):
        path = tmp_path / "episodes.jsonl"
        save_trajectories(path, [trajectory()])
        with pytest.raises(ValueError, match="Out of range float values"):
            save_trajectories(path, [trajectory(), trajectory(info={"loss": math.nan})])
        with pytest.raises(UnicodeEncodeError):
            write_atomically(path, "\ud800")
        assert load_trajectories(path) == [trajectory()]
        assert os.listdir(tmp_path) == ["episodes.jsonl"]

    def test_blank_lines_are_skipped(self, tmp_path):
        path = save_trajectories(tmp_path / "e.jsonl", [trajectory()])
        path.write_text("\n" + path.read_text() + "\n")
        assert load_trajectories(path) == [trajectory()]

    def test_reading_is_lazy(self, tmp_path):
        path = save_trajectories(tmp_path / "e.jsonl", [trajectory()])
        path.write_text(path.read_text() + "broken\n")
        assert next(iterate_trajectories(path)) == trajectory()

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"goal": "g", "st', r"e.jsonl, line 2: not JSON.*\(the line is cut off: delete it\)"),
            ('{"steps": []}\n', "e.jsonl, line 2: .*goal"),
            ('{"goal": "g", "steps": [], "wonn": true}\n', "e.jsonl, line 2: .*wonn"),
            ('{"goal": "g", "steps": [{"observation": "o", "reward": 1}]}\n', "e.jsonl, line 2: .*action"),
            ('{"goal": 3, "steps": []}\n', "e.jsonl, line 2: .*expected str, got 3 @ .*goal"),
            ('{"goal": "g", "steps": [], "won": "false"}\n', "e.jsonl, line 2: .*expected bool, got 'false' @ .*won"),
            ('{"goal": "g", "steps": [], "seed": true}\n', "e.jsonl, line 2: .*expected int, got True @ .*seed"),
            (
                '{"goal": "g", "steps": [{"observation": "o", "action": "a", "reward": 1, "milestones": "gem"}]}\n',
                r"e.jsonl, line 2: .*expected a list of strings, got 'gem' @ .*steps\[0\].milestones",
            ),
            (
                '{"goal": "", "steps": [{"observation": "", "action": "", "reward": 1, "scores": {"j":{"score":2}}}]}',
                r"e.jsonl, line 2: a score must be in \[0, 1\], got 2.0 @ .*steps\[0\].scores\['j'\]",
            ),
            ("[]\n", r"e.jsonl, line 2: a trajectory is a JSON object, got \[\]"),
        ],
    )
    def test_a_broken_line_is_named(self, tmp_path, line, message):
        path = save_trajectories(tmp_path / "e.jsonl", [trajectory()])
        path.write_text(path.read_text() + line)
        with pytest.raises(ValueError, match=message):
            load_trajectories(path)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="absent"):
            load_trajectories(tmp_path / "absent.jsonl")


def _append_many(path, label):
    for number in range(20):
        append_trajectory(path, trajectory(attrs.evolve(STEP, feedback=label * 20_000), seed=number))


class TestAppending:
    def test_makes_and_extends_the_file(self, tmp_path):
        path = tmp_path / "e.jsonl"
        append_trajectory(path, trajectory(seed=1))
        append_trajectory(path, trajectory(seed=2))
        assert [t.seed for t in load_trajectories(path)] == [1, 2]

    def test_lines_of_several_processes_do_not_mix(self, tmp_path):
        path = tmp_path / "e.jsonl"
        context = multiprocessing.get_context("fork")
        workers = [context.Process(target=_append_many, args=(path, label)) for label in "ab"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        found = load_trajectories(path)
        assert len(found) == 40
        assert {t.steps[0].feedback for t in found} == {"a" * 20_000, "b" * 20_000}

    def test_a_cut_off_line_is_not_continued(self, tmp_path):
        path = tmp_path / "e.jsonl"
        path.write_text('{"goal": "cut')
        append_line(path, "whole\n")
        assert path.read_text() == '{"goal": "cut\nwhole\n'

    def test_a_line_that_does_not_fit_is_taken_back(self, tmp_path, monkeypatch):
        path = tmp_path / "e.jsonl"
        append_line(path, "first\n")
        write = os.write

        def disk_full(handle, data):
            if len(data) < 10:
                raise OSError(28, "No space left on device")
            return write(handle, data[:10])

        monkeypatch.setattr(os, "write", disk_full)
        with pytest.raises(OSError, match="No space left"):
            append_line(path, "second line\n")
        assert path.read_text() == "first\n"


class TestStep:
    @pytest.mark.parametrize("name", ["observation", "action", "feedback"])
    def test_texts_are_texts(self, name):
        with pytest.raises(TypeError, match=f"{name} must be a str, got int: 3"):
            attrs.evolve(STEP, **{name: 3})

    @pytest.mark.parametrize("name", ["reward", "raw_reward", "shaped_reward", "advantage", "probability"])
    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_numbers_are_finite(self, name, value):
        with pytest.raises(ValueError, match=f"{name} must be a finite number"):
            attrs.evolve(STEP, **{name: value})

    def test_it_is_frozen(self):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            STEP.reward = 2.0  # pyright: ignore[reportAttributeAccessIssue]


class TestTrajectory:
    def test_total_reward_prefers_the_raw_reward(self):
        steps = [attrs.evolve(STEP, reward=0.7, raw_reward=0.2), attrs.evolve(STEP, reward=1.0)]
        assert trajectory(*steps).total_reward == pytest.approx(1.2)

    def test_score_array_has_nan_for_unscored_and_unjudged(self):
        scored = trajectory(STEP, STEP, STEP).with_steps(
            scores=[{"a": Verdict(0.5)}, {"a": Verdict.no_score("timeout")}, {"b": Verdict(1.0)}]
        )
        np.testing.assert_array_equal(scored.score_array("a"), [0.5, math.nan, math.nan])

    def test_with_scores_keeps_other_judges(self):
        judged = trajectory().with_scores("a", [Verdict(0.1)] * 2).with_scores("b", [Verdict(0.9)] * 2)
        assert judged.steps[1].scores == {"a": Verdict(0.1), "b": Verdict(0.9)}
        assert not trajectory().steps[0].scores

    def test_columns_need_one_value_a_step(self):
        with pytest.raises(ValueError, match="role has 1 values for 2 steps; give one a step"):
            trajectory().with_steps(role=["decisive"])
        with pytest.raises(ValueError, match="a gave 3 verdicts for 2 steps; give one a step"):
            trajectory().with_scores("a", [Verdict(0.5)] * 3)

    def test_length(self):
        assert len(trajectory()) == 2
        assert len(Trajectory(goal="", steps=[])) == 0
