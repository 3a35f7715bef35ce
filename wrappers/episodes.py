"""The base of wrappers that need the episode so far."""

from typing import Any

import gymnasium as gym

from agentkit.episode import EpisodeBuilder


class EpisodeWrapper(gym.Wrapper):
    """Collects the running episode; subclasses say what to do after each executed step.

    Every step's info gets ``raw_reward``, the innermost environment's own reward, so that shaping by several wrappers
    stays apart from it.
    """

    _episode: EpisodeBuilder

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        self._episode = EpisodeBuilder(observation, info, seed=seed)
        self._begin()
        return observation, info

    def step(self, action: Any):
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "raw_reward": info.get("raw_reward", float(reward))}
        recorded = self._episode.add(action, observation, float(reward), terminated, truncated, info)
        if recorded is not None:
            reward, info = self._after_step(float(reward), terminated or truncated, info)
        return observation, reward, terminated, truncated, info

    def _begin(self) -> None:
        """Called as an episode starts."""

    def _after_step(self, reward: float, ended: bool, info: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """The reward and the info to return for a step that was executed."""
        raise NotImplementedError

    def _shaped_so_far(self, info: dict[str, Any]) -> list[float]:
        """The T rewards that inner wrappers shaped, or the raw ones."""
        if "shaped_rewards" in info:
            return list(info["shaped_rewards"])
        return [step.reward if step.raw_reward is None else step.raw_reward for step in self._episode.steps]
