"""`OrderedSubgoalsActor`: the goal that the wrapped actor sees."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from agentkit.actors import ConstrainedReadoutActor, OrderedSubgoalsActor, RandomActor
from agentkit.actors.ordered_subgoals import alfworld_subgoals, ordered_goal, written_subgoals
from agentkit.models.failures import ServiceError
from agentkit.testing import ScriptedModel
from tests.models.scripted_chat import ScriptedChat

GOAL = "heat some mug and put it in cabinet."
STEPS = "1. find and take a mug\n2. heat the mug with a microwave\n3. put the mug in/on a cabinet"


class Recorder:
    """Plays "look" and keeps what it was shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Mapping[str, Any]]] = []
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        self.seen.append((observation, info))
        return "look"


def test_the_goal_is_restated_in_the_info_and_in_the_observation() -> None:
    inner = Recorder()
    actor = OrderedSubgoalsActor(inner)
    actor.reset()
    info = {"goal": GOAL, "admissible_actions": ("look",), "won": False}
    assert actor(f"You are in a room.\n\nYour task is to: {GOAL}", info) == "look"
    observation, shown = inner.seen[0]
    assert STEPS in shown["goal"]
    assert observation.startswith("You are in a room.\n\nYour task is to: do these in order")
    assert GOAL not in observation
    assert {k: v for k, v in shown.items() if k != "goal"} == {k: v for k, v in info.items() if k != "goal"}
    assert info["goal"] == GOAL
    assert inner.resets == 1


@pytest.mark.parametrize(
    ("goal", "subgoals"),
    [
        ("put a mug in shelf.", ["find and take a mug", "put the mug in/on a shelf"]),
        (
            "put a clean mug in shelf.",
            ["find and take a mug", "clean the mug with a sinkbasin", "put the mug in/on a shelf"],
        ),
        (
            "cool some pan and put it in stoveburner.",
            ["find and take a pan", "cool the pan with a fridge", "put the pan in/on a stoveburner"],
        ),
        (
            "look at bowl under the desklamp.",
            ["find and take a bowl", "find a desklamp", "use the desklamp while holding the bowl"],
        ),
        (
            "put two mug in shelf.",
            [
                "find and take a mug",
                "put the mug in/on a shelf",
                "find and take a second mug",
                "put the second mug in/on a shelf",
            ],
        ),
    ],
)
def test_alfworlds_task_sentences(goal: str, subgoals: list[str]) -> None:
    assert alfworld_subgoals(goal) == subgoals


def test_a_goal_of_another_kind_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="follows none of ALFWorld's task templates"):
        OrderedSubgoalsActor(Recorder())("", {"goal": "buy a red mug"})
    with pytest.raises(ValueError, match="must give at least one"):
        ordered_goal([])


def test_a_chat_model_may_write_the_subgoals_once_for_each_goal() -> None:
    chat = ScriptedChat(["Sure:\n1. find a red mug\n2) buy it\nDone.", "1. find a pen"])
    inner = Recorder()
    actor = OrderedSubgoalsActor(inner, written_subgoals(chat))
    for goal in ("buy a red mug", "buy a red mug", "buy a pen"):
        actor("A shop.", {"goal": goal})
    assert len(chat.requests) == 2
    assert "Goal: buy a red mug" in chat.requests[0].messages[-1]["content"]
    assert inner.seen[1][1]["goal"].endswith("1. find a red mug\n2. buy it")
    assert inner.seen[2][1]["goal"].endswith("1. find a pen")


@pytest.mark.parametrize("reply", ["I do not know.", ServiceError("the request timed out")])
def test_a_chat_model_that_writes_none_is_a_clear_error(reply: Any) -> None:
    with pytest.raises(ValueError, match="the goal 'buy a pen' could not be restated"):
        written_subgoals(ScriptedChat([reply]))("buy a pen")


def test_the_distribution_is_the_wrapped_actors() -> None:
    actor = OrderedSubgoalsActor(ConstrainedReadoutActor(ScriptedModel([(0.25, 0.75)])))
    actor("", {"goal": GOAL, "admissible_actions": ("look", "go")})
    assert actor.distribution == {"look": 0.25, "go": 0.75}
    assert OrderedSubgoalsActor(Recorder()).distribution == {}


def test_every_real_goal_can_be_restated(alfworld_data: Path) -> None:
    pytest.importorskip("alfworld")
    import agentkit  # noqa: F401 - registers the environment

    games = sorted(alfworld_data.rglob("valid_unseen/**/game.tw-pddl"))[::12]
    assert games
    env = gym.make("agentkit/ALFWorld-v0", games=[str(game) for game in games])
    actor = OrderedSubgoalsActor(RandomActor(seed=0))
    goals = set()
    for _ in games:
        observation, info = env.reset()
        assert actor(observation, info) in info["admissible_actions"]
        goals.add(info["goal"])
    assert len(goals) > 1
