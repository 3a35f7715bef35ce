"""The base of wrappers that need the episode so far."""

import logging
from typing import Any

from agentkit.episode import EpisodeBuilder
from agentkit.wrappers.branching import BranchingWrapper

logger = logging.getLogger(__name__)


class EpisodeWrapper(BranchingWrapper):
    """Collects the running episode; subclasses say what to do after each executed step.

    Every step's info gets ``raw_reward``, the innermost environment's own reward, so that shaping by several wrappers
    stays apart from it.
    """

    _episode: EpisodeBuilder
    _warned = False
    _open = False
    """An episode has begun and not ended."""
    _episode_fields = ("_episode", "_open")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        self._close_episode()
        observation, info = self.env.reset(seed=seed, options=options)
        self._episode = EpisodeBuilder(observation, info, seed=seed)
        self._open = True
        self._begin()
        return observation, info

    def step(self, action: Any):
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "raw_reward": info.get("raw_reward", float(reward))}
        recorded = self._episode.add(action, observation, float(reward), terminated, truncated, info)
        self._open = not (terminated or truncated)
        if recorded is not None:
            reward, info = self._after_step(float(reward), terminated or truncated, info)
        return observation, reward, terminated, truncated, info

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

    def _shaped_so_far(self, info: dict[str, Any]) -> list[float]:
        """The T rewards that inner wrappers shaped, or the raw ones."""
        if "shaped_rewards" in info:
            return list(info["shaped_rewards"])
        return [step.reward if step.raw_reward is None else step.raw_reward for step in self._episode.steps]
