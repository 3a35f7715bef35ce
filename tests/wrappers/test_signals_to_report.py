"""Raw rewards, each judge's scores, roles and shaped rewards stay apart: wrapper, trajectory file, report page."""

import re

import pytest

from agentkit import load_trajectories, make_vec, save_trajectories
from agentkit.testing import ScriptedEnv
from agentkit.testing.scripted_env import ENV_ID
from agentkit.wrappers import JudgeRewardWrapper, RecordTrajectoryWrapper, RoleCreditWrapper, vector
from tests.wrappers import judges

ACTIONS = ("look", "take key", "unlock chest", "take gem")
# raw (0, 0, 0, 1) + 0.5 * (-, 1, 1, 1) + 1.0 * (.1, .2, .3, .4) + 0.2 * (-, 1, 1, 1)
SHAPED = (0.1, 0.9, 1.0, 2.1)


def play_one(path):
    env = JudgeRewardWrapper(ScriptedEnv(), judges.milestones, weight=0.5)
    env = JudgeRewardWrapper(env, judges.PrefixJudge(), weight=1.0)
    env = RecordTrajectoryWrapper(RoleCreditWrapper(env, judges.by_milestone, weight=0.2), path)
    env.reset(seed=1)
    for action in ACTIONS:
        env.step(action)
    env.close()


def play_vector(path):
    env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2, mode="async"), judges.milestones, weight=0.5)
    env = vector.JudgeRewardWrapper(env, judges.PrefixJudge(), weight=1.0)
    env = vector.RecordTrajectoryWrapper(vector.RoleCreditWrapper(env, judges.by_milestone, weight=0.2), path)
    env.reset(seed=1)
    for action in ACTIONS:
        env.step((action, "look"))
    env.close()


@pytest.mark.parametrize("play", [play_one, play_vector])
def test_from_wrapper_to_file(play, tmp_path):
    play(tmp_path / "episodes.jsonl")
    first, *others = load_trajectories(tmp_path / "episodes.jsonl")
    assert [s.raw_reward for s in first.steps] == [0.0, 0.0, 0.0, 1.0]
    assert [s.scores["milestones"].score for s in first.steps] == [None, 1.0, 1.0, 1.0]
    assert first.steps[0].scores["milestones"].unscored == "the judge abstained"
    assert [s.scores["prefix"].score for s in first.steps] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert [s.role for s in first.steps] == [None, "decisive", "decisive", "decisive"]
    assert [s.shaped_reward for s in first.steps] == pytest.approx(SHAPED)
    assert [s.reward for s in first.steps] == pytest.approx([0.1, 0.2, 0.3, 1.4])
    assert first.seed == 1
    save_trajectories(tmp_path / "again.jsonl", [first, *others])
    assert load_trajectories(tmp_path / "again.jsonl") == [first, *others]
    for other in others:  # the second copy, which close() cut off
        assert (other.seed, other.terminated, other.truncated) == (2, False, False)
        assert [s.action for s in other.steps] == ["look"] * 4
        assert all(s.role is None and s.shaped_reward is None and not s.scores for s in other.steps)
        assert [s.reward for s in other.steps] == pytest.approx([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("play", [play_one, play_vector])
def test_from_file_to_report(play, tmp_path):
    pytest.importorskip("jinja2")
    from agentkit.report import write_page

    play(tmp_path / "episodes.jsonl")
    first = load_trajectories(tmp_path / "episodes.jsonl")[0]
    page = write_page(tmp_path / "page.html", {"Played": [first]}).read_text("utf-8")
    header, *rows = re.findall(r"<tr>(.*?)</tr>", page.split('<div class="episode">')[1], re.DOTALL)
    columns = re.findall(r"<th[^>]*>(.*?)</th>", header)
    cells = [dict(zip(columns, re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL), strict=False)) for row in rows[:4]]
    assert [row["raw reward"] for row in cells] == ["0", "0", "0", "1"]
    assert [row["milestones"] for row in cells] == ["–", "1.00", "1.00", "1.00"]
    assert [row["prefix"] for row in cells] == ["0.10", "0.20", "0.30", "0.40"]
    assert [row["role"] for row in cells] == ["", "decisive", "decisive", "decisive"]
    assert [row["shaped"] for row in cells] == ["0.10", "0.90", "1.00", "2.10"]
