import math

import numpy as np
import pytest

from agentkit import Verdict
from agentkit.episode import EpisodeBuilder, absorb_signals, with_seed
from agentkit.testing import ScriptedEnv
from agentkit.verdicts import as_verdict, as_verdicts, call_judge, judge_name

INFO = {"goal": "get out", "admissible_actions": ("look", "leave"), "task_id": "t", "task_type": "exit"}


def builder():
    return EpisodeBuilder("A room.", INFO, seed=3, group="g")


class TestEpisodeBuilder:
    def test_a_step_holds_what_was_seen_before_and_what_it_led_to(self):
        env = ScriptedEnv()
        observation, info = env.reset()
        episode = EpisodeBuilder(observation, info)
        for action in ("take key", "unlock chest", "take gem"):
            episode.add(action, *env.step(action))
        trajectory = episode.trajectory()
        assert [s.observation for s in trajectory.steps[1:]] == [s.feedback for s in trajectory.steps[:-1]]
        assert trajectory.steps[0].admissible_actions == ("look", "take key")
        assert [s.milestones for s in trajectory.steps] == [("take",), ("unlock",), ("gem",)]
        assert trajectory.final_observation == trajectory.steps[-1].feedback
        assert (trajectory.won, trajectory.terminated, trajectory.truncated) == (True, True, False)
        assert trajectory.total_reward == 1.0

    def test_before_any_step(self):
        trajectory = builder().trajectory()
        assert len(trajectory) == 0
        assert (trajectory.goal, trajectory.seed, trajectory.group, trajectory.task_type) == ("get out", 3, "g", "exit")

    def test_raw_rewards_come_from_info(self):
        step = builder().add("look", "A room.", 1.5, False, False, {**INFO, "raw_reward": 1.0})
        assert step is not None
        assert (step.reward, step.raw_reward) == (1.5, 1.0)

    def test_a_withheld_step_makes_no_step_but_changes_what_the_agent_sees(self):
        episode = builder()
        info = {"goal": "get out", "gate": {"withheld": True}}
        assert episode.add("look", "A room. Advice: leave.", 0.0, False, False, info) is None
        episode.add("leave", "Outside.", 1.0, True, False, {**INFO, "gate": {"withheld": False, "p": np.float64(0.5)}})
        (step,) = episode.trajectory().steps
        assert step.observation == "A room. Advice: leave."
        assert step.admissible_actions == ("look", "leave")
        assert step.gate == {"withheld": False, "p": 0.5}

    def test_a_forced_action_is_the_one_that_was_executed(self):
        info = {**INFO, "gate": {"withheld": False, "proposal": "look", "executed": "leave"}}
        step = builder().add("look", "Outside.", 1.0, True, False, info, probability=0.75)
        assert step is not None
        assert (step.action, step.probability, step.gate["proposal"]) == ("leave", None, "look")

    def test_an_oracle_role_stays_when_a_judge_gives_another(self):
        episode = builder()
        episode.add(
            "leave", "Outside.", 1.0, True, False, {**INFO, "oracle_role": "decisive", "roles": ("regression",)}
        )
        (step,) = episode.trajectory().steps
        assert (step.role, step.info) == ("regression", {"oracle_role": "decisive"})

    def test_what_is_not_json_in_a_gate_is_left_out(self):
        gate = {"nan": math.nan, "object": object(), "tuple": (1, "a"), "none": None}
        step = builder().add("look", "", 0.0, False, False, {"gate": gate})
        assert step is not None
        assert step.gate == {"nan": None, "object": None, "tuple": [1, "a"], "none": None}

    def test_texts_only(self):
        with pytest.raises(TypeError, match="action must be a str, got int: 2"):
            builder().add(2, "", 0.0, False, False, {})  # pyright: ignore[reportArgumentType]


class TestAbsorbSignals:
    def test_signals_go_to_their_steps(self):
        episode = builder()
        episode.add("look", "A room.", 0.0, False, False, INFO)
        signals = {
            "verdicts": {"judge": (Verdict(0.5), Verdict.no_score("timeout"))},
            "roles": ("exploration", None),
            "shaped_rewards": (0.25, 1.0),
        }
        episode.add("leave", "Outside.", 1.0, True, False, {**INFO, **signals})
        first, last = episode.trajectory().steps
        assert first.scores == {"judge": Verdict(0.5)}
        assert last.scores["judge"].score is None
        assert (first.role, last.role) == ("exploration", None)
        assert (first.shaped_reward, last.shaped_reward) == (0.25, 1.0)

    def test_a_wrong_number_of_signals_is_an_error(self):
        episode = builder()
        episode.add("look", "A room.", 0.0, False, False, INFO)
        with pytest.raises(ValueError, match="role has 2 values for 1 steps"):
            absorb_signals(episode.trajectory(), {"roles": ("exploration", "decisive")})


def test_with_seed():
    trajectory = with_seed(builder().trajectory(), 7, "other")
    assert (trajectory.seed, trajectory.group) == (7, "other")


class TestVerdicts:
    def test_numbers_none_and_verdicts(self):
        verdicts = as_verdicts([1, np.float32(0.5), None, Verdict.no_score("refused")], 4, "judge")
        assert [v.score for v in verdicts] == [1.0, 0.5, None, None]
        assert [v.unscored for v in verdicts] == [None, None, "the judge abstained", "refused"]

    @pytest.mark.parametrize(
        ("scores", "error", "message"),
        [
            ([0.5], ValueError, "judge 'j' returned 1 scores for 2 steps; return one a step"),
            ([0.5, math.nan], ValueError, "judge 'j', step 1: score is NaN; return None"),
            ([1.5, 0.5], ValueError, r"judge 'j', step 0: score must be in \[0, 1\], got 1.5"),
            ([0.5, "good"], TypeError, "judge 'j', step 1: score must be a number in .*, got 'good'"),
            (0.5, TypeError, "judge 'j' must return one score a step, got 0.5"),
        ],
    )
    def test_a_wrong_answer_is_an_error(self, scores, error, message):
        with pytest.raises(error, match=message):
            as_verdicts(scores, 2, "j")

    def test_a_judge_that_raises_is_unscored_never_zero(self, caplog):
        def judge(trajectory):
            raise TimeoutError("no answer in 30 s")

        episode = builder()
        episode.add("look", "A room.", 0.0, False, False, INFO)
        (verdict,) = call_judge(judge, episode.trajectory())
        assert verdict == Verdict.no_score("TimeoutError: no answer in 30 s")
        assert "judge 'judge' failed on 1 steps" in caplog.text

    def test_names(self):
        class Named:
            name = "own"

        assert judge_name(Named()) == "own"
        assert judge_name(as_verdict) == "as_verdict"
        assert judge_name(object()) == "object"
