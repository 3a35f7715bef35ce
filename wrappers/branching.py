"""The base of wrappers that keep something of the running episode: it goes into snapshots too."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import gymnasium as gym


@attrs.frozen
class WrapperSnapshot:
    """A moment of an episode: that of the environment inside, and what the wrapper itself remembers. Picklable."""

    inner: Any
    fields: Mapping[str, Any]


class BranchingWrapper(gym.Wrapper):
    """A wrapper that can branch when the environment inside can.

    ``snapshot()`` and ``restore(snapshot) -> (observation, info)`` exist exactly when the environment inside has them.
    Without them here, restoring would bring back the environment but not the wrapper's history of the episode.
    """

    _episode_fields: tuple[str, ...] = ()
    """The attributes that hold something of the running episode; they must survive a deep copy."""

    @property
    def snapshot(self) -> Callable[[], WrapperSnapshot]:
        """A method; AttributeError when the environment inside cannot branch, so that `has_wrapper_attr` is False."""
        self.env.get_wrapper_attr("snapshot")
        return self._snapshot

    @property
    def restore(self) -> Callable[[WrapperSnapshot], tuple[Any, dict[str, Any]]]:
        """A method; AttributeError when the environment inside cannot branch."""
        self.env.get_wrapper_attr("restore")
        return self._restore

    def _snapshot(self) -> WrapperSnapshot:
        inner = self.env.get_wrapper_attr("snapshot")()  # first: it says so when no episode was started
        return WrapperSnapshot(inner, copy.deepcopy({name: getattr(self, name) for name in self._episode_fields}))

    def _restore(self, snapshot: WrapperSnapshot) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.get_wrapper_attr("restore")(snapshot.inner)
        for name, value in copy.deepcopy(dict(snapshot.fields)).items():
            setattr(self, name, value)
        return observation, info
