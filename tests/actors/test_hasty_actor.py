"""`HastyActor`: places too early, once, and only where something has to be done first."""

from pathlib import Path

import gymnasium as gym
import pytest

from agentkit.actors import ExpertActor, HastyActor
from agentkit.diagnosis.states import DEPENDENT_TASK_TYPES
from agentkit.rollout import rollout

CHANGED = {"cleaned", "heated", "cooled"}


@pytest.mark.parametrize("kind", ["planner", "explorer"])
def test_it_places_too_early_and_the_expert_repairs_it(kind: str, alfworld_data: Path) -> None:
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_seen", task_types=DEPENDENT_TASK_TYPES)
    episodes = rollout(env, HastyActor(ExpertActor(kind, env)), 25, seed=0)
    assert all(episode.won for episode in episodes)
    for episode in episodes:
        achieved = [set(step.milestones) for step in episode.steps]
        changed = next(t for t, names in enumerate(achieved) if CHANGED & names)
        placed = next(t for t, step in enumerate(episode.steps) if step.action.startswith(("move ", "put ")))
        assert placed < changed
        assert not achieved[placed]
        assert any("taken" in names for names in achieved[placed + 1 :])  # it is taken back


def test_a_task_without_a_change_is_played_as_it_is(alfworld_data: Path) -> None:
    kinds = ["pick_and_place_simple", "look_at_obj_in_light", "pick_two_obj_and_place"]
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_seen", task_types=kinds)
    expert = ExpertActor("explorer")
    assert rollout(env, HastyActor(expert), 10, seed=0) == rollout(env, expert, 10, seed=0)


def test_each_episode_is_hasty_anew(alfworld_data: Path) -> None:
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_seen", task_types=DEPENDENT_TASK_TYPES)
    actor = HastyActor(ExpertActor("explorer"))
    first, again = (rollout(env, actor, 1, seed=3)[0] for _ in range(2))
    assert first == again


def test_a_destination_that_takes_nothing_is_given_up() -> None:
    played = []
    actor = HastyActor(lambda observation, info: played.append(observation) or "look")
    info = {"goal": "put a hot mug in shelf.", "admissible_actions": ("examine mug 1", "look")}
    assert actor("hall", info) == "look"
    assert played == ["hall"]


def test_another_goal_is_named() -> None:
    with pytest.raises(ValueError, match="goal 'dance' follows none"):
        HastyActor(ExpertActor("explorer"))("", {"goal": "dance", "admissible_actions": ("look",)})
