"""`Arm`: one way of playing that is compared with others."""

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import gymnasium as gym

from agentkit.models.usage import UsageMeter
from agentkit.rollout import Actor

Player: TypeAlias = Callable[[gym.Env, int, UsageMeter], Actor]
"""``player(env, seed, meter) -> actor``: the actor that all arms have in common, made anew for each episode.

The same seed makes an actor that does the same again; its models are counted by the meter, in the role ``actor``.
"""


def _as_it_is(env: gym.Env, seed: int, meter: UsageMeter) -> gym.Env:
    return env


def _same_actor(actor: Actor, env: gym.Env, seed: int, meter: UsageMeter) -> Actor:
    return actor


@attrs.frozen
class Arm:
    """A name, and what it puts around the environment and around the actor; without any, the original actor.

    Both are called for every episode, with its seed and a meter that counts this episode only. What they wrap around
    the environment must not close or change it.
    """

    name: str = attrs.field(validator=attrs.validators.min_len(1))
    wrap_env: Callable[[gym.Env, int, UsageMeter], gym.Env] = _as_it_is
    """``(env, seed, meter) -> env``"""
    wrap_actor: Callable[[Any, gym.Env, int, UsageMeter], Actor] = _same_actor
    """``(actor, env, seed, meter) -> actor``, given the wrapped environment"""
