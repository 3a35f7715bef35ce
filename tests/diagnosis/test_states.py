"""Diagnostic states: from real games, at the destination, with an object that still has to be changed."""

from pathlib import Path

import attrs
import gymnasium as gym
import pytest

from agentkit.diagnosis import collect_states, load_states, save_states
from agentkit.diagnosis.states import DEPENDENT_TASK_TYPES, goal_without_placement
from agentkit.envs.alfworld.games import list_games
from agentkit.testing import ScriptedEnv


@pytest.fixture(scope="module")
def env(alfworld_data: Path) -> gym.Env:
    return gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_seen")


@pytest.fixture(scope="module")
def states(env: gym.Env):
    return collect_states(env, 40, seed=0)


def test_each_state_is_of_another_game_with_a_dependency(states, alfworld_data: Path) -> None:
    assert len(states) == len({state.task_id for state in states}) == 40
    assert {state.change for state in states} == {"clean", "heat", "cool"}
    dependent = list_games(alfworld_data, "valid_seen", DEPENDENT_TASK_TYPES)
    assert all(any(state.task_id in path for path in dependent) for state in states)


def test_replaying_the_past_leads_to_the_state_where_placing_does_not_win(env: gym.Env, states) -> None:
    for state in states:
        observation, info = env.reset(options={"task_id": state.task_id})
        for seen, action in state.past:
            assert (seen, action in info["admissible_actions"]) == (observation, True)
            observation, _, terminated, _, info = env.step(action)
            assert not terminated
        assert (observation, info["admissible_actions"], info["goal"]) == (
            state.observation,
            state.admissible_actions,
            state.goal,
        )
        assert set(state.required) | set(state.placing) <= set(state.admissible_actions)
        assert not set(state.required) & set(state.placing)
        _, _, terminated, _, after = env.step(state.placing[0])
        assert not terminated
        assert after["state_changed"]
        assert not after["milestones"]


def test_what_is_required_leads_to_the_change(env: gym.Env, states) -> None:
    milestone = {"clean": "cleaned", "heat": "heated", "cool": "cooled"}
    for state in states[:15]:
        env.reset(options={"task_id": state.task_id})
        for _, action in state.past:
            _, _, _, _, info = env.step(action)
        action, achieved = state.required[0], ()
        for _ in range(3):
            _, _, _, _, info = env.step(action)
            achieved += info["milestones"]
            using = [a for a in info["admissible_actions"] if a.startswith(f"{state.change} ")]
            if milestone[state.change] in achieved or not using:
                break
            action = using[0]
        assert milestone[state.change] in achieved


def test_the_same_seed_draws_the_same_states_and_another_one_others(env: gym.Env, states) -> None:
    assert collect_states(env, 40, seed=0) == states
    assert collect_states(env, 5, seed=1) != states[:5]


def test_a_limit_beyond_the_games_gives_what_there_is(env: gym.Env) -> None:
    seen = []
    found = collect_states(env, 10_000, progress=lambda done, total: seen.append((done, total)))
    assert 40 < len(found) <= len(env.unwrapped.games)  # type: ignore[attr-defined]
    assert seen[-1] == (len(found), 10_000)


def test_states_round_trip(states, tmp_path: Path) -> None:
    path = save_states(tmp_path / "states.jsonl", states)
    assert load_states(path) == states


def test_a_damaged_file_of_states_is_named(states, tmp_path: Path) -> None:
    path = save_states(tmp_path / "states.jsonl", states[:1])
    path.write_text(path.read_text() + '{"task_id": "x"}\n')
    with pytest.raises(ValueError, match=r"states.jsonl, line 2 is no DiagnosticState"):
        load_states(path)


def test_the_digest_is_of_what_an_actor_sees(states) -> None:
    assert len({state.digest for state in states}) == len(states)
    assert attrs.evolve(states[0], observation="elsewhere").digest != states[0].digest


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("put a hot mug in shelf.", "heat some mug."),
        ("heat some mug and put it in cabinet.", "heat some mug."),
        ("put a clean plate in fridge.", "clean some plate."),
        ("cool some pan and put it in stoveburner.", "cool some pan."),
    ],
)
def test_the_placement_is_taken_out_of_the_goal(goal: str, expected: str) -> None:
    assert goal_without_placement(goal) == expected


@pytest.mark.parametrize("goal", ["put a mug in shelf.", "look at bowl under the desklamp."])
def test_a_goal_without_a_change_has_no_easier_subgoal(goal: str) -> None:
    with pytest.raises(ValueError, match="asks for no change"):
        goal_without_placement(goal)


def test_bad_arguments_are_named(env: gym.Env, alfworld_data: Path) -> None:
    with pytest.raises(TypeError, match="collect_states needs an ALFWorldEnv, got ScriptedEnv"):
        collect_states(ScriptedEnv(), 1)
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        collect_states(env, 0)
    simple = list_games(alfworld_data, "valid_seen", ["pick_and_place_simple"])
    with pytest.raises(ValueError, match=r"none of the .* games leads to a state"):
        collect_states(gym.make("agentkit/ALFWorld-v0", games=simple), 1)
