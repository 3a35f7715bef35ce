"""Let an actor play episodes, and keep everything that was seen, done, rewarded and judged."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import gymnasium as gym

from agentkit.episode import EpisodeBuilder
from agentkit.trajectory import Trajectory

Actor: TypeAlias = Callable[[str, Mapping[str, Any]], str]
"""``actor(observation, info) -> action``. Optional: ``reset()``, called as an episode starts; ``distribution``, a map
from action to probability that the last call chose from; and ``observe(observation, info, action)``, which tells an
actor with a memory of a step that it did not choose."""


def _check_text(observation: Any) -> str:
    if not isinstance(observation, str):
        raise TypeError(
            f"observations must be str, got {type(observation).__name__}; "
            "put agentkit.wrappers.TextualizeWrapper around an environment that is not text"
        )
    return observation


def play_episode(
    env: gym.Env,
    actor: Actor,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    group: str | None = None,
    max_steps: int | None = None,
) -> Trajectory:
    """Play one episode to its end (or for ``max_steps`` calls of ``env.step``) and return it.

    Raises:
        TypeError: the environment's observations are not text.
    """
    reset: Callable[[], None] | None = getattr(actor, "reset", None)
    if reset is not None:
        reset()
    observation, info = env.reset(seed=seed, options=options)
    episode = EpisodeBuilder(_check_text(observation), info, seed=seed, group=group)
    calls, ended = 0, False
    while not ended and (max_steps is None or calls < max_steps):
        action = actor(observation, info)
        distribution: Mapping[str, float] = getattr(actor, "distribution", None) or {}
        observation, reward, terminated, truncated, info = env.step(action)
        probability = distribution.get(action)
        episode.add(action, _check_text(observation), float(reward), terminated, truncated, info, probability)
        ended = terminated or truncated
        calls += 1
    return episode.trajectory()


def iterate_rollouts(
    env: gym.Env,
    actor: Actor,
    num_episodes: int = 1,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    group_size: int = 1,
    max_steps: int | None = None,
) -> Iterator[Trajectory]:
    """`rollout`, one episode at a time as they finish."""
    if num_episodes < 1:
        raise ValueError(f"num_episodes must be at least 1, got {num_episodes}")
    if group_size < 1:
        raise ValueError(f"group_size must be at least 1, got {group_size}")
    for episode in range(num_episodes):
        number = episode // group_size
        yield play_episode(
            env,
            actor,
            # Members of a group start from the same state, so they are reset with the same seed.
            seed=None if seed is None else seed + number,
            options=options,
            group=f"group-{number}" if group_size > 1 else None,
            max_steps=max_steps,
        )


def rollout(
    env: gym.Env,
    actor: Actor,
    num_episodes: int = 1,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    group_size: int = 1,
    max_steps: int | None = None,
) -> list[Trajectory]:
    """Play ``num_episodes`` episodes and return them in order.

    Args:
        env: a text environment, with any stack of wrappers. Hindsight scores, roles and shaped rewards that wrappers
            put into the last info of an episode are written back into its steps.
        actor: ``actor(observation, info) -> action``.
        num_episodes: how many, at least 1.
        seed: the first episode (or group) is reset with ``seed``, the next with ``seed + 1``, and so on.
        options: passed to every ``env.reset``.
        group_size: consecutive episodes that share one seed, hence one task (a GRPO group). Needs a ``seed``, or
            ``options`` that name the task, to have any effect on the environment.
        max_steps: stop an episode after so many calls of ``env.step``; None = only the environment ends it.
    """
    return list(
        iterate_rollouts(
            env, actor, num_episodes, seed=seed, options=options, group_size=group_size, max_steps=max_steps
        )
    )
