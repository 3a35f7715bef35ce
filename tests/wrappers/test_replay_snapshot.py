import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from agentkit.testing import ScriptedEnv
from agentkit.wrappers import ReplaySnapshot, TextualizeWrapper


class Noisy(gym.Wrapper):
    """Not deterministic: a number that no seed determines."""

    def __init__(self, env, after):
        super().__init__(env)
        self.after, self.steps = after, 0
        self.noise = np.random.default_rng()

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        self.steps = 0
        return self.blur(observation), info

    def step(self, action):
        observation, *rest = self.env.step(action)
        self.steps += 1
        return self.blur(observation), *rest

    def blur(self, observation):
        return f"{observation} {self.noise.random()}" if self.steps >= self.after else observation


def test_any_environment_branches():
    """Taxi is not text, and its seed decides where it starts."""
    env = ReplaySnapshot(gym.make("Taxi-v4"))
    env.reset(seed=5)
    for action in (0, 1, 2):
        here = env.step(action)
    snapshot = env.snapshot()
    there = env.step(3)
    observation, info = env.restore(snapshot)
    assert observation == here[0]
    np.testing.assert_array_equal(info["action_mask"], here[4]["action_mask"])
    assert env.step(3)[:4] == there[:4]


def test_an_observation_that_is_written_over_is_kept_as_it_was():
    class Counter(gym.Env):
        action_space, observation_space = gym.spaces.Discrete(2), gym.spaces.Box(0, 9, (1,))

        def reset(self, *, seed=None, options=None):
            self.array = np.zeros(1, np.float32)
            return self.array, {}

        def step(self, action):
            self.array += 1
            return self.array, 0.0, False, False, {}

    env = ReplaySnapshot(Counter())
    env.reset(seed=1)
    env.step(1)
    snapshot = env.snapshot()
    env.step(1)
    assert env.restore(snapshot)[0] == 1.0


def test_slippery_environments_are_deterministic_given_the_seed():
    env = ReplaySnapshot(TextualizeWrapper(gym.make("FrozenLake-v1", is_slippery=True)))
    env.reset(seed=2)
    env.step("down")
    snapshot = env.snapshot()
    ways = []
    for _ in range(3):
        env.restore(snapshot)
        ways.append(env.step("right")[0])
    assert len(set(ways)) == 1


def test_a_snapshot_is_valid_in_another_process_copy():
    env = ReplaySnapshot(ScriptedEnv())
    env.reset(seed=1)
    env.step("take key")
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    copy = ReplaySnapshot(ScriptedEnv())
    assert copy.restore(snapshot)[0] == "You hold the key. The chest is locked."
    assert copy.snapshot() == snapshot


def test_a_reset_without_a_seed_can_be_replayed_too():
    env = ReplaySnapshot(gym.make("Taxi-v4"))
    for _ in range(5):
        opening, _ = env.reset()
        snapshot = env.snapshot()
        env.step(0)
        assert env.restore(snapshot)[0] == opening


def test_unseeded_resets_follow_from_the_last_seed():
    def openings():
        env = ReplaySnapshot(gym.make("Taxi-v4"))
        return [env.reset(seed=9)[0], env.reset()[0], env.reset()[0]]

    assert openings() == openings()
    assert len(set(openings())) > 1


def test_options_are_replayed_and_kept_apart_from_the_callers():
    class Options(ScriptedEnv):
        def reset(self, *, seed=None, options=None):
            _, info = super().reset(seed=seed)
            return f"{options}", info

    env = ReplaySnapshot(Options())
    options = {"task": "a"}
    env.reset(seed=1, options=options)
    options["task"] = "b"
    assert env.restore(env.snapshot())[0] == "{'task': 'a'}"


@pytest.mark.parametrize(
    ("after", "where"), [(0, r"reset\(seed=1\) gave"), (1, r"action 1 \('take key'\) gave 'You hold the key")]
)
def test_an_environment_that_is_not_deterministic_is_found_out(after, where):
    env = ReplaySnapshot(Noisy(ScriptedEnv(), after))
    env.reset(seed=1)
    env.step("take key")
    with pytest.raises(RuntimeError, match=f"cannot restore, the environment is not deterministic: replayed, {where}"):
        env.restore(env.snapshot())


def test_a_snapshot_needs_an_episode():
    with pytest.raises(ResetNeeded, match="call reset"):
        ReplaySnapshot(ScriptedEnv()).snapshot()
