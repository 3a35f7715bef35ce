import json
import pickle

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from agentkit.testing import ScriptedEnv, check_text_env
from agentkit.testing.scripted_env import ENV_ID, GEM_STATES

DOOR = {
    "start": {"observation": "A door.", "actions": {"open": {"to": "out", "reward": 0.5}, "jump": "pit"}},
    "pit": {"observation": "You fell.", "lost": True},
    "out": {"observation": "You are out.", "won": True},
}


def test_the_default_task_is_won_in_three_steps():
    env = ScriptedEnv()
    _, info = env.reset()
    assert info["goal"] == "take the gem out of the chest"
    milestones = []
    for action in ("take key", "unlock chest", "take gem"):
        assert action in info["admissible_actions"]
        _, reward, terminated, truncated, info = env.step(action)
        milestones += info["milestones"]
    assert (reward, terminated, truncated, info["won"]) == (1.0, True, False, True)
    assert milestones == ["take", "unlock", "gem"]


def test_what_is_not_in_the_script_changes_nothing():
    env = ScriptedEnv()
    env.reset()
    observation, reward, _, _, info = env.step("sing")
    assert (observation, reward, info["state_changed"]) == ("Nothing happens.", 0.0, False)
    assert not env.step("look")[4]["state_changed"]
    assert env.step("take key")[4]["state_changed"]


def test_own_script_with_a_losing_end():
    env = ScriptedEnv(DOOR, goal="get out", task_id="door", task_type="exit")
    _, info = env.reset()
    assert (info["goal"], info["task_id"], info["task_type"]) == ("get out", "door", "exit")
    observation, reward, terminated, _, info = env.step("jump")
    assert (observation, reward, terminated, info["won"]) == ("You fell.", 0.0, True, False)
    check_text_env(env)


def test_truncation():
    env = ScriptedEnv(max_steps=2)
    env.reset()
    assert env.step("look")[2:4] == (False, False)
    assert env.step("look")[2:4] == (False, True)
    with pytest.raises(ResetNeeded, match="the episode is over"):
        env.step("look")


def test_steps_need_a_reset():
    with pytest.raises(ResetNeeded, match="has not begun"):
        ScriptedEnv().step("look")
    with pytest.raises(ResetNeeded, match="call reset"):
        ScriptedEnv().snapshot()


def test_snapshots_come_back_in_another_copy():
    env = ScriptedEnv()
    env.reset()
    env.step("take key")
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    copy = ScriptedEnv()
    observation, info = copy.restore(snapshot)
    assert observation == "You hold the key. The chest is locked."
    assert info["admissible_actions"] == ("look", "drop key", "unlock chest")
    assert copy.step("unlock chest")[0] == "The chest is open. A gem lies in it."
    with pytest.raises(ValueError, match="snapshot is of state 'key in hand', which this script does not have"):
        ScriptedEnv(DOOR).restore(snapshot)


def test_it_is_registered_and_its_spec_survives_json():
    env = gym.make(ENV_ID, states=DOOR, max_steps=3)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec is not None
    rebuilt = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert rebuilt.reset()[0] == "A door."


def test_the_default_script_is_json():
    states = dict(GEM_STATES)
    assert json.loads(json.dumps(states)) == states


def test_check_text_env_passes():
    check_text_env(ScriptedEnv())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"states": {}}, "states is empty; give at least one state"),
        ({"states": {"a": {"actions": {}}}}, "state 'a' must be a mapping with an 'observation'"),
        ({"states": {"a": {"observation": "", "action": {}}}}, "state 'a' has the unknown key 'action'; known: obs"),
        ({"states": {"a": {"observation": ""}}}, "state 'a' has no actions; give it some, or end the episode"),
        (
            {"states": {"a": {"observation": "", "actions": {"go": "b"}}}},
            "action 'go' of state 'a' leads to 'b', which is no state; known: a",
        ),
        (
            {"states": {"a": {"observation": "", "actions": {"go": {"to": "a", "rewards": 1}}}}},
            "action 'go' of state 'a' has the unknown key 'rewards'",
        ),
        ({"max_steps": 0}, "max_steps must be a whole number of at least 1, got 0"),
        ({"max_steps": True}, "max_steps must be a whole number of at least 1, got True"),
    ],
)
def test_bad_scripts(arguments, message):
    with pytest.raises(ValueError, match=message):
        ScriptedEnv(**arguments)


def test_actions_are_texts():
    env = ScriptedEnv()
    env.reset()
    with pytest.raises(TypeError, match=r"action must be a str such as .*, got int: 1"):
        env.step(1)  # pyright: ignore[reportArgumentType]
