"""`MistakenActor`: how often it errs, what the wrapped actor learns of it, and that experts recover."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import agentkit
from agentkit.actors import ConstrainedReadoutActor, ExpertActor, MistakenActor, OrderedSubgoalsActor, PromptedActor
from agentkit.models import Prompted
from agentkit.testing import ScriptedModel
from tests.models.scripted_chat import ScriptedChat

INFO = {"goal": "heat some mug and put it in cabinet.", "admissible_actions": ("left", "right")}


class Straight:
    """Always "straight", which is not admissible, so that mistakes stand out."""

    def __init__(self) -> None:
        self.calls = 0
        self.observed: list[tuple[str, str]] = []

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        self.calls += 1
        return "straight"

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        self.observed.append((observation, action))


def test_the_rate_is_that_of_mistakes_and_mistakes_are_uniform() -> None:
    inner = Straight()
    actor = MistakenActor(inner, 0.3, seed=0)
    actions = [actor(str(i), INFO) for i in range(2000)]
    assert actions.count("straight") == inner.calls
    assert 0.26 < 1 - inner.calls / 2000 < 0.34
    assert 0.44 < actions.count("left") / (2000 - inner.calls) < 0.56


def test_the_wrapped_actor_learns_of_each_mistake_and_is_not_asked_about_it() -> None:
    inner = Straight()
    actor = MistakenActor(inner, 0.5, seed=1)
    actions = [actor(str(i), INFO) for i in range(50)]
    assert inner.observed == [(str(i), action) for i, action in enumerate(actions) if action != "straight"]


@pytest.mark.parametrize(("rate", "expected"), [(0.0, {"straight"}), (1.0, {"left", "right"})])
def test_the_extremes(rate: float, expected: set[str]) -> None:
    actor = MistakenActor(Straight(), rate, seed=0)
    assert {actor("", INFO) for _ in range(30)} == expected
    assert actor.mistaken is (rate == 1.0)


def test_the_same_seed_makes_the_same_mistakes() -> None:
    first, second = (MistakenActor(Straight(), 0.5, seed=7) for _ in range(2))
    assert [first("", INFO) for _ in range(30)] == [second("", INFO) for _ in range(30)]


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
def test_a_rate_that_is_no_probability_is_an_error(rate: float) -> None:
    with pytest.raises(ValueError, match="rate is a probability"):
        MistakenActor(Straight(), rate)


def test_an_open_ended_environment_is_an_error() -> None:
    with pytest.raises(ValueError, match="closed set of actions"):
        MistakenActor(Straight(), 0.0)("", {"admissible_actions": ()})


class Lost(Straight):
    """Gives up at its second call."""

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        if super().__call__(observation, info) and self.calls > 1:
            raise ValueError("no plan wins from here")
        return "straight"


def test_a_game_that_a_mistake_lost_is_played_on_at_random() -> None:
    actor = MistakenActor(Lost(), 0.5, seed=0)
    actions = [actor("", INFO) for _ in range(20)]
    assert actions.count("straight") == 1
    assert actor.mistaken


def test_an_actor_that_gives_up_by_itself_is_heard() -> None:
    actor = MistakenActor(Lost(), 0.0)
    actor("", INFO)
    with pytest.raises(ValueError, match="no plan wins"):
        actor("", INFO)


def test_a_readout_remembers_what_was_done() -> None:
    inner = ConstrainedReadoutActor(ScriptedModel())
    actor = MistakenActor(inner, 1.0, seed=0)
    action = actor("hall", INFO)
    assert inner.memory.context("room", INFO).splitlines()[1:3] == ["Observation: hall", f"Action: {action}"]


def test_an_actor_of_ordered_subgoals_remembers_it_in_its_own_words() -> None:
    model = ScriptedModel()
    actor = OrderedSubgoalsActor(ConstrainedReadoutActor(model))
    actor.observe(f"Your task is to: {INFO['goal']}", INFO, "left")
    actor("room", INFO)
    assert INFO["goal"] not in model.queries[0].context
    assert "Action: left" in model.queries[0].context


def test_a_prompted_actor_remembers_it() -> None:
    chat = ScriptedChat(["A"])
    actor = PromptedActor(Prompted(chat))
    actor.observe("hall", INFO, "right")
    assert "Observation: hall\nAction: right" in actor.query("room", INFO).context


@pytest.mark.parametrize("kind", ["planner", "explorer"])
def test_experts_win_in_spite_of_mistakes(kind: str, alfworld_data: Path) -> None:
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_seen", max_steps=150)
    straight = agentkit.evaluate(env, ExpertActor(kind, env), 30, seed=0)
    mistaken = agentkit.evaluate(env, MistakenActor(ExpertActor(kind, env), 0.3, seed=1), 30, seed=0)
    assert straight.total.won == mistaken.total.won == 30
    assert mistaken.total.mean_steps > 1.3 * straight.total.mean_steps
