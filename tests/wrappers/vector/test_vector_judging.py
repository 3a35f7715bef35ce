"""What vector wrappers do that is more than each copy's own wrapper would do."""

import math

import attrs
import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from agentkit import Verdict, make_vec
from agentkit.envs.vector import vectorize
from agentkit.judges import OracleJudge, RoleJudge, StepJudge
from agentkit.testing import BAD_JUDGES, HeldJudge, ScriptedEnv, ScriptedModel
from agentkit.testing.scripted_env import ENV_ID
from agentkit.wrappers import JudgeRewardWrapper, vector
from tests.wrappers import judges

WON = ("take key", "unlock chest", "take gem")


@attrs.define
class Counting:
    """A judge in batches, that notes how many trajectories and last steps each call was about."""

    context: str = "hindsight"
    answer: float | str = 0.5
    calls: list[int] = attrs.field(factory=list)
    name: str = "counting"

    def __call__(self, trajectory):
        raise AssertionError("asked about a single trajectory")

    score_last = __call__

    def judge_all(self, trajectories):
        self.calls.append(len(trajectories))
        return [[self.answer] * len(trajectory) for trajectory in trajectories]

    def score_last_all(self, trajectories):
        self.calls.append(len(trajectories))
        return [len(trajectory) / 10 for trajectory in trajectories]


def play(env, *plans):
    """One plan of actions for each copy."""
    env.reset(seed=5)
    return [env.step(actions) for actions in zip(*plans, strict=True)]


class TestOneBatchedCall:
    @pytest.mark.parametrize("mode", AutoresetMode)
    def test_for_all_episodes_that_end_in_a_step(self, mode):
        judge = Counting()
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 3, autoreset_mode=mode), judge)
        steps = play(env, WON, WON, ("look",) * 3)
        assert judge.calls == [2]
        infos = steps[-1][4]
        if mode is AutoresetMode.SAME_STEP:
            assert "step_scores" not in infos
            infos = infos["final_info"]
        assert infos["step_scores"].tolist() == [(0.5,) * 3, (0.5,) * 3, None]
        assert infos["_step_scores"].tolist() == [True, True, False]
        assert infos["shaped_rewards"][0] == (0.25, 0.25, 1.25)
        assert steps[-1][1].tolist() == [1.0, 1.0, 0.0]

    def test_for_the_roles_of_all_of_them(self):
        judge = Counting(answer="decisive")
        env = vector.RoleCreditWrapper(make_vec(ENV_ID, 2), judge, weight=0.5)
        infos = play(env, WON, WON)[-1][4]
        assert judge.calls == [2]
        assert infos["roles"].tolist() == [("decisive",) * 3] * 2
        assert infos["shaped_rewards"].tolist() == [(0.5, 0.5, 1.5)] * 2

    def test_for_the_last_steps_of_all_copies_with_a_prefix_judge(self):
        judge = Counting("prefix")
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), judge, weight=1.0)
        steps = play(env, (*WON, "ignored"), ("look",) * 4)
        # Copy 0 is reset in the last step, which belongs to no episode.
        assert judge.calls == [2, 2, 2]
        assert [step[1].tolist() for step in steps[:2]] == [[0.1, 0.1], [0.2, 0.2]]
        assert steps[2][1] == pytest.approx([1.3, 0.3])
        assert steps[3][4]["_step_score"].tolist() == [False, True]

    def test_the_judges_of_agentkit_ask_their_model_once(self):
        scoring, typing = ScriptedModel(lambda query: 0.5), ScriptedModel(lambda query: "decisive")
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), StepJudge(scoring, name="hindsight"))
        env = vector.RoleCreditWrapper(env, RoleJudge(typing))
        infos = play(env, WON, WON)[-1][4]
        assert (scoring.calls, typing.calls) == ([6], [6])
        assert infos["step_scores"].tolist() == [(0.5,) * 3] * 2
        assert infos["roles"].tolist() == [("decisive",) * 3] * 2

    @pytest.mark.parametrize("context", ["prefix", "prefix+feedback"])
    def test_an_online_step_judge_asks_once_a_vector_step(self, context):
        model = ScriptedModel(lambda query: 0.5)
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), StepJudge(model, context), weight=1.0)
        steps = play(env, WON, ("look",) * 3)
        assert model.calls == [2, 2, 2]
        assert [step[1].tolist() for step in steps] == [[0.5, 0.5], [0.5, 0.5], [1.5, 0.5]]

    def test_a_trajectory_that_the_judge_fails_on_costs_the_others_nothing(self, caplog):
        def judge(trajectory):
            if trajectory.steps[0].action == "look":
                raise TimeoutError("no answer in 30 s")
            return [1.0] * len(trajectory)

        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2, max_steps=3), judge)
        infos = play(env, ("look",) * 3, WON)[-1][4]
        assert all(map(math.isnan, infos["step_scores"][0]))
        assert infos["step_scores"][1] == (1.0, 1.0, 1.0)
        assert infos["shaped_rewards"].tolist() == [(0.0, 0.0, 0.0), (0.5, 0.5, 1.5)]
        assert infos["verdicts"]["judge"][0][0] == Verdict.no_score("TimeoutError: no answer in 30 s")
        assert "judge 'judge' failed on 3 steps, left unscored" in caplog.text

    @pytest.mark.parametrize("judge", BAD_JUDGES.values(), ids=BAD_JUDGES)
    def test_bad_judges(self, judge):
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), judge)
        if judge.error is None:
            infos = play(env, WON, WON)[-1][4]
            assert all(v.score is None for column in infos["verdicts"][judge.name] for v in column)
            assert infos["shaped_rewards"].tolist() == [(0.0, 0.0, 1.0)] * 2
        else:
            with pytest.raises(judge.error, match=f"judge '{judge.name}'"):
                play(env, WON, WON)


class TestLateAnswers:
    @pytest.mark.parametrize("mode", AutoresetMode)
    def test_they_come_under_the_copy_and_the_episode_that_they_are_about(self, mode):
        judge = HeldJudge(judges.milestones)
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2, autoreset_mode=mode, max_steps=3), judge, timeout=0.0)
        infos = play(env, WON, ("look",) * 3)[-1][4]
        last = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
        assert last["late_episode"].tolist() == [0, 0]
        assert last["shaped_rewards"].tolist() == [(0.0, 0.0, 1.0), (0.0, 0.0, 0.0)]
        if mode is AutoresetMode.DISABLED:
            env.reset()
        judge.release(2)
        late = env.late_trajectories(wait=True)
        assert [(t.info["copy"], t.info["episode"], t.won) for t in late] == [(0, 0, True), (1, 0, False)]
        assert [t.seed for t in late] == [5, 6]
        assert [s.shaped_reward for s in late[0].steps] == [0.5, 0.5, 1.5]
        actions = [("look", "look")] * (3 + (mode is AutoresetMode.NEXT_STEP))
        steps = [env.step(pair) for pair in actions]
        infos = steps[-1][4]
        last = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
        assert last["late_episode"].tolist() == [1, 1]
        assert all("shaped_rewards" not in step[4] for step in steps[:-1])
        assert last["shaped_rewards"].tolist() == [(0.0, 0.0, 0.0)] * 2
        judge.release(2)
        assert [t.info["episode"] for t in env.late_trajectories(wait=True)] == [1, 1]
        env.close()

    def test_an_episode_that_a_masked_reset_cut_off(self):
        judge = HeldJudge(judges.milestones)
        judge.release(1)
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), judge, timeout=60.0)
        play(env, WON[:2], ("look",) * 2)
        env.reset(options={"reset_mask": np.array([True, False])})
        (cut,) = env.late_trajectories(wait=True)
        assert (cut.info, cut.terminated, cut.truncated) == ({"episode": 0, "copy": 0}, False, False)
        assert [s.scores["held"].score for s in cut.steps] == [1.0, 1.0]

    def test_closing_says_what_is_lost(self, caplog):
        judge = HeldJudge(judges.milestones)
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), judge, timeout=0.0)
        play(env, WON, WON)
        env.close()
        judge.release(2)
        assert "closed while judge 'held' had late answers for 2 episodes" in caplog.text


class TestNames:
    def test_two_judges_of_one_name_around_a_vector(self):
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 1), OracleJudge())
        env = vector.JudgeRewardWrapper(vector.RoleCreditWrapper(env, judges.by_milestone), OracleJudge())
        assert env.judge_names == ("oracle", "oracle 2")
        infos = play(env, WON)[-1][4]
        assert {key for key in infos["verdicts"] if not key.startswith("_")} == {"oracle", "oracle 2"}

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_a_judge_inside_the_copies_keeps_its_name(self, mode):
        inner = [lambda env: JudgeRewardWrapper(env, OracleJudge())]
        made = make_vec(ENV_ID, 2, mode=mode, wrappers=inner)
        with pytest.raises(ValueError, match="name 'oracle' is taken by another JudgeRewardWrapper of this stack"):
            vector.JudgeRewardWrapper(made, judges.half, name="oracle")
        env = vector.JudgeRewardWrapper(made, OracleJudge(), weight=1.0)
        infos = play(env, WON, WON)[-1][4]
        assert infos["verdicts"]["oracle"][0] == infos["verdicts"]["oracle 2"][0]
        # Raw (0, 0, 1) + 0.5 of the inner judge + 1.0 of the outer one.
        assert infos["shaped_rewards"].tolist() == [(1.5, 1.5, 2.5)] * 2
        env.close()


class TestBadInput:
    def test_what_is_no_vector_environment(self):
        with pytest.raises(TypeError, match=r"Expected env to be a `gymnasium\.vector\.VectorEnv`"):
            vector.JudgeRewardWrapper(gym.make(ENV_ID), judges.half)  # pyright: ignore[reportArgumentType]

    def test_no_autoreset_mode(self):
        made = make_vec(ENV_ID, 1)
        del made.metadata["autoreset_mode"]
        with pytest.raises(ValueError, match=r"autoreset_mode'\] must be a gymnasium.vector.AutoresetMode, got None"):
            vector.JudgeRewardWrapper(made, judges.half)

    def test_text_through_shared_memory(self):
        made = gym.vector.AsyncVectorEnv([ScriptedEnv] * 2)
        try:
            with pytest.raises(ValueError, match=r"damages texts of unequal lengths.*agentkit\.make_vec"):
                vector.JudgeRewardWrapper(made, judges.half)
        finally:
            made.close()

    def test_wrong_seeds_are_gymnasiums_error(self):
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), judges.half)
        with pytest.raises(ValueError, match="the length must match num_envs=2 but got length=3"):
            env.reset(seed=[1, 2, 3])

    def test_observations_that_are_not_text(self):
        env = vector.JudgeRewardWrapper(vectorize([lambda: gym.make("CartPole-v1")] * 2), judges.half)
        message = "JudgeRewardWrapper needs observations that are str, got ndarray.*TextualizeWrapper around"
        with pytest.raises(TypeError, match=message):
            env.reset()

    def test_step_before_reset(self):
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), judges.half)
        with pytest.raises(ValueError, match=r"no episode has begun in every copy; call reset\(\) before step\(\)"):
            env.step(("look", "look"))

    @pytest.mark.parametrize("mask", [[True, False], np.array([1, 0]), np.array([True]), np.array([False, False])])
    def test_a_wrong_mask_is_gymnasiums_error_and_loses_nothing(self, mask):
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), judges.half)
        play(env, WON[:2], WON[:2])
        with pytest.raises((TypeError, ValueError), match="reset_mask"):
            env.reset(options={"reset_mask": mask})
        infos = env.step(("take gem", "look"))[4]
        assert infos["step_scores"][0] == (0.5, 0.5, 0.5)

    def test_options_are_left_as_they_were(self):
        env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2), judges.half)
        env.reset()
        options = {"reset_mask": np.array([True, False])}
        env.reset(options=options)
        assert list(options) == ["reset_mask"]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_masked_reset_while_another_copy_waits_for_its_own(mode):
    """In NEXT_STEP mode: copy 1 has ended and resets in the step in which copy 0 begins its second episode."""
    env = vector.JudgeRewardWrapper(make_vec(ENV_ID, 2, mode=mode, max_steps=3), judges.milestones)
    play(env, ("look",) * 2, WON[:2])
    _, _, terminations, _, infos = env.step(("take key", "take gem"))
    assert terminations.tolist() == [False, True]
    assert infos["step_scores"].tolist()[1] == (1.0, 1.0, 1.0)
    env.reset(options={"reset_mask": np.array([True, False])})
    observations, _, _, _, infos = env.step(("take key", "ignored"))
    assert observations == (
        "You hold the key. The chest is locked.",
        "You are in a hall. You see a key and a locked chest.",
    )
    assert infos["_raw_reward"].tolist() == [True, False]
    for actions in (("look", "look"), ("unlock chest", "take key")):
        *_, truncations, infos = env.step(actions)
    assert truncations.tolist() == [True, False]
    assert infos["step_scores"][0] == pytest.approx((1.0, math.nan, 1.0), nan_ok=True)
    *_, infos = env.step(("ignored", "unlock chest"))
    assert infos["_step_scores"].tolist() == [False, True]
    assert infos["step_scores"][1] == pytest.approx((math.nan, 1.0, 1.0), nan_ok=True)
    env.close()
