"""Copies of environments by pickling."""

import pickle
from collections.abc import Iterator
from typing import Any

import cloudpickle
import gymnasium as gym

from agentkit.testing.playing import ensure


def pickled(env: gym.Env) -> bytes:
    """The environment as bytes for `pickle.loads`.

    An argument of a wrapper that does not pickle, such as a lambda as the judge, is no fault of the wrapper's:
    cloudpickle, which Gymnasium uses for the workers of its Async vectors, then takes over.

    Raises:
        AssertionError: the environment does not pickle although the arguments of its wrappers do.
    """
    error = _error_of(env)
    if error is None:
        return pickle.dumps(env)
    ensure(any(map(_error_of, _arguments(env))), f"{env} does not pickle: {error!r}")
    return cloudpickle.dumps(env)


def _error_of(value: Any) -> Exception | None:
    try:
        pickle.dumps(value)
    except Exception as error:
        return error
    return None


def _arguments(env: gym.Env) -> Iterator[Any]:
    """The recorded constructor arguments of every wrapper of the stack."""
    while isinstance(env, gym.Wrapper):
        yield from getattr(env, "_saved_kwargs", {}).values()
        env = env.env
