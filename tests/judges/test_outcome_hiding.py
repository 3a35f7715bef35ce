"""Observations that would give the outcome away, made up and from real ALFWorld and WebShop episodes."""

import json
import lzma

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentkit  # registers the environments
from agentkit.actors import ExpertActor, RandomActor
from agentkit.judges import RoleJudge
from agentkit.judges.outcome_hiding import NOT_SHOWN, hide_outcome, without_outcome
from agentkit.testing import ScriptedEnv, ScriptedModel
from agentkit.trajectory import Step, Trajectory
from tests.judges.episodes import episode, with_feedback

TELLING = [
    "You won!",
    "You have won the game.",
    "You lost.",
    "Your score has just gone up by one point.",
    "*** You have won ***",
    "*** The End ***",
    "You scored 3 out of 5, in 12 turns.",
    "Task completed successfully.",
    "The task has been accomplished.",
    "goal_satisfied: True",
    "Reward: 1.0",
    "Final score: 0",
    "Congratulations! Well done!",
    "Game over",
]
HARMLESS = [
    "You pick up the mug 1 from the desk 2.",
    "Your task is to: put a clean knife in countertop.",
    "You won't see anything here.",
    "On the countertop 3, you see a statue 3.",
    "Gaming headset, over-ear, for every game over ear",
    "Rating: 4.5",
    "Nothing happens.",
]


@pytest.mark.parametrize("line", TELLING)
def test_a_telling_line_goes_and_its_neighbours_stay(line):
    assert without_outcome(line) == NOT_SHOWN
    assert without_outcome(f"You open the box.\n{line.upper()}\nIt is empty.") == "You open the box.\nIt is empty."


@pytest.mark.parametrize("line", HARMLESS)
def test_other_lines_stay(line):
    assert without_outcome(line) == line


def test_a_page_loses_the_part_and_the_number_after_it():
    page = "Reward [SEP] Your score (min 0.0, max 1.0) [SEP] 0.75 [SEP] Reward Details"
    assert without_outcome(page) == "Reward [SEP] Reward Details"
    assert without_outcome("Reward\nYour score (min 0.0, max 1.0)\n0.75\nDetails") == "Reward\nDetails"


@given(st.text())
def test_without_patterns_nothing_changes(text):
    assert without_outcome(text, ()) == text


@given(st.lists(st.sampled_from(HARMLESS), max_size=4).map("\n".join))
def test_harmless_text_is_left_exactly_as_it_is(text):
    assert without_outcome(text) == text


def test_the_last_feedback_is_hidden_in_every_episode():
    """Were it hidden in won episodes only, the gap would tell that they were won."""
    won, lost = (hide_outcome(episode(won=won).steps) for won in (True, False))
    assert [step.feedback for step in won] == [step.feedback for step in lost]
    assert won[-1].feedback == NOT_SHOWN
    assert won[-2].feedback == "seen 4"
    assert hide_outcome([]) == []


def contexts(trajectory):
    return [query.context + query.question.text for query in RoleJudge(ScriptedModel()).queries(trajectory)]


def test_a_line_in_the_middle_leaves_no_trace():
    told = with_feedback(episode(), 1, "seen 2\nYour score has just gone up by one point.")
    assert contexts(told) == contexts(episode())


def test_own_patterns_are_used():
    told = with_feedback(episode(), 1, "seen 2\nThe bell rings: solved.")
    judge = RoleJudge(ScriptedModel(), outcome_patterns=[r"\bsolved\b"])
    assert judge.queries(told) == RoleJudge(ScriptedModel()).queries(episode())


def test_a_real_alfworld_win_is_not_shown(alfworld_data, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    env = gym.make("agentkit/ALFWorld-v0", split="valid_unseen", max_steps=30)
    (won,) = agentkit.rollout(env, ExpertActor("planner", env), seed=0)
    assert won.won
    assert won.terminated
    shown = contexts(won)
    assert not any(won.final_observation in text for text in shown)
    assert f"Result: {NOT_SHOWN}" in shown[-1]
    assert all(without_outcome(step.feedback) == step.feedback for step in won.steps)
    (cut,) = agentkit.rollout(env, RandomActor(seed=0), seed=0)
    assert not cut.won
    assert f"Result: {NOT_SHOWN}" in contexts(cut)[-1]


@pytest.mark.parametrize("observation_mode", ["text", "text_rich"])
def test_a_real_webshop_receipt_is_not_shown(observation_mode):
    env = gym.make("agentkit/WebShop-v0", data="generated", nouns="rules", observation_mode=observation_mode)
    (bought,) = agentkit.rollout(env, ExpertActor("planner", env), seed=3)
    assert bought.terminated
    assert "Your score" in bought.final_observation
    shown = contexts(bought)
    assert not any("score" in text or "Thank you for shopping" in text for text in shown)
    receipt = without_outcome(bought.final_observation)  # were it shown in the middle of a longer session
    assert "Your score" not in receipt
    assert "1.0" not in receipt
    assert "Thank you for shopping" in receipt


def test_recorded_pages_of_the_original_webshop(webshop_data):
    """Receipts lose their score; of the other pages, which show real products, nothing is taken out."""
    path = webshop_data / "reference" / "transcripts.json.xz"
    if not path.exists():
        pytest.skip(f"no recordings of the original WebShop: {path} is missing")
    with lzma.open(path) as file:
        recordings = json.load(file)
    receipts = 0
    for recording in recordings:
        seen = [recording["reset"]["text"], *(step["text"] for step in recording["steps"])]
        steps = [
            Step(observation=before, action=step["action"], reward=step["reward"], feedback=after)
            for before, after, step in zip(seen, seen[1:], recording["steps"], strict=False)
        ]
        shown = contexts(Trajectory(goal=recording["goal"]["instruction_text"], steps=steps, terminated=True))
        assert not any("Your score" in text or "Thank you for shopping" in text for text in shown)
        for page in seen:
            if page.startswith("Thank you for shopping"):
                receipts += 1
                assert (
                    without_outcome(page) == page.partition(" [SEP] Your score")[0] + " [SEP] Reward Details [SEP] None"
                )
            else:
                assert without_outcome(page) == page
    assert receipts > 10


def test_the_scripted_environments_last_words_are_not_shown():
    env = ScriptedEnv()
    (won,) = agentkit.rollout(env, lambda observation, info: info["admissible_actions"][-1], seed=0)
    assert won.won
    assert "Well done!" in won.final_observation
    assert not any("Well done" in text for text in contexts(won))
