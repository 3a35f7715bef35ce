"""`ReplaySnapshot`: branching for any deterministic environment."""

import copy
from typing import Any

import attrs
import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.utils.env_checker import data_equivalence


@attrs.frozen
class ReplayedMoment:
    """A moment of an episode: how to get there, and what was seen on the way. Picklable, and valid in any copy."""

    seed: int
    options: dict[str, Any] | None
    actions: tuple[Any, ...]
    """The actions since the reset."""
    observations: tuple[Any, ...]
    """What the reset and each action gave: one more than ``actions``."""


class ReplaySnapshot(gym.Wrapper, RecordConstructorArgs):
    """Adds ``snapshot()`` and ``restore(snapshot)`` to a deterministic environment, by playing its actions again.

    Restoring costs as many steps as the episode had. Every observation is compared with the one that was seen the first
    time, so an environment that is not deterministic is found out instead of branching from a state that never was.

    A reset without a seed cannot be repeated; the wrapper then draws a seed itself, from a generator that the last
    given seed determines.

    Args:
        env: an environment that does the same after the same ``reset(seed=..., options=...)`` and actions.
    """

    def __init__(self, env: gym.Env):
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self._seeds = np.random.default_rng()
        self._moment: ReplayedMoment | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Start an episode with a seed that is known."""
        if seed is None:
            seed = int(self._seeds.integers(2**31))
        else:
            self._seeds = np.random.default_rng(seed)
        kept = copy.deepcopy(options)
        observation, info = self.env.reset(seed=seed, options=options)
        self._moment = ReplayedMoment(seed, kept, (), (copy.deepcopy(observation),))
        return observation, info

    def step(self, action: Any):
        """Step, and remember the action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        moment = self._started()
        seen = copy.deepcopy(observation)  # some environments write the next observation into the same array
        self._moment = attrs.evolve(
            moment, actions=(*moment.actions, action), observations=(*moment.observations, seen)
        )
        return observation, reward, terminated, truncated, info

    def snapshot(self) -> ReplayedMoment:
        """This moment of the episode.

        Raises:
            ResetNeeded: no episode was started.
        """
        return self._started()

    def restore(self, snapshot: ReplayedMoment) -> tuple[Any, dict[str, Any]]:
        """Play the episode again up to the snapshot, and return its observation and info.

        Raises:
            RuntimeError: the environment is not deterministic: an observation differs from the one seen the first time.
        """
        observation, info = self.env.reset(seed=snapshot.seed, options=copy.deepcopy(snapshot.options))
        _check_same(snapshot, 0, observation)
        for number, action in enumerate(snapshot.actions, start=1):
            observation, _, _, _, info = self.env.step(action)
            _check_same(snapshot, number, observation)
        self._moment = snapshot
        return observation, info

    def _started(self) -> ReplayedMoment:
        if self._moment is None:
            raise ResetNeeded("there is nothing to take a snapshot of; call reset() first")
        return self._moment


def _check_same(snapshot: ReplayedMoment, number: int, observation: Any) -> None:
    seen = snapshot.observations[number]
    if data_equivalence(seen, observation, exact=True):
        return
    where = f"action {number} ({snapshot.actions[number - 1]!r})" if number else f"reset(seed={snapshot.seed})"
    raise RuntimeError(
        f"cannot restore, the environment is not deterministic: replayed, {where} gave {observation!r}, "
        f"but the first time it gave {seen!r}"
    )
