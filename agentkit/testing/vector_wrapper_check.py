"""`check_vector_wrapper`: does a vector wrapper do to every copy what its namesake does to one environment?"""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from agentkit.envs.vector import vectorize
from agentkit.testing.guarding import CopiedError, guarded
from agentkit.testing.playing import Chooser, Turn, act, difference, ensure, start
from agentkit.testing.vector_check import SEEDS, check_vectors
from agentkit.testing.wrapper_check import scripted_base
from agentkit.wrappers.vector.infos import info_of

STEPS = 24
CUT = 2
"""The step before which the first copy is reset although its episode is not over."""


def check_vector_wrapper(
    wrapper: Callable[..., VectorEnv],
    /,
    single: Callable[..., gym.Env],
    base: Callable[[], gym.Env] = scripted_base,
    **kwargs: Any,
) -> None:
    """Raise AssertionError, with one sentence, for the first thing that ``wrapper(vector, **kwargs)`` does wrong.

    Checked: it is a `gymnasium.vector.VectorWrapper` with the arguments of ``single``, and leaves spaces, spec and
    metadata as they are; no argument that can be called (a judge, a model) is deep-copied; around Sync and Async
    vectors of two copies, in all three autoreset modes, every text, reward, flag and info is that of
    ``single(base(), **kwargs)`` played alone; the same with resets of some of the copies (``reset_mask``), after an end
    and in the middle of an episode.

    Args:
        wrapper: a vector wrapper class, or a function that wraps a vector environment.
        single: the wrapper that does the same to one environment.
        base: makes the environment to wrap; by default a `ScriptedEnv`.
        kwargs: further arguments of both.
    """
    _check_form(wrapper, single, base, kwargs)
    _check_not_copied(wrapper, base, kwargs)
    alone, wrap = _Single(single, base, kwargs), partial(wrapper, **kwargs)
    check_vectors(alone, steps=STEPS, copy=base, wrap=wrap)
    for mode in ("sync", "async"):
        inside = vectorize([base] * len(SEEDS), mode=mode, autoreset_mode=AutoresetMode.DISABLED)
        _check_masked_resets(wrap(inside), f"{mode} vector", [alone() for _ in SEEDS])


@attrs.frozen
class _Single:
    """Builds the environment in one copy."""

    wrapper: Callable[..., gym.Env]
    base: Callable[[], gym.Env]
    kwargs: dict[str, Any]

    def __call__(self) -> gym.Env:
        return self.wrapper(self.base(), **self.kwargs)


def _check_form(wrapper: Any, single: Any, base: Callable[[], gym.Env], kwargs: dict[str, Any]) -> None:
    inside = vectorize([base] * len(SEEDS))
    vector = wrapper(inside, **kwargs)
    name = type(vector).__name__
    ensure(isinstance(vector, VectorWrapper), f"{name} must be a gymnasium.vector.VectorWrapper")
    for attribute in ("num_envs", "spec", "metadata", "single_observation_space", "single_action_space", "unwrapped"):
        ours, theirs = getattr(vector, attribute), getattr(inside, attribute)
        ensure(ours == theirs, f"{name}.{attribute} is {ours!r}, but that of the vector inside is {theirs!r}")
    arguments, wanted = (list(inspect.signature(each).parameters) for each in (wrapper, single))
    ensure(arguments == wanted, f"{name} takes {arguments}, but the wrapper for one environment takes {wanted}")
    vector.close()
    ensure(inside.closed, f"{name}.close() leaves the vector environment inside open")


def _check_not_copied(wrapper: Any, base: Callable[[], gym.Env], kwargs: dict[str, Any]) -> None:
    try:
        vector = wrapper(vectorize([base]), **guarded(kwargs))
        _, infos = vector.reset(seed=SEEDS[0])
        choose = Chooser(base(), SEEDS[0])
        for _ in range(STEPS):
            *_, infos = vector.step((choose(info_of(infos, 0)),))
    except CopiedError as error:
        raise AssertionError(f"the argument {error} was deep-copied, which would copy a model") from error


def _check_masked_resets(vector: VectorEnv, name: str, alone: Sequence[gym.Env]) -> None:
    """Copies whose episode is over, and one whose episode is not, are reset while the others go on."""
    choosers = [Chooser(env, seed) for env, seed in zip(alone, SEEDS, strict=True)]
    observations, infos = vector.reset(seed=list(SEEDS))  # pyright: ignore[reportArgumentType]
    expected = [[start(env, seed)] for env, seed in zip(alone, SEEDS, strict=True)]
    found = [[Turn(None, observations[i], info_of(infos, i))] for i in range(len(alone))]
    try:
        for number in range(STEPS):
            mask = np.array([turns[-1].ended for turns in expected])
            mask[0] |= number == CUT
            if mask.any():
                seeds: Any = [100 * number + i for i in range(len(alone))]
                observations, infos = vector.reset(seed=seeds, options={"reset_mask": mask})
                for i in np.flatnonzero(mask).tolist():
                    expected[i].append(start(alone[i], seeds[i]))
                    found[i].append(Turn(None, observations[i], info_of(infos, i)))
            actions = [choose(turns[-1].info) for choose, turns in zip(choosers, expected, strict=True)]
            observations, rewards, terminations, truncations, infos = vector.step(tuple(actions))
            for i, action in enumerate(actions):
                expected[i].append(act(alone[i], action))
                flags = terminations[i], truncations[i]
                found[i].append(Turn(action, observations[i], info_of(infos, i), rewards[i], *flags))
        for i, turns in enumerate(expected):
            fault = difference(turns, found[i])
            ensure(fault is None, f"{name}, copy {i}, with masked resets: alone and in the vector differ: {fault}")
    finally:
        vector.close()
