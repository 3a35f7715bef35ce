"""A slow, obvious way to play branches: everything from the first reset, one after the other."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym


def play_branch(
    env: gym.Env, make_actor: Callable[[int], Any], seed: int, actor_seed: int, prefix: Sequence[str], action: str
) -> list[float]:
    """The rewards of ``action`` and all that follows, after ``prefix``; the actor is told what was done before."""
    actor = make_actor(actor_seed)
    if hasattr(actor, "reset"):
        actor.reset()
    observation, info = env.reset(seed=seed)
    rewards: list[float] = []
    ended = False
    for number, given in enumerate([*prefix, action]):
        if hasattr(actor, "observe"):
            actor.observe(observation, info, given)
        observation, reward, terminated, truncated, info = env.step(given)
        ended = terminated or truncated
        if number == len(prefix):
            rewards.append(float(reward))
    while not ended:
        observation, reward, terminated, truncated, info = env.step(actor(observation, info))
        ended = terminated or truncated
        rewards.append(float(reward))
    return rewards
