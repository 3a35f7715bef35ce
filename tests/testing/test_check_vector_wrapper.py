"""Each fault that `check_vector_wrapper` looks for is built into a vector wrapper, and must be the one it names."""

import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorWrapper

from agentkit.testing import check_vector_wrapper
from agentkit.wrappers import JudgeRewardWrapper, vector
from tests.wrappers import judges

Correct = vector.JudgeRewardWrapper
ARGUMENTS = {"judge": judges.milestones}


class NoVectorWrapper(gym.vector.VectorEnv):
    def __init__(self, env, judge, weight=0.5, name=None, timeout=None):
        self.num_envs = env.num_envs


class OtherArguments(Correct):
    def __init__(self, env, judge, weight=0.5):
        super().__init__(env, judge, weight)


class OtherSpace(Correct):
    single_action_space = gym.spaces.Discrete(2)


class LeavesOpen(Correct):
    def close(self, **kwargs):
        pass


class CopiesItsJudge(Correct):
    def __init__(self, env, judge, weight=0.5, name=None, timeout=None):
        super().__init__(env, copy.deepcopy(judge), weight, name, timeout)


class OtherReward(Correct):
    def step(self, actions):
        observations, rewards, *rest = super().step(actions)
        return observations, rewards * 2, *rest


class LosesScores(Correct):
    """The first copy never gets its scores."""

    def step(self, actions):
        observations, rewards, terminations, truncations, infos = super().step(actions)
        if "step_scores" in infos:
            infos["step_scores"][0] = None
        return observations, rewards, terminations, truncations, infos


class IgnoresMasks(Correct):
    """Takes a reset of some copies for a reset of all."""

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        if options is not None and self._mode is AutoresetMode.DISABLED:
            for i in range(self.num_envs):
                self._begin(i, result[0][i], self._episodes[i].builder._info, None)
        return result


class PlainDefault(VectorWrapper):
    """Does nothing, which is not what its namesake does."""

    def __init__(self, env, judge, weight=0.5, name=None, timeout=None):
        super().__init__(env)

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed, options=None if options is None else dict(options))


def test_the_correct_one_passes():
    check_vector_wrapper(Correct, JudgeRewardWrapper, **ARGUMENTS)


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (NoVectorWrapper, "NoVectorWrapper must be a gymnasium.vector.VectorWrapper"),
        (
            OtherArguments,
            r"OtherArguments takes \['env', 'judge', 'weight'\], but the wrapper for one environment takes",
        ),
        (OtherSpace, r"OtherSpace.single_action_space is Discrete\(2\), but that of the vector inside is"),
        (LeavesOpen, r"LeavesOpen.close\(\) leaves the vector environment inside open"),
        (CopiesItsJudge, "the argument judge was deep-copied, which would copy a model"),
        (OtherReward, r"sync vector, autoreset NextStep, copy \d: alone and in the vector differ: reward of step"),
        (LosesScores, r"copy 0: alone and in the vector differ: info\['step_scores'\] of step"),
        (IgnoresMasks, "sync vector, copy 0, with masked resets: alone and in the vector differ"),
        (PlainDefault, r"copy 0: alone and in the vector differ: info\['raw_reward'\] of step 1"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_fault_is_found(wrapper, message):
    with pytest.raises(AssertionError, match=message):
        check_vector_wrapper(wrapper, JudgeRewardWrapper, **ARGUMENTS)


def test_masks_are_given_as_gymnasium_wants_them():
    seen = []

    class Notes(Correct):
        def reset(self, *, seed=None, options=None):
            if options is not None:
                seen.append(options["reset_mask"].copy())
            return super().reset(seed=seed, options=options)

    check_vector_wrapper(Notes, JudgeRewardWrapper, **ARGUMENTS)
    assert all(mask.dtype == np.bool_ for mask in seen)
    assert any(mask.tolist() == [True, False] for mask in seen)
    assert any(mask[1] for mask in seen)
