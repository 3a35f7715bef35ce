"""Judges that answer after the episode, or after the step, that they were asked about."""

import logging
import math
import pickle

import pytest
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit import Verdict
from agentkit.testing import HeldJudge, ScriptedEnv
from agentkit.wrappers import JudgeRewardWrapper, RecordTrajectoryWrapper, RoleCreditWrapper
from tests.wrappers import judges
from tests.wrappers.numbered import JUDGE_A, NumberedEnv, number_of

WON = ("take key", "unlock chest", "take gem")
LOOKS = ("look", "look")
LATE = Verdict.no_score("no answer within 0 s")


def play(env, actions, seed=None):
    env.reset(seed=seed)
    return [env.step(action) for action in actions]


@pytest.fixture
def held():
    judge = HeldJudge(judges.milestones)
    yield judge
    judge.release(100)  # lets the judge's thread end


class TestHindsight:
    def test_the_episode_ends_without_scores_and_nothing_reaches_the_next_one(self, held):
        env = JudgeRewardWrapper(ScriptedEnv(), held, timeout=0.0)
        last = play(env, WON, seed=7)[-1]
        assert last[1] == 1.0
        assert all(map(math.isnan, last[4]["step_scores"]))
        assert last[4]["shaped_rewards"] == (0.0, 0.0, 1.0)
        assert last[4]["verdicts"] == {"held": (LATE, LATE, LATE)}
        assert last[4]["late_episode"] == 0
        assert env.late_trajectories() == []
        env.reset(seed=8)
        env.step("look")
        held.release()
        # The answer about episode 0 comes now, or at any moment of episode 1.
        (first,) = env.late_trajectories(wait=True)
        rest = [env.step(action) for action in WON]
        assert [step[1] for step in rest] == [0.0, 0.0, 1.0]
        assert all("step_scores" not in step[4] for step in rest[:-1])
        assert rest[-1][4]["verdicts"] == {"held": (LATE,) * 4}
        assert rest[-1][4]["shaped_rewards"] == (0.0, 0.0, 0.0, 1.0)
        assert rest[-1][4]["late_episode"] == 1
        assert (first.seed, first.info["episode"], first.won) == (7, 0, True)
        assert [s.action for s in first.steps] == list(WON)
        assert [s.scores["held"].score for s in first.steps] == [1.0, 1.0, 1.0]
        assert [(s.raw_reward, s.shaped_reward) for s in first.steps] == [(0.0, 0.5), (0.0, 0.5), (1.0, 1.5)]
        held.release()
        (second,) = env.late_trajectories(wait=True)
        assert (second.seed, second.info["episode"]) == (8, 1)
        assert [s.scores["held"].score for s in second.steps] == [None, 1.0, 1.0, 1.0]
        assert env.late_trajectories(wait=True) == []

    def test_an_answer_in_time_is_given_at_once(self, held):
        held.release(1)
        env = JudgeRewardWrapper(ScriptedEnv(), held, timeout=60.0)
        info = play(env, WON)[-1][4]
        assert info["step_scores"] == (1.0, 1.0, 1.0)
        assert "late_episode" not in info
        assert env.late_trajectories(wait=True) == []

    def test_several_late_episodes_come_in_their_order(self, held):
        env = JudgeRewardWrapper(ScriptedEnv(max_steps=2), held, timeout=0.0)
        for seed in range(3):
            play(env, LOOKS if seed else WON[:2], seed=seed)
        held.release(3)
        late = env.late_trajectories(wait=True)
        assert [(t.seed, t.info["episode"], t.truncated) for t in late] == [(n, n, True) for n in range(3)]
        assert [t.steps[0].scores["held"].score for t in late] == [1.0, None, None]

    def test_an_episode_that_was_cut_off_is_handed_over_too(self, held):
        held.release(2)
        env = TimeLimit(JudgeRewardWrapper(ScriptedEnv(), held, timeout=60.0), 2)
        play(env, WON[:2])
        play(env, ("look",))
        env.reset()
        limited, cut = env.get_wrapper_attr("late_trajectories")(wait=True)
        assert [s.scores["held"].score for s in limited.steps] == [1.0, 1.0]
        assert (limited.info["episode"], cut.info["episode"]) == (0, 1)
        assert (cut.terminated, cut.truncated) == (False, False)

    def test_a_judge_that_fails_late_leaves_the_steps_unscored(self, caplog):
        judge = HeldJudge(judges.failing)
        env = JudgeRewardWrapper(ScriptedEnv(), judge, timeout=0.0)
        play(env, WON)
        judge.release()
        (late,) = env.late_trajectories(wait=True)
        assert [s.scores["held"].unscored for s in late.steps] == ["TimeoutError: no answer in 30 s"] * 3
        assert [s.shaped_reward for s in late.steps] == [0.0, 0.0, 1.0]
        assert "judge 'held' failed on 3 steps" in caplog.text

    def test_a_wrong_late_answer_raises_and_costs_no_other_episode(self):
        judge = HeldJudge(lambda t: [0.5] * (len(t) if len(t) == 3 else 1))
        env = JudgeRewardWrapper(ScriptedEnv(max_steps=4), judge, timeout=0.0)
        for actions in (WON, ("look",) * 4, WON):
            play(env, actions)
        judge.release(3)
        assert [t.info["episode"] for t in env.late_trajectories(wait=True)] == [0]
        with pytest.raises(ValueError, match="judge 'held' returned 1 scores for 4 steps"):
            env.late_trajectories(wait=True)
        assert [t.info["episode"] for t in env.late_trajectories(wait=True)] == [2]

    def test_a_branch_is_an_episode_of_its_own(self, held):
        env = JudgeRewardWrapper(ScriptedEnv(), held, timeout=0.0)
        env.reset()
        env.step("take key")
        snapshot = env.snapshot()
        for action in WON[1:]:
            env.step(action)
        env.restore(snapshot)
        for action in ("look", *WON[1:]):
            info = env.step(action)[4]
        assert info["late_episode"] == 1
        held.release(2)
        assert [(t.info["episode"], len(t)) for t in env.late_trajectories(wait=True)] == [(0, 3), (1, 4)]

    def test_closing_says_how_many_stay_unscored(self, held, caplog):
        env = JudgeRewardWrapper(ScriptedEnv(), held, timeout=0.0)
        for _ in range(2):
            play(env, WON)
        env.close()
        assert "closed while judge 'held' had late answers for 2 episodes, which stay unscored" in caplog.text
        assert env.late_trajectories(wait=True) == []

    def test_closing_is_silent_when_nothing_is_lost(self, caplog):
        env = JudgeRewardWrapper(ScriptedEnv(), judges.half, timeout=60.0)
        play(env, WON)
        env.close()
        assert caplog.text == ""

    def test_what_nobody_takes_does_not_pile_up(self, held, caplog, monkeypatch):
        monkeypatch.setattr("agentkit.wrappers.grading.MOST_WAITING", 2)
        env = JudgeRewardWrapper(ScriptedEnv(), held, timeout=0.0)
        for _ in range(4):
            play(env, WON)
        held.release(10)
        assert [t.info["episode"] for t in env.late_trajectories(wait=True)] == [2, 3]
        assert "more than 2 late answers of 'held' were not taken; the oldest is dropped" in caplog.text

    def test_pickles_without_what_is_awaited(self):
        env = JudgeRewardWrapper(ScriptedEnv(), judges.half, timeout=60.0)
        play(env, WON)
        env._grading._waiting.append(None)
        copy = pickle.loads(pickle.dumps(env))
        assert copy.late_trajectories(wait=True) == []
        assert play(copy, WON)[-1][4]["step_scores"] == (0.5, 0.5, 0.5)

    @pytest.mark.parametrize("timeout", [-1.0, math.nan, math.inf])
    def test_bad_timeouts(self, timeout):
        with pytest.raises(ValueError, match="timeout must be a finite number of seconds of at least 0, or None"):
            JudgeRewardWrapper(ScriptedEnv(), judges.half, timeout=timeout)


class TestPrefix:
    def test_a_step_that_was_not_scored_in_time_stays_unscored(self, caplog):
        judge = HeldJudge(judges.PrefixJudge(), context="prefix")
        env = JudgeRewardWrapper(ScriptedEnv(), judge, weight=1.0, timeout=0.0)
        env.reset()
        late = [env.step(action) for action in ("look", "take key")]
        assert [step[1] for step in late] == [0.0, 0.0]
        assert all(math.isnan(step[4]["step_score"]) for step in late)
        assert "judge 'held' did not answer in time, 1 steps left unscored" in caplog.text
        judge.release(100)
        env._grading._background.timeout = 60.0
        scored = [env.step(action) for action in WON[1:]]
        # Their own scores, not those of the steps before.
        assert [step[4]["step_score"] for step in scored] == pytest.approx([0.3, 0.4])
        assert [step[1] for step in scored] == pytest.approx([0.3, 1.4])
        assert scored[-1][4]["shaped_rewards"] == pytest.approx((0.0, 0.0, 0.3, 1.4))
        assert [v.score for v in scored[-1][4]["verdicts"]["held"]] == [None, None, pytest.approx(0.3), 0.4]
        assert env.late_trajectories(wait=True) == []


class TestRoles:
    def test_late_roles(self):
        judge = HeldJudge(judges.by_milestone)
        env = RoleCreditWrapper(ScriptedEnv(), judge, weight=0.2, timeout=0.0)
        info = play(env, WON)[-1][4]
        assert (info["roles"], info["shaped_rewards"]) == ((None,) * 3, (0.0, 0.0, 1.0))
        env.reset()
        judge.release()
        (late,) = env.late_trajectories(wait=True)
        assert [s.role for s in late.steps] == ["decisive"] * 3
        assert [s.shaped_reward for s in late.steps] == pytest.approx([0.2, 0.2, 1.2])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["!", "?", "cut"]), st.integers(0, 3)), max_size=6),
    st.booleans(),
)
def test_each_episode_gets_its_own_answers_once_whenever_they_come(episodes, take_often):
    """Episodes of a length, with an ending, after which so many of the awaited answers are let through."""
    judge = HeldJudge(JUDGE_A, name="a")
    env = JudgeRewardWrapper(NumberedEnv(), judge, timeout=0.0)
    number, played, at_once, late = 0, [], [], []
    for length, ending, answers in episodes:
        env.reset()
        actions = []
        for t in range(length):
            number += 1
            actions.append(f"{number}{ending if ending != 'cut' and t == length - 1 else ''}")
            _, reward, _, _, info = env.step(actions[-1])
            assert reward == info["raw_reward"] == number / 8
        played.append(actions)
        if ending != "cut" and "late_episode" not in info:
            at_once.append((actions, info["step_scores"]))
        judge.release(answers)
        if take_often:
            late += env.late_trajectories()
    judge.release(100)
    env.reset()  # what was running is cut off
    late += env.late_trajectories(wait=True)
    found = at_once + [([s.action for s in t.steps], t.score_array("a")) for t in late]
    assert sorted(actions for actions, _ in found) == sorted(played)
    for actions, scores in found:
        expected = JUDGE_A.expected([number_of(action) for action in actions])
        assert list(scores) == pytest.approx([math.nan if score is None else score for score in expected], nan_ok=True)
    assert [played[t.info["episode"]] for t in late] == [[s.action for s in t.steps] for t in late]


def test_an_outer_judge_in_time_and_an_inner_one_that_is_late(held, tmp_path):
    inner = JudgeRewardWrapper(ScriptedEnv(), held, timeout=0.0)
    env = RecordTrajectoryWrapper(JudgeRewardWrapper(inner, judges.half, weight=1.0), tmp_path / "e.jsonl")
    info = play(env, WON)[-1][4]
    assert info["verdicts"] == {"held": (LATE,) * 3, "half": (Verdict(0.5),) * 3}
    assert info["shaped_rewards"] == (0.5, 0.5, 1.5)
    held.release()
    (late,) = inner.late_trajectories(wait=True)
    # Only what the late judge's own wrapper and those inside it said.
    assert set(late.steps[0].scores) == {"held"}
    assert [s.shaped_reward for s in late.steps] == [0.5, 0.5, 1.5]


def test_a_late_judge_is_a_note_and_no_warning(held, caplog):
    env = JudgeRewardWrapper(ScriptedEnv(), held, timeout=0.0)
    with caplog.at_level(logging.INFO):
        play(env, WON)
    assert [(r.levelname, r.message) for r in caplog.records] == [("INFO", "judge 'held' is late with 1 episodes")]
