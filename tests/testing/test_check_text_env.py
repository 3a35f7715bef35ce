"""Each fault that `check_text_env` looks for is built in, and must be the one that it names."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from agentkit.envs.contract import TextSpace
from agentkit.testing import ScriptedEnv, check_text_env


class Altered(gym.Wrapper):
    """Changes what a `ScriptedEnv` returns; subclasses say how."""

    def __init__(self):
        super().__init__(ScriptedEnv())
        self.last: Any = None

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        return self.see(observation), self.tell(info)

    def step(self, action):
        self.last = action
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.see(observation), self.pay(reward), terminated, truncated, self.tell(info)

    def see(self, observation: Any) -> Any:
        return observation

    def pay(self, reward: Any) -> Any:
        return reward

    def tell(self, info: dict[str, Any]) -> dict[str, Any]:
        return info


class WithoutGoal(Altered):
    def tell(self, info):
        return {key: value for key, value in info.items() if key != "goal"}


class ListOfActions(Altered):
    def tell(self, info):
        return {**info, "admissible_actions": list(info["admissible_actions"])}


class Numbers(Altered):
    def see(self, observation):
        return 3


class TooLong(Altered):
    def __init__(self):
        super().__init__()
        self.observation_space = TextSpace(max_length=10)


class NarrowActions(Altered):
    def __init__(self):
        super().__init__()
        self.action_space = TextSpace(max_length=4)


class NanReward(Altered):
    def pay(self, reward):
        return float("nan")


class Noisy(Altered):
    """The drawn number is not seeded."""

    def see(self, observation):
        return f"{observation} {np.random.default_rng().integers(10**9)}"


class Leaking(Altered):
    """Counts on through resets."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def see(self, observation):
        self.count += 1
        return f"{self.count} {observation}"


class WanderingTask(Altered):
    def __init__(self):
        super().__init__()
        self.count = 0

    def tell(self, info):
        self.count += 1
        return {**info, "task_id": f"task {self.count}"}


class FalseNoOp(Altered):
    """Says of everything that it changed nothing."""

    def tell(self, info):
        return {**info, "state_changed": False}


class Accepting(Altered):
    """Takes any action, text or not."""

    def step(self, action):
        return super().step(str(action))


class ChangedByNonsense(Altered):
    def tell(self, info):
        return {**info, "state_changed": True}


class NeverOver(Altered):
    def step(self, action):
        try:
            return super().step(action)
        except gym.error.ResetNeeded:
            return "", 0.0, False, False, {}


class Unpicklable(Altered):
    def __init__(self):
        super().__init__()
        self.hook = lambda: None


class ForgetfulSnapshot(ScriptedEnv):
    """Its snapshots are always of the start."""

    def snapshot(self):
        held, _ = self._moment, self.reset()
        start, self._moment = super().snapshot(), held
        return start


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        (WithoutGoal, "reset: info lacks 'goal' (str)"),
        (ListOfActions, "reset: info['admissible_actions'] must be tuple, got list"),
        (Numbers, "reset: the observation must be a str, got 3"),
        (TooLong, "is not in TextSpace(10)"),
        (NarrowActions, "the admissible action 'take key' is not in TextSpace(4)"),
        (NanReward, "the reward must be finite, got nan"),
        (Noisy, "a pickled copy, reset with the same seed, differs: observation of the reset"),
        (Leaking, "the same seed and actions differ after another episode: observation of the reset"),
        (WanderingTask, "info['task_id'] changed within one episode: ['task 1', 'task 2'"),
        (FalseNoOp, "has state_changed False, but ("),
        (Accepting, "an action that is not a str must raise TypeError; 3 gave None"),
        (ChangedByNonsense, "'agentkit check: no such action' was accepted and has state_changed True"),
        (NeverOver, "must raise gymnasium.error.ResetNeeded or the like, got None"),
        (Unpicklable, "does not pickle"),
        (ForgetfulSnapshot, "restore() gave 'You are in a hall."),
    ],
)
def test_faults_are_named(env, sentence):
    with pytest.raises(AssertionError) as caught:
        check_text_env(env())
    assert sentence in str(caught.value)


def test_the_altered_environment_itself_is_without_fault():
    check_text_env(Altered())


class Hinting(ScriptedEnv):
    def _info(self, moment):
        return {**super()._info(moment), "admissible_actions": (), "action_hint": "say anything"}


class NotHinting(Altered):
    def tell(self, info):
        return {key: value for key, value in info.items() if key != "action_hint"} | {"admissible_actions": ()}


def test_open_ended_environments():
    check_text_env(Hinting(), actions=("look", "take key", "unlock chest", "take gem"))
    with pytest.raises(AssertionError, match="an open-ended environment says the forms in 'action_hint'"):
        check_text_env(NotHinting())


@pytest.mark.parametrize("seed", range(5))
def test_any_seed_will_do(seed):
    check_text_env(ScriptedEnv(), seed=seed)
