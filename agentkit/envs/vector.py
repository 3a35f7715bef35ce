"""Vector environments whose text survives."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import attrs
import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import Autoreset

Wrapper = Callable[[gym.Env], gym.Env]


def make_vec(
    env_id: str,
    num_envs: int = 1,
    *,
    mode: Literal["sync", "async"] = "sync",
    wrappers: Sequence[Wrapper] = (),
    autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    **env_kwargs: Any,
) -> gym.vector.VectorEnv:
    """``num_envs`` copies of a text environment, stepped together.

    Observations are tuples of ``num_envs`` strings. ``gymnasium.make_vec(..., vectorization_mode="async")`` would put
    them through shared memory, which garbles text of unequal lengths; here workers send them whole.

    Args:
        env_id: a registered id such as ``"agentkit/ALFWorld-v0"``.
        num_envs: how many copies, at least 1.
        mode: ``"sync"`` steps them in this process, ``"async"`` in one process each.
        wrappers: callables applied to each copy, innermost first.
        autoreset_mode: what happens after an episode ends, as in Gymnasium.
        env_kwargs: passed to ``gymnasium.make``.

    Raises:
        ValueError: ``num_envs`` is below 1 or ``mode`` is unknown.
    """
    if num_envs < 1:
        raise ValueError(f"num_envs must be at least 1, got {num_envs}")

    def build() -> gym.Env:
        env = gym.make(env_id, **env_kwargs)
        for wrapper in wrappers:
            env = wrapper(env)
        return env

    return vectorize([build] * num_envs, mode=mode, autoreset_mode=autoreset_mode)


def vectorize(
    factories: Sequence[Callable[[], gym.Env]],
    *,
    mode: Literal["sync", "async"] = "sync",
    autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
) -> gym.vector.VectorEnv:
    """`make_vec` for environments that are built by functions.

    Raises:
        ValueError: ``mode`` is unknown.
    """
    if mode not in ("sync", "async"):
        raise ValueError(f"mode must be 'sync' or 'async', got {mode!r}")
    if mode == "sync":
        return SyncVectorEnv(factories, copy=False, autoreset_mode=autoreset_mode)
    if autoreset_mode is not AutoresetMode.NEXT_STEP:
        return AsyncVectorEnv(factories, shared_memory=False, autoreset_mode=autoreset_mode)
    # Without shared memory, Gymnasium's worker does not note a reset() after an episode's end, resets once more, and so
    # swallows the first action. Here the worker never resets by itself: the `Autoreset` wrapper does, in the same way.
    vector = AsyncVectorEnv(
        [_NextStep(factory) for factory in factories], shared_memory=False, autoreset_mode=AutoresetMode.DISABLED
    )
    vector.autoreset_mode = vector.metadata["autoreset_mode"] = AutoresetMode.NEXT_STEP
    return vector


@attrs.frozen
class _NextStep:
    """Builds an environment that resets itself in the step after an episode's end."""

    factory: Callable[[], gym.Env]

    def __call__(self) -> gym.Env:
        return Autoreset(self.factory())
