"""The base of wrappers that need the episode so far."""

import logging
from collections.abc import Mapping
from typing import Any

import attrs

from agentkit.episode import EpisodeBuilder
from agentkit.wrappers.branching import BranchingWrapper, WrapperSnapshot

logger = logging.getLogger(__name__)


def check_text(observation: Any, wrapper: object) -> str:
    """Return ``observation`` when it is a string.

    Raises:
        TypeError: it is not; the message names the wrapper, the value and the mend.
    """
    if not isinstance(observation, str):
        raise TypeError(
            f"{type(wrapper).__name__} needs observations that are str, got {type(observation).__name__}: "
            f"{observation!r}; put agentkit.wrappers.TextualizeWrapper around the environment first"
        )
    return observation


def with_raw_reward(info: Mapping[str, Any], reward: float) -> dict[str, Any]:
    """``info`` with ``raw_reward``, the innermost environment's own reward, unless a wrapper inside has put it in."""
    return {**info, "raw_reward": info.get("raw_reward", reward)}


@attrs.define
class RunningEpisode:
    """An episode that has begun, in one environment."""

    builder: EpisodeBuilder
    number: int
    """How many episodes of this environment, and branches of episodes, were begun before it."""
    copy: int | None = None
    """In a vector, the number of the environment."""
    ended: bool = False
    grades: list[Any] = attrs.field(factory=list)
    """What an online judge said about its steps."""


class EpisodeWrapper(BranchingWrapper):
    """Collects the running episode; subclasses say what to do after each executed step.

    Every step's info gets ``raw_reward``, the innermost environment's own reward, so that shaping by several wrappers
    stays apart from it.
    """

    _episode: EpisodeBuilder
    _number = -1
    """How many episodes, and branches of episodes, were begun before the running one."""
    _warned = False
    _open = False
    """An episode has begun and not ended."""
    _episode_fields = ("_episode", "_open")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        self._close_episode()
        observation, info = self.env.reset(seed=seed, options=options)
        self._episode = EpisodeBuilder(check_text(observation, self), info, seed=seed)
        self._number += 1
        self._open = True
        self._begin()
        return observation, info

    def step(self, action: Any):
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward = float(reward)
        info = with_raw_reward(info, reward)
        recorded = self._episode.add(action, observation, reward, terminated, truncated, info)
        self._open = not (terminated or truncated)
        if recorded is not None:
            reward, info = self._after_step(reward, terminated or truncated, info)
        return observation, reward, terminated, truncated, info

    def _restore(self, snapshot: WrapperSnapshot):
        self._number += 1
        return super()._restore(snapshot)

    def _close_episode(self) -> None:
        """Note that the running episode, if there is one, goes no further."""
        if self._open and self._episode.steps:
            self._cut(len(self._episode.steps))
        self._open = False

    def _begin(self) -> None:
        """Called as an episode starts."""

    def _cut(self, steps: int) -> None:
        """Called when a reset cuts off an episode after some steps."""

    def _warn_once(self, message: str, *arguments: Any) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(f"{message} (said once)", *arguments)

    def _after_step(self, reward: float, ended: bool, info: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """The reward and the info to return for a step that was executed."""
        raise NotImplementedError
