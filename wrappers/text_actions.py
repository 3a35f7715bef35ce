"""Words for the actions of spaces that are not text."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from agentkit.envs.contract import TextSpace


class NamesSpace(TextSpace):
    """The names of a closed set of actions. Samples are names."""

    def __init__(self, names: Sequence[str], seed: int | np.random.Generator | None = None):
        super().__init__(max(map(len, names)), seed=seed)
        self.names = tuple(names)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and x in self.names

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return self.names[int(self.np_random.integers(len(self.names)))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamesSpace) and self.names == other.names

    def __repr__(self) -> str:
        return f"NamesSpace({self.names})"


class NumbersSpace(TextSpace):
    """The numbers of an array space, written out and separated by spaces. Samples are such texts."""

    def __init__(self, space: spaces.Space[Any], seed: int | np.random.Generator | None = None):
        super().__init__(seed=seed)
        self.space = space
        self.hint = _hint(space)
        """The form of an action, in words."""

    def write(self, action: Any) -> str:
        """An action of the array space as text."""
        return " ".join(str(number) for number in np.asarray(action).ravel().tolist())

    def read(self, text: str) -> Any:
        """The action that a text stands for.

        Raises:
            ValueError: it is not of the form that `hint` says.
        """
        try:
            action = np.array([float(word) for word in text.split()]).reshape(self.space.shape or ())
        except ValueError as error:
            raise ValueError(f"action must be {self.hint}, got {text!r}") from error
        typed = action.astype(self.space.dtype)
        if not np.allclose(typed, action) or not self.space.contains(typed):
            raise ValueError(f"action must be {self.hint}, got {text!r}")
        return typed

    def contains(self, x: Any) -> bool:
        if not isinstance(x, str):
            return False
        try:
            self.read(x)
        except ValueError:
            return False
        return True

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        self.space.seed(int(self.np_random.integers(2**31)))
        return self.write(self.space.sample())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumbersSpace) and self.space == other.space

    def __repr__(self) -> str:
        return f"NumbersSpace({self.space})"


def _hint(space: Any) -> str:
    count = int(np.prod(space.shape or ()))
    what = "number" if count == 1 else "numbers separated by spaces"
    if not isinstance(space, spaces.Box):
        lowest = np.zeros(space.shape or (), int) + getattr(space, "start", 0)
        return f"{count} whole {what}, as in {' '.join(map(str, lowest.ravel().tolist()))!r}"
    ranges = [f"{low:g} to {high:g}" for low, high in zip(space.low.ravel(), space.high.ravel(), strict=True)]
    return f"{count} {what}, in the ranges {', '.join(ranges)}"


def named_actions(space: spaces.Space[Any], actions: Sequence[str] | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Name -> action of ``space``; None when the space is one of arrays and no names are given.

    Args:
        space: the environment's action space.
        actions: a name for each action of a `Discrete` space in order, or a mapping from names to actions of any space.

    Raises:
        TypeError: names are given as a single string, or are not strings.
        ValueError: a wrong number of names, a name twice, an action outside the space, or a space that needs names.
    """
    if isinstance(actions, str):
        raise TypeError(f"actions must be a list of names or a mapping from names to actions, got {actions!r}")
    if actions is None:
        if isinstance(space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)):
            return None
        if not isinstance(space, spaces.Discrete):
            raise ValueError(f"give actions, a mapping from names to actions: there are no default names for {space}")
        actions = [f"action {number}" for number in range(int(space.n))]
    if isinstance(actions, Mapping):
        named = dict(actions)
    else:
        if not isinstance(space, spaces.Discrete):
            raise ValueError(f"actions must be a mapping from names to actions for {space}, got {actions!r}")
        if len(actions) != space.n or len(set(actions)) != len(actions):
            raise ValueError(f"actions must be {space.n} different names, one for each action, got {actions!r}")
        named = {name: int(space.start) + number for number, name in enumerate(actions)}
    for name, action in named.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"actions must have non-empty strings as names, got {name!r}")
        if not space.contains(action):
            raise ValueError(f"actions[{name!r}] is {action!r}, which is not in the environment's action space {space}")
    if not named:
        raise ValueError("actions is empty; name at least one")
    return named


def unknown_action(action: str, names: Sequence[str]) -> ValueError:
    """The error for an action that has no such name, with names that are near it."""
    near = difflib.get_close_matches(action, names, n=3)
    mend = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(map(repr, names[:20]))}"
    return ValueError(f"unknown action {action!r}; {mend}")
