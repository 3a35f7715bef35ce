"""Each fault that `check_wrapper` looks for is built into a wrapper, and must be the one that it names."""

import copy
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import TimeLimit

from agentkit.testing import ScriptedEnv, check_text_env, check_wrapper
from agentkit.wrappers.sharing import record


class Correct(gym.Wrapper, RecordConstructorArgs):
    """Counts the steps of an episode, and asks a model."""

    def __init__(self, env: gym.Env, model: Any = None, weight: float = 1.0):
        RecordConstructorArgs.__init__(self, model=record(model), weight=weight)
        gym.Wrapper.__init__(self, env)
        self.model = getattr(model, "value", model)
        self.weight = weight
        self.count = 0

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.count += 1
        return observation, reward, terminated, truncated, {**info, "count": self.count}


def model(query):
    return query


class Model:
    def __call__(self, query):
        return query


class NotRecorded(gym.Wrapper):
    pass


class RecordsLess(Correct):
    def __init__(self, env: gym.Env, weight: float = 1.0, extra: int = 0):
        RecordConstructorArgs.__init__(self, weight=weight)
        super().__init__(env, None, weight)


class RecordsAnotherValue(Correct):
    def __init__(self, env: gym.Env, extra: int = 0):
        RecordConstructorArgs.__init__(self, extra=extra + 1)
        super().__init__(env)


class CopiesItsModel(Correct):
    def __init__(self, env: gym.Env, model: Any = None, weight: float = 1.0):
        RecordConstructorArgs.__init__(self, model=model, weight=weight)
        super().__init__(env, model, weight)


class CopiesItsModelLater(Correct):
    def __init__(self, env: gym.Env, model: Any = None, weight: float = 1.0):
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, model=model, weight=weight)
        super().__init__(env, model, weight)


class HoldsALambda(Correct):
    def __init__(self, env: gym.Env, model: Any = None, weight: float = 1.0):
        super().__init__(env, model, weight)
        self.hook = lambda: None


class Leaks(Correct):
    """Knows how many episodes have ended."""

    ended = 0

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        self.ended += terminated or truncated
        return observation, reward, terminated, truncated, {**info, "ended": self.ended}


class DropsTheGoal(Correct):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, {k: v for k, v in info.items() if k != "goal"}


class WrongReturn(Correct):
    def step(self, action):
        return super().step(action)[:4]


class IntegersThenFractions(Correct):
    """Its info starts as an int, so that a vector's column is one of ints and 0.5 becomes 0."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        score = 1 if action == "look" else 0.5
        return observation, reward, terminated, truncated, {**info, "score": score}


class ForgetsInPickle(Correct):
    def __getstate__(self):
        return {**self.__dict__, "count": 0}


class ForgetsInSnapshot(Correct):
    """`restore` of the environment inside does not bring back the count."""


class WithSnapshot(Correct):
    def snapshot(self):
        return self.count, self.env.get_wrapper_attr("snapshot")()

    def restore(self, snapshot):
        self.count, inner = snapshot
        return self.env.get_wrapper_attr("restore")(inner)


@pytest.mark.parametrize(
    ("wrapper", "arguments"), [(WithSnapshot, {"model": Model(), "weight": 0.5}), (TimeLimit, {"max_episode_steps": 4})]
)
def test_wrappers_without_fault(wrapper, arguments):
    check_wrapper(wrapper, **arguments)


def limited(env, steps):
    return TimeLimit(env, max_episode_steps=steps)


def test_a_function_that_wraps():
    check_wrapper(limited, steps=5)


def test_an_argument_that_does_not_pickle_is_no_fault_of_the_wrapper():
    check_wrapper(WithSnapshot, model=lambda query: query)
    check_text_env(WithSnapshot(ScriptedEnv(), lambda query: query))


def test_another_base():
    check_wrapper(WithSnapshot, base=lambda: TimeLimit(gym.make("agentkit-testing/Scripted-v0", max_steps=7), 3))


@pytest.mark.parametrize(
    ("wrapper", "arguments", "sentence"),
    [
        (NotRecorded, {}, "NotRecorded must inherit from gymnasium.utils.RecordConstructorArgs"),
        (RecordsLess, {}, "RecordsLess records the arguments ['weight'], but its signature has ['extra', 'weight']"),
        (RecordsAnotherValue, {}, "gymnasium.make(env.spec) builds"),
        (CopiesItsModel, {"model": model}, "the argument model was deep-copied"),
        (CopiesItsModelLater, {"model": model}, "the argument model was deep-copied"),
        (HoldsALambda, {}, "does not pickle"),
        (Leaks, {}, "something of an earlier episode is left in the next one: info['ended']"),
        (DropsTheGoal, {}, "breaks the text contract: info lacks 'goal'"),
        (WrongReturn, {}, "gymnasium's check_env: "),
        (ForgetsInPickle, {}, "a copy that was pickled after"),
        (ForgetsInSnapshot, {}, "the same actions differ after restore(): info['count']"),
    ],
)
def test_faults_are_named(wrapper, arguments, sentence):
    with pytest.raises(AssertionError) as caught:
        check_wrapper(wrapper, **arguments)
    assert sentence in str(caught.value)


class IntegersThenFractionsWithSnapshot(IntegersThenFractions, WithSnapshot):
    pass


def test_infos_that_a_vector_garbles():
    with pytest.raises(AssertionError, match=r"vector, autoreset .*, copy \d: alone and in the vector differ: info"):
        check_wrapper(IntegersThenFractionsWithSnapshot)


def test_a_base_without_spec():
    with pytest.raises(AssertionError, match=r"base must make an environment with a spec: use gymnasium\.make"):
        check_wrapper(WithSnapshot, base=ScriptedEnv)


def test_the_model_that_is_passed_is_the_one_that_is_used():
    judge = Model()
    env = WithSnapshot(gym.make("agentkit-testing/Scripted-v0"), judge)
    assert env.spec is not None
    rebuilt = gym.make(copy.deepcopy(env.spec))
    assert rebuilt.get_wrapper_attr("model") is judge
