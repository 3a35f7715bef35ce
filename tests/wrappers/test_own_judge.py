"""Any callable is a judge: of any kind, around environments that are not text, in loops that are not ours."""

import functools
import math

import gymnasium as gym
import pytest
from gymnasium.wrappers import TransformAction, TransformObservation

from agentkit import Verdict
from agentkit.testing import ScriptedEnv, check_judge
from agentkit.wrappers import JudgeRewardWrapper, TextualizeWrapper

WON = ("look", "take key", "unlock chest", "take gem")


def moved(trajectory):
    return [0.0 if step.state_changed is False else 1.0 for step in trajectory.steps]


def scaled(trajectory, factor):
    return [factor * score for score in moved(trajectory)]


class Keeper:
    """A judge as a method, which remembers what it judged."""

    def __init__(self):
        self.seen = []

    def judge(self, trajectory):
        self.seen.append(trajectory)
        return (Verdict(1.0) if step.state_changed else None for step in trajectory.steps)


def play(env, actions):
    """A plain loop."""
    _, info = env.reset(seed=0)
    rewards = []
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        if terminated or truncated:
            break
    return rewards, info


class TestAnyCallable:
    @pytest.mark.parametrize(
        ("judge", "name", "first"),
        [
            (moved, "moved", 0.0),
            (lambda trajectory: [0.25] * len(trajectory), "<lambda>", 0.25),
            (functools.partial(scaled, factor=0.5), "partial", 0.0),
            (Keeper().judge, "judge", math.nan),
        ],
        ids=["function", "lambda", "partial", "method"],
    )
    def test_of_any_kind(self, judge, name, first):
        check_judge(judge)
        rewards, info = play(JudgeRewardWrapper(ScriptedEnv(), judge), WON)
        assert rewards == [0.0, 0.0, 0.0, 1.0]
        assert set(info["verdicts"]) == {name}
        assert len(info["step_scores"]) == 4
        assert info["step_scores"][0] == pytest.approx(first, nan_ok=True)

    def test_it_is_given_what_happened_and_nothing_it_could_change(self):
        keeper = Keeper()
        play(JudgeRewardWrapper(ScriptedEnv(), keeper.judge), WON)
        (trajectory,) = keeper.seen
        assert [step.action for step in trajectory.steps] == list(WON)
        assert [step.raw_reward for step in trajectory.steps] == [0.0, 0.0, 0.0, 1.0]
        assert (trajectory.goal, trajectory.won, trajectory.seed) == ("take the gem out of the chest", True, 0)
        with pytest.raises(AttributeError):
            trajectory.steps[0].reward = 5.0


class TestEnvironmentsThatAreNotText:
    def test_frozen_lake(self):
        env = JudgeRewardWrapper(TextualizeWrapper(gym.make("FrozenLake-v1", is_slippery=False)), moved)
        rewards, info = play(env, ("left", "down", "down", "right", "down", "right", "right"))
        assert rewards == [0.0] * 6 + [1.0]
        assert info["step_scores"] == (0.0,) + (1.0,) * 6
        assert info["shaped_rewards"] == (0.0,) + (0.5,) * 5 + (1.5,)

    def test_taxi(self):
        keeper = Keeper()
        env = JudgeRewardWrapper(TextualizeWrapper(gym.make("Taxi-v4", max_episode_steps=3)), keeper.judge)
        rewards, info = play(env, ("drop off passenger", "south", "north"))
        assert rewards == [-10.0, -1.0, -1.0]
        assert info["step_scores"] == pytest.approx((math.nan, 1.0, 1.0), nan_ok=True)
        assert info["shaped_rewards"] == (-10.0, -0.5, -0.5)
        assert "taxi" in keeper.seen[0].steps[0].observation
        assert keeper.seen[0].truncated

    def test_numbers_in_a_box(self):
        env = TextualizeWrapper(gym.make("Pendulum-v1", max_episode_steps=2))
        rewards, info = play(JudgeRewardWrapper(env, moved, weight=1.0), ("0.5", "-1"))
        assert info["shaped_rewards"] == pytest.approx([reward + 1.0 for reward in rewards])

    @pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1"])
    def test_without_words_the_error_says_how_to_get_them(self, env_id):
        env = JudgeRewardWrapper(gym.make(env_id), moved)
        message = "JudgeRewardWrapper needs observations that are str.*put agentkit.wrappers.TextualizeWrapper around"
        with pytest.raises(TypeError, match=message):
            env.reset()


class NewPlaces:
    """A prefix judge: a place that was not seen before in the episode."""

    context = "prefix"
    name = "new places"

    def __call__(self, trajectory):
        places = [trajectory.steps[0].observation, *(step.feedback for step in trajectory.steps)]
        return [float(place not in places[: t + 1]) for t, place in enumerate(places[1:])]


def numbers_outside():
    """What Stable-Baselines3 wants: numbers, around an environment of words with a judge."""
    names = ("left", "down", "right", "up")
    env = TextualizeWrapper(gym.make("FrozenLake-v1", is_slippery=False), describe=lambda cell: f"cell {cell}")
    env = JudgeRewardWrapper(env, NewPlaces(), weight=0.5)
    env = TransformAction(env, lambda action: names[int(action)], gym.spaces.Discrete(4))
    return TransformObservation(env, lambda text: int(text.split()[1]), gym.spaces.Discrete(16))


def test_numbers_around_words():
    env = numbers_outside()
    check_judge(NewPlaces())
    assert env.reset(seed=0)[0] == 0
    # Down (a new cell), up (the first one again), right (new), down into a hole (new).
    steps = [env.step(action) for action in (1, 3, 2, 1)]
    assert [step[:2] for step in steps] == [(4, 0.5), (0, 0.0), (1, 0.5), (5, 0.5)]
    assert steps[-1][4]["step_scores"] == (1.0, 0.0, 1.0, 1.0)


def test_stable_baselines3_sees_the_bonus_and_the_scores():
    baselines = pytest.importorskip("stable_baselines3")
    vector = baselines.common.vec_env.DummyVecEnv([numbers_outside] * 2)
    observations = vector.reset()
    assert observations.tolist() == [0, 0]
    for actions in ([1, 2], [3, 0], [2, 2], [1, 1]):
        observations, rewards, dones, infos = vector.step(actions)
    assert dones.tolist() == [True, True]
    assert rewards.tolist() == [0.5, 0.5]
    assert infos[0]["step_scores"] == (1.0, 0.0, 1.0, 1.0)
    assert infos[1]["step_scores"] == (1.0, 0.0, 0.0, 1.0)
    # The next episode has begun, and knows nothing of the last.
    _, rewards, _, infos = vector.step([1, 1])
    assert rewards.tolist() == [0.5, 0.5]
    assert all(info["step_score"] == 1.0 and "step_scores" not in info for info in infos)
