import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeLimit

from agentkit import make_vec
from agentkit.testing.scripted_env import ENV_ID
from agentkit.testing.vector_check import info_of

SOLUTION = ("take key", "unlock chest", "take gem")
MODES = ("sync", "async")
LONG = {
    "start": {"observation": "Käse für 3 €: " + "x" * 5000, "actions": {"go": "end"}},
    "end": {"observation": "", "won": True},
}


@pytest.mark.parametrize("mode", MODES)
def test_texts_of_any_length_and_alphabet_survive(mode):
    vector = make_vec(ENV_ID, 2, mode=mode, states=LONG)
    observations, infos = vector.reset(seed=1)
    assert observations == (LONG["start"]["observation"],) * 2
    assert info_of(infos, 1)["admissible_actions"] == ("go",)
    observations, *_ = vector.step(("go", "wait"))
    assert observations == ("", "Nothing happens.")
    vector.close()


@pytest.mark.parametrize("mode", MODES)
def test_next_step_resets_in_the_step_after_the_end(mode):
    vector = make_vec(ENV_ID, 1, mode=mode)
    opening, _ = vector.reset()
    for action in SOLUTION:
        _, rewards, terminations, _, infos = vector.step((action,))
    assert (rewards.tolist(), terminations.tolist()) == ([1.0], [True])
    assert info_of(infos, 0)["won"]
    observations, rewards, terminations, _, infos = vector.step(("look",))
    assert (observations, rewards.tolist(), terminations.tolist()) == (opening, [0.0], [False])
    assert not info_of(infos, 0)["won"]
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    vector.close()


@pytest.mark.parametrize("mode", MODES)
def test_the_first_action_after_a_reset_counts(mode):
    """Gymnasium's own async vector without shared memory swallows it when the reset follows an episode's end."""
    vector = make_vec(ENV_ID, 1, mode=mode)
    vector.reset()
    for action in SOLUTION:
        vector.step((action,))
    vector.reset()
    observations, *_ = vector.step(("take key",))
    assert observations == ("You hold the key. The chest is locked.",)
    vector.close()


@pytest.mark.parametrize("mode", MODES)
def test_same_step_keeps_the_last_texts(mode):
    vector = make_vec(ENV_ID, 1, mode=mode, autoreset_mode=AutoresetMode.SAME_STEP)
    opening, _ = vector.reset()
    for action in SOLUTION:
        observations, _, _, _, infos = vector.step((action,))
    assert observations == opening
    assert infos["final_obs"][0] == "You hold the gem. Well done!"
    assert info_of(infos["final_info"], 0)["milestones"] == ("gem",)
    vector.close()


@pytest.mark.parametrize("mode", MODES)
def test_wrappers_are_applied_to_each_copy(mode):
    vector = make_vec(ENV_ID, 2, mode=mode, wrappers=[lambda env: TimeLimit(env, 1)])
    vector.reset()
    _, _, _, truncations, _ = vector.step(("look", "look"))
    np.testing.assert_array_equal(truncations, [True, True])
    vector.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs must be at least 1, got 0"),
        ({"mode": "threads"}, "mode must be 'sync' or 'async', got 'threads'"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_vec(ENV_ID, **arguments)
