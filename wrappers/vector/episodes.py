"""The base of vector wrappers that need the episode so far of every copy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from agentkit.episode import EpisodeBuilder
from agentkit.wrappers.episodes import RunningEpisode, check_text, with_raw_reward
from agentkit.wrappers.vector.infos import info_of, put


class VectorEpisodeWrapper(VectorWrapper):
    """Collects the running episode of every copy; subclasses say what to do after a vector step.

    All autoreset modes are understood; ``metadata["autoreset_mode"]`` says which one it is. In `NEXT_STEP` the step
    that resets a copy belongs to no episode. In `SAME_STEP` what is said about a last step goes into ``final_info``. A
    reset with ``options={"reset_mask": ...}`` begins new episodes in the masked copies only.

    Raises:
        TypeError: ``env`` is no vector environment; (from ``reset``) the observations are not text.
        ValueError: ``env`` does not say its autoreset mode, or sends text through shared memory; (from ``step``) it was
            not reset.
    """

    def __init__(self, env: VectorEnv):
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise ValueError(
                f"metadata['autoreset_mode'] must be a gymnasium.vector.AutoresetMode, got {mode!r}; "
                "make the vector environment with agentkit.make_vec"
            )
        if isinstance(env.single_observation_space, spaces.Text) and getattr(env.unwrapped, "shared_memory", False):
            raise ValueError(
                "AsyncVectorEnv(..., shared_memory=True) damages texts of unequal lengths; make the vector environment "
                "with agentkit.make_vec, or with shared_memory=False"
            )
        self._mode = mode
        self._episodes: dict[int, RunningEpisode] = {}

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None):
        """Begin an episode in every copy, or in those of ``options["reset_mask"]``; the seeds are as in Gymnasium."""
        chosen = np.flatnonzero(_reset_mask(options, self.num_envs)).tolist()
        # A copy: vector environments take the mask out of the options, and wrappers further out still need it.
        observations, infos = self.env.reset(seed=seed, options=None if options is None else dict(options))
        seeds = _seeds(seed, self.num_envs)
        for i in chosen:
            self._close_episode(i)
            self._begin(i, observations[i], info_of(infos, i), seeds[i])
        return observations, infos

    def step(self, actions: Any):
        """Step all copies."""
        if len(self._episodes) < self.num_envs:
            raise ValueError("no episode has begun in every copy; call reset() before step()")
        actions = tuple(actions)
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        rewards = np.array(rewards, dtype=np.float64)
        taken, over = [], []
        for i, action in enumerate(actions):
            episode, terminated, truncated = self._episodes[i], bool(terminations[i]), bool(truncations[i])
            if episode.ended and self._mode is AutoresetMode.NEXT_STEP:
                self._begin(i, observations[i], info_of(infos, i), None)
                continue
            episode.ended = terminated or truncated
            observation, info = self._outcome(i, observations, infos)
            info = with_raw_reward(info, float(rewards[i]))
            self._say(infos, i, {"raw_reward": info["raw_reward"]})
            if episode.builder.add(action, observation, float(rewards[i]), terminated, truncated, info) is not None:
                taken.append(episode)
            if self._resets_at_once(i):
                over.append(i)
        for episode, (bonus, said) in zip(taken, self._after_step(taken), strict=True):
            rewards[episode.copy] += bonus
            self._say(infos, episode.copy, said)
        for i in over:
            self._begin(i, observations[i], info_of(infos, i), None)
        return observations, rewards, terminations, truncations, infos

    def _resets_at_once(self, i: int) -> bool:
        """The step that ended the episode has begun the next one too."""
        return self._episodes[i].ended and self._mode is AutoresetMode.SAME_STEP

    def _outcome(self, i: int, observations: Any, infos: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """What the action led to in copy i, which in `SAME_STEP` is not what the vector environment shows."""
        if self._resets_at_once(i):
            return infos["final_obs"][i], info_of(infos["final_info"], i)
        return observations[i], info_of(infos, i)

    def _say(self, infos: dict[str, Any], i: int, said: Mapping[str, Any]) -> None:
        """Add to the info of the step that copy i took."""
        if said:
            put(self, infos, {"final_info": dict(said)} if self._resets_at_once(i) else said, i)

    def _begin(self, i: int, observation: Any, info: Mapping[str, Any], seed: int | None) -> None:
        number = self._episodes[i].number + 1 if i in self._episodes else 0
        builder = EpisodeBuilder(check_text(observation, self), info, seed=seed)
        self._episodes[i] = RunningEpisode(builder, number, copy=i)

    def _close_episode(self, i: int) -> None:
        """Note that the running episode of copy i, if there is one, goes no further."""
        episode = self._episodes.get(i)
        if episode is not None and not episode.ended and episode.builder.steps:
            self._cut(episode)
            episode.ended = True

    def _cut(self, episode: RunningEpisode) -> None:
        """Called when a reset cuts off an episode after some steps."""

    def _after_step(self, episodes: Sequence[RunningEpisode]) -> Sequence[tuple[float, Mapping[str, Any]]]:
        """What to add to the reward and to the info of the step that each of these episodes has just taken."""
        raise NotImplementedError


def _reset_mask(options: Mapping[str, Any] | None, count: int) -> NDArray[np.bool_]:
    """Which copies a reset is for; a mask of a wrong form is left to the vector environment, which says so."""
    mask = None if options is None else options.get("reset_mask")
    usable = isinstance(mask, np.ndarray) and mask.shape == (count,) and mask.dtype == np.bool_
    return mask if usable and mask is not None else np.full(count, mask is None)


def _seeds(seed: Any, count: int) -> list[int | None]:
    """Gymnasium's reading of a vector environment's seed: one number counts up from the first copy."""
    if seed is None:
        return [None] * count
    return [seed + i for i in range(count)] if isinstance(seed, int) else list(seed)
