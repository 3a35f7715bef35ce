import pytest
from gymnasium.wrappers import TimeLimit

from agentkit import load_trajectories, make_vec, rollout
from agentkit.testing import ScriptedEnv
from agentkit.testing.scripted_env import ENV_ID
from agentkit.wrappers import RecordTrajectoryWrapper

SOLUTION = ("take key", "unlock chest", "take gem")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "episodes.jsonl"


def play(env, actions, seed=None):
    env.reset(seed=seed)
    for action in actions:
        env.step(action)


def test_each_episode_is_a_line_as_soon_as_it_ends(path):
    env = RecordTrajectoryWrapper(ScriptedEnv(), path)
    assert load_trajectories(path) == []
    for seed in range(2):
        play(env, SOLUTION, seed)
        assert len(load_trajectories(path)) == seed + 1
    first, second = load_trajectories(path)
    assert [s.action for s in first.steps] == list(SOLUTION)
    assert (first.won, first.terminated, first.seed, second.seed) == (True, True, 0, 1)


def test_what_is_recorded_is_what_a_rollout_returns(path):
    plan = iter(SOLUTION)
    (trajectory,) = rollout(RecordTrajectoryWrapper(ScriptedEnv(), path), lambda observation, info: next(plan), seed=3)
    assert load_trajectories(path) == [trajectory]


def test_earlier_lines_are_kept(path):
    play(RecordTrajectoryWrapper(ScriptedEnv(), path), SOLUTION)
    play(RecordTrajectoryWrapper(ScriptedEnv(), path), SOLUTION)
    assert len(load_trajectories(path)) == 2


@pytest.mark.parametrize("cut", ["reset", "close"])
def test_a_cut_episode_is_neither_terminated_nor_truncated(path, cut):
    env = RecordTrajectoryWrapper(ScriptedEnv(), path)
    play(env, ["look", "take key"])
    getattr(env, cut)()
    (recorded,) = load_trajectories(path)
    assert len(recorded) == 2
    assert (recorded.terminated, recorded.truncated, recorded.won) == (False, False, False)


def test_a_truncated_one_is_truncated(path):
    play(RecordTrajectoryWrapper(TimeLimit(ScriptedEnv(), 2), path), ["look", "look"])
    assert load_trajectories(path)[0].truncated


def test_nothing_is_written_twice_or_without_steps(path):
    env = RecordTrajectoryWrapper(ScriptedEnv(), path)
    env.reset()
    env.reset()
    for action in SOLUTION:
        env.step(action)
    env.reset()
    env.close()
    env.close()
    assert len(load_trajectories(path)) == 1


def test_a_branch_is_an_episode_of_its_own(path):
    env = RecordTrajectoryWrapper(ScriptedEnv(), path)
    play(env, ["take key"])
    snapshot = env.snapshot()
    env.step("drop key")
    env.restore(snapshot)
    env.step("unlock chest")
    env.step("take gem")
    assert [[s.action for s in t.steps] for t in load_trajectories(path)] == [["take key", "drop key"], list(SOLUTION)]


def test_copies_in_several_processes_share_the_file(path):
    vector = make_vec(ENV_ID, 2, mode="async", wrappers=[lambda env: RecordTrajectoryWrapper(env, path)])
    vector.reset(seed=[1, 2])  # pyright: ignore[reportArgumentType] - Gymnasium takes one a copy
    for action in SOLUTION:
        vector.step((action, "look"))
    vector.close()
    recorded = load_trajectories(path)
    assert sorted((t.seed, t.won) for t in recorded) == [(1, True), (2, False)]


def test_a_place_that_cannot_be_written_is_an_error_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        RecordTrajectoryWrapper(ScriptedEnv(), tmp_path / "file" / "episodes.jsonl")
    with pytest.raises(IsADirectoryError):
        RecordTrajectoryWrapper(ScriptedEnv(), tmp_path)
