import logging
import math

import gymnasium as gym
import pytest
from gymnasium.wrappers import TimeLimit

from agentkit import Verdict, rollout
from agentkit.judges import OracleJudge, StepJudge
from agentkit.testing import BAD_JUDGES, BAD_MODELS, ScriptedEnv, ScriptedModel
from agentkit.wrappers import JudgeRewardWrapper
from tests.wrappers import judges

SOLUTION = ("look", "take key", "unlock chest", "take gem")


def play(env, actions=SOLUTION):
    env.reset(seed=0)
    return [env.step(action) for action in actions]


class TestHindsight:
    def test_scores_come_with_the_end(self):
        steps = play(JudgeRewardWrapper(ScriptedEnv(), judges.milestones, weight=0.5))
        assert [reward for _, reward, *_ in steps] == [0.0, 0.0, 0.0, 1.0]
        assert all("step_scores" not in info for *_, info in steps[:-1])
        last = steps[-1][4]
        assert math.isnan(last["step_scores"][0])
        assert last["step_scores"][1:] == (1.0, 1.0, 1.0)
        assert last["shaped_rewards"] == (0.0, 0.5, 0.5, 1.5)
        assert last["verdicts"]["milestones"][0] == Verdict.no_score("the judge abstained")

    def test_truncation_is_an_end_too(self):
        steps = play(JudgeRewardWrapper(ScriptedEnv(max_steps=2), judges.half), ["look", "look"])
        assert steps[-1][4]["step_scores"] == (0.5, 0.5)

    def test_the_judge_sees_the_whole_episode_once(self):
        seen = []

        def judge(trajectory):
            seen.append(trajectory)
            return [0.0] * len(trajectory)

        play(JudgeRewardWrapper(ScriptedEnv(), judge))
        (trajectory,) = seen
        assert [s.action for s in trajectory.steps] == list(SOLUTION)
        assert trajectory.won
        assert trajectory.goal == "take the gem out of the chest"

    def test_a_judge_that_raises_leaves_the_steps_unscored_and_adds_exactly_zero(self, caplog):
        steps = play(JudgeRewardWrapper(ScriptedEnv(), judges.failing))
        last = steps[-1][4]
        assert all(math.isnan(score) for score in last["step_scores"])
        assert last["shaped_rewards"] == (0.0, 0.0, 0.0, 1.0)
        assert "judge 'failing' failed on 4 steps, left unscored: TimeoutError: no answer in 30 s" in caplog.text

    @pytest.mark.parametrize("judge", BAD_JUDGES.values(), ids=BAD_JUDGES)
    def test_bad_judges(self, judge):
        env = JudgeRewardWrapper(ScriptedEnv(), judge)
        if judge.error is None:
            (trajectory,) = rollout(env, lambda observation, info: info["admissible_actions"][-1])
            assert all(s.scores[judge.name].unscored for s in trajectory.steps)
            assert [s.shaped_reward for s in trajectory.steps] == [s.raw_reward for s in trajectory.steps]
        else:
            with pytest.raises(judge.error, match=f"judge '{judge.name}'"):
                play(env)

    @pytest.mark.parametrize("model", BAD_MODELS.values(), ids=BAD_MODELS)
    @pytest.mark.parametrize("context", ["hindsight", "prefix"])
    def test_bad_models_give_no_score_never_zero(self, model, context):
        env = JudgeRewardWrapper(ScriptedEnv(), StepJudge(model, context=context, name="judge"))
        (trajectory,) = rollout(env, lambda observation, info: info["admissible_actions"][-1])
        assert all(s.scores["judge"].score is None for s in trajectory.steps)
        assert trajectory.steps[-1].shaped_reward == 1.0

    def test_a_limit_outside_is_reported_once(self, caplog):
        env = TimeLimit(JudgeRewardWrapper(ScriptedEnv(), judges.half), max_episode_steps=2)
        for _ in range(3):
            play(env, ["look", "look"])
        messages = [r.message for r in caplog.records if "TimeLimit, belongs inside this one" in r.message]
        assert len(messages) == 1
        assert "'half' never saw the end of an episode of 2 steps" in messages[0]

    def test_whole_episodes_are_not_reported(self, caplog):
        env = JudgeRewardWrapper(TimeLimit(ScriptedEnv(), max_episode_steps=2), judges.half)
        with caplog.at_level(logging.WARNING):
            steps = [play(env, ["look", "look"])[-1] for _ in range(2)]
        assert caplog.text == ""
        assert steps[1][4]["step_scores"] == (0.5, 0.5)


class TestPrefix:
    def test_scores_are_added_at_once(self):
        steps = play(JudgeRewardWrapper(ScriptedEnv(), judges.PrefixJudge(), weight=0.5))
        assert [reward for _, reward, *_ in steps] == pytest.approx([0.05, 0.1, 0.15, 1.2])
        assert [info["step_score"] for *_, info in steps] == pytest.approx([0.1, 0.2, 0.3, 0.4])
        assert [info["raw_reward"] for *_, info in steps] == [0.0, 0.0, 0.0, 1.0]
        last = steps[-1][4]
        assert last["shaped_rewards"] == pytest.approx((0.05, 0.1, 0.15, 1.2))
        assert last["step_scores"] == pytest.approx((0.1, 0.2, 0.3, 0.4))

    def test_what_an_action_led_to_is_known_at_once_too(self):
        judge = judges.PrefixJudge(context="prefix+feedback")
        steps = play(JudgeRewardWrapper(ScriptedEnv(), judge, weight=1.0))
        assert [reward for _, reward, *_ in steps] == pytest.approx([0.1, 0.2, 0.3, 1.4])

    def test_a_judge_with_score_last_is_asked_for_the_last_step_only(self):
        steps = play(JudgeRewardWrapper(ScriptedEnv(), judges.LastOnly()))
        assert [info["step_score"] for *_, info in steps] == pytest.approx([0.1, 0.2, 0.3, 0.4])

    def test_step_judges_ask_one_query_a_step(self):
        model = ScriptedModel(lambda query: 0.5)
        play(JudgeRewardWrapper(ScriptedEnv(), StepJudge(model, context="prefix")))
        assert model.calls == [1, 1, 1, 1]

    def test_an_unscored_step_adds_exactly_zero(self):
        judge = StepJudge(ScriptedModel([None, 0.5, None, 1.0]), context="prefix")
        steps = play(JudgeRewardWrapper(ScriptedEnv(), judge, weight=1.0))
        assert [reward for _, reward, *_ in steps] == [0.0, 0.5, 0.0, 2.0]
        assert [math.isnan(info["step_score"]) for *_, info in steps] == [True, False, True, False]


class TestArguments:
    def test_an_import_string_is_resolved(self):
        env = JudgeRewardWrapper(ScriptedEnv(), "agentkit.judges:OracleJudge()")
        assert env.name == "oracle"
        # no-op 0, milestones 1
        assert play(env)[-1][4]["step_scores"] == (0.0, 1.0, 1.0, 1.0)

    def test_two_judges_of_one_name_keep_their_scores_apart(self):
        env = JudgeRewardWrapper(JudgeRewardWrapper(ScriptedEnv(), OracleJudge()), OracleJudge())
        assert set(play(env)[-1][4]["verdicts"]) == {"oracle", "oracle 2"}
        with pytest.raises(ValueError, match="name 'oracle' is taken by another JudgeRewardWrapper of this stack"):
            JudgeRewardWrapper(JudgeRewardWrapper(ScriptedEnv(), OracleJudge()), judges.half, name="oracle")

    @pytest.mark.parametrize(
        ("judge", "weight", "error", "message"),
        [
            ("OracleJudge", 0.5, ValueError, "judge must be an object or a string 'package.module:attribute'"),
            ("agentkit.judges:NoJudge", 0.5, ImportError, "judge='agentkit.judges:NoJudge'"),
            ("no_such_module:judge", 0.5, ImportError, "no_such_module"),
            (3, 0.5, TypeError, r"judge must be callable as judge\(trajectory\), got 3"),
            (judges.half, math.nan, ValueError, "weight must be a finite number, got nan"),
        ],
    )
    def test_bad_arguments(self, judge, weight, error, message):
        with pytest.raises(error, match=message):
            JudgeRewardWrapper(ScriptedEnv(), judge, weight)

    def test_a_spec_with_an_import_string_survives_json(self):
        env = JudgeRewardWrapper(gym.make("agentkit-testing/Scripted-v0"), "agentkit.judges:OracleJudge()", weight=0.1)
        assert env.spec is not None
        rebuilt = gym.make(type(env.spec).from_json(env.spec.to_json()))
        assert play(rebuilt)[-1][4]["shaped_rewards"] == pytest.approx((0.0, 0.1, 0.1, 1.1))
