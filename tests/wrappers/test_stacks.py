"""Wrappers around wrappers: whatever the order, every signal arrives at its step."""

import itertools
import pickle
from functools import partial

import gymnasium as gym
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from agentkit import load_trajectories, rollout
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import (
    ComparatorGateWrapper,
    JudgeRewardWrapper,
    RecordTrajectoryWrapper,
    ReplaySnapshot,
    RoleCreditWrapper,
)
from tests.wrappers import judges

PARTS = {
    "judge": partial(JudgeRewardWrapper, judge=judges.milestones, weight=0.5),
    "prefix": partial(JudgeRewardWrapper, judge=judges.PrefixJudge(), weight=1.0),
    "roles": partial(RoleCreditWrapper, judge=judges.by_milestone, weight=0.2),
    "statistics": RecordEpisodeStatistics,
}
SOLUTION = ("look", "take key", "unlock chest", "take gem")
# raw (0, 0, 0, 1) + 0.5 * (-, 1, 1, 1) + 1.0 * (.1, .2, .3, .4) + 0.2 * (-, 1, 1, 1)
SHAPED = [0.1, 0.9, 1.0, 2.1]


def follow(actions=SOLUTION):
    left = iter(actions)
    return lambda observation, info: next(left)


@pytest.mark.parametrize("order", itertools.permutations(PARTS), ids="-".join)
def test_any_order(order):
    env: gym.Env = TimeLimit(gym.make("agentkit-testing/Scripted-v0"), 10)
    for name in order:
        env = PARTS[name](env)
    (trajectory,) = rollout(env, follow())
    assert [s.raw_reward for s in trajectory.steps] == [0.0, 0.0, 0.0, 1.0]
    assert [s.shaped_reward for s in trajectory.steps] == pytest.approx(SHAPED)
    assert [s.role for s in trajectory.steps] == [None, "decisive", "decisive", "decisive"]
    assert [s.scores["milestones"].score for s in trajectory.steps] == [None, 1.0, 1.0, 1.0]
    assert [s.scores["prefix"].score for s in trajectory.steps] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    # What the outermost environment returned: raw rewards and the prefix bonus, which is all that exists online.
    assert [s.reward for s in trajectory.steps] == pytest.approx([0.1, 0.2, 0.3, 1.4])

    assert env.spec is not None
    rebuilt = gym.make(env.spec)
    assert str(rebuilt) == str(env)
    assert rollout(rebuilt, follow())[0].steps == trajectory.steps


def test_statistics_outside_count_what_was_returned():
    env = RecordEpisodeStatistics(PARTS["prefix"](ScriptedEnv()))
    env.reset()
    for action in SOLUTION:
        info = env.step(action)[4]
    assert info["episode"]["r"] == pytest.approx(2.0)
    assert info["episode"]["l"] == 4


@pytest.mark.parametrize("gate_first", [True, False])
def test_withheld_proposals_are_not_judged(gate_first):
    parts = [partial(ComparatorGateWrapper, comparator=judges.prefers_progress), PARTS["judge"]]
    env: gym.Env = ScriptedEnv()
    for part in parts if gate_first else reversed(parts):
        env = part(env)
    # "look" is withheld, then "take key" follows the advice
    (trajectory,) = rollout(env, follow())
    assert [s.action for s in trajectory.steps] == ["take key", "unlock chest", "take gem"]
    assert [s.scores["milestones"].score for s in trajectory.steps] == [1.0, 1.0, 1.0]
    assert [s.shaped_reward for s in trajectory.steps] == [0.5, 0.5, 1.5]


@pytest.mark.parametrize("gate_first", [True, False])
def test_a_forced_action_is_judged_and_recorded_as_the_one_that_was_executed(gate_first):
    parts = [partial(ComparatorGateWrapper, comparator=judges.prefers_progress, mode="forced"), PARTS["judge"]]
    env: gym.Env = ScriptedEnv()
    for part in parts if gate_first else reversed(parts):
        env = part(env)
    (trajectory,) = rollout(env, follow(("look", "look", "take gem")))
    assert [s.action for s in trajectory.steps] == ["take key", "unlock chest", "take gem"]
    assert [s.gate["proposal"] for s in trajectory.steps if s.gate] == ["look", "look", "take gem"]
    assert [s.scores["milestones"].score for s in trajectory.steps] == [1.0, 1.0, 1.0]


def test_the_recorder_outside_keeps_what_all_of_them_said(tmp_path):
    env: gym.Env = ScriptedEnv()
    for name in ("judge", "prefix", "roles"):
        env = PARTS[name](env)
    recorder = RecordTrajectoryWrapper(env, tmp_path / "episodes.jsonl")
    (trajectory,) = rollout(recorder, follow())
    (recorded,) = load_trajectories(tmp_path / "episodes.jsonl")
    assert recorded == trajectory


class TestBranching:
    def stack(self, env):
        for name in ("judge", "prefix", "roles"):
            env = PARTS[name](env)
        return ComparatorGateWrapper(env, judges.prefers_progress)

    @pytest.mark.parametrize("base", [ScriptedEnv, lambda: ReplaySnapshot(ScriptedEnv())])
    def test_a_branch_has_the_history_of_its_stem_only(self, base):
        env = self.stack(base())
        env.reset(seed=1)
        env.step("take key")
        snapshot = pickle.loads(pickle.dumps(env.get_wrapper_attr("snapshot")()))
        for action in ("unlock chest", "take gem"):
            first = env.step(action)
        observation, _ = env.get_wrapper_attr("restore")(snapshot)
        assert observation == "You hold the key. The chest is locked."
        for action in ("unlock chest", "take gem"):
            second = env.step(action)
        assert len(first[4]["step_scores"]) == 3
        assert second[:4] == first[:4]
        assert second[4] == first[4]

    def test_advice_is_restored(self):
        env = self.stack(ScriptedEnv())
        env.reset(seed=1)
        advised, *_ = env.step("look")
        snapshot = env.get_wrapper_attr("snapshot")()
        env.step("take key")
        assert env.get_wrapper_attr("restore")(snapshot)[0] == advised
        assert env.step("take key")[4]["gate"]["advice"] == "followed"

    def test_only_what_can_branch_says_that_it_can(self):
        inside = gym.make("FrozenLake-v1")
        assert not PARTS["judge"](inside).has_wrapper_attr("snapshot")
        assert PARTS["judge"](ScriptedEnv()).has_wrapper_attr("snapshot")
        with pytest.raises(AttributeError, match="snapshot"):
            PARTS["judge"](inside).snapshot()
