"""`TextualizeWrapper`: an environment that is not text, as a text environment."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.utils.env_checker import data_equivalence

from agentkit.envs.contract import TextSpace, check_action
from agentkit.wrappers.branching import BranchingWrapper
from agentkit.wrappers.sharing import record, resolve
from agentkit.wrappers.text_actions import NamesSpace, NumbersSpace, named_actions, unknown_action
from agentkit.wrappers.text_defaults import TextDefaults, text_defaults

MOST_NUMBERS = 64
"""An observation with more numbers than this has no useful default description."""


class TextualizeWrapper(BranchingWrapper, RecordConstructorArgs):
    """Puts an environment's observations and actions into words, and its info into the text-environment contract.

    Actions are named: ``step("left")``. In an environment with a `Box`, `MultiDiscrete` or `MultiBinary` action space
    and no names, an action is its numbers, ``step("0.5 -1")``, and ``info["action_hint"]`` says the form. Where the
    environment gives ``info["action_mask"]`` (as Taxi does), ``admissible_actions`` are the unmasked ones; a masked one
    may still be played, and does what the environment makes of it.

    Good defaults are known for FrozenLake, Taxi, CliffWalking and MiniGrid. Elsewhere the numbers are written out, the
    actions are ``"action 0"``, ``"action 1"``, ..., and ``state_changed`` compares the observations before and after.
    ``won`` is True when the episode terminated with a positive reward (in Taxi and CliffWalking: when it terminated).
    The environment's own info is kept beside the contract's keys.

    Args:
        env: any environment.
        describe: ``describe(observation) -> text``, or an import string; None = the default.
        actions: a name for each action of a `Discrete` space, in order, or a mapping from names to actions; None = the
            default.
        goal: the instruction; "" = the default.
        won: ``won(reward, terminated) -> bool``, or an import string; None = the default.

    Raises:
        TypeError: (from ``step``) the action is not a str; (from ``reset`` and ``step``) ``describe`` returned no str.
        ValueError: names that do not fit the action space; an observation that needs ``describe``; (from ``step``) an
            unknown action, with names that are near it.
        ResetNeeded: (from ``step``) the episode has not begun, or has ended.
    """

    _episode_fields = ("_state", "_ended", "_task_id")

    def __init__(
        self,
        env: gym.Env,
        describe: Callable[[Any], str] | str | None = None,
        actions: Sequence[str] | Mapping[str, Any] | None = None,
        goal: str = "",
        won: Callable[[float, bool], bool] | str | None = None,
    ):
        RecordConstructorArgs.__init__(self, describe=record(describe), actions=actions, goal=goal, won=record(won))
        BranchingWrapper.__init__(self, env)
        self._known = text_defaults(env)
        self._describe: Callable[[Any], str] | None = resolve(describe, "describe")
        self._won: Callable[[float, bool], bool] | None = resolve(won, "won")
        self._goal = goal
        if describe is None and self._known is None:
            _check_describable(env.observation_space)
        names = self._known.actions if actions is None and self._known is not None else actions
        self._named = named_actions(env.action_space, names)
        self._numbers = NumbersSpace(env.action_space)
        self.action_space = self._numbers if self._named is None else NamesSpace(tuple(self._named))
        self.observation_space = TextSpace()
        self._task_type = type(env.unwrapped).__name__ if env.spec is None else env.spec.id
        self._ended: bool | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Start an episode; ``task_id`` is the environment's id with the seed, where there is one."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._state, self._ended = self._state_of(observation), False
        self._task_id = self._task_type if seed is None else f"{self._task_type}#{seed}"
        return self._text(observation), self._info(observation, info, won=False, state_changed=True)

    def step(self, action: str):
        """Do the action of this name."""
        check_action(action)
        if self._ended is not False:
            what = "has not begun" if self._ended is None else "is over"
            raise ResetNeeded(f"the episode {what}; call reset() before step()")
        observation, number, terminated, truncated, info = self.env.step(self._raw_action(action))
        reward = float(number)
        before, self._state = self._state, self._state_of(observation)
        self._ended = bool(terminated or truncated)
        changed = not data_equivalence(before, self._state, exact=True)
        info = self._info(observation, info, self._is_won(reward, bool(terminated)), changed)
        return self._text(observation), reward, terminated, truncated, info

    def _raw_action(self, action: str) -> Any:
        if self._named is None:
            return self._numbers.read(action)
        if action not in self._named:
            raise unknown_action(action, list(self._named))
        return self._named[action]

    def _text(self, observation: Any) -> str:
        if self._describe is not None:
            text = self._describe(observation)
            if not isinstance(text, str):
                raise TypeError(f"describe must return a str, got {type(text).__name__}: {text!r}")
            return text
        if self._known is not None:
            return self._known.describe(self.env.unwrapped, observation)
        return write_out(self.env.observation_space, observation)

    def _state_of(self, observation: Any) -> Any:
        if self._known is None or self._known.state is None:
            return copy.deepcopy(observation)  # some environments write the next observation into the same array
        return self._known.state(self.env.unwrapped, observation)

    def _is_won(self, reward: float, terminated: bool) -> bool:
        if self._won is not None:
            return bool(self._won(reward, terminated))
        return terminated and (reward > 0 or (self._known is not None and self._known.ending_wins))

    def _info(self, observation: Any, info: Mapping[str, Any], won: bool, state_changed: bool) -> dict[str, Any]:
        kept = dict(info)
        if "prob" in kept:
            # The toy environments give the int 1 at reset, which would make a vector's whole column integers.
            kept["prob"] = float(kept["prob"])
        if self._named is None:
            kept["action_hint"] = self._numbers.hint
        return {
            **kept,
            "goal": self._goal or _default_goal(self._known, observation),
            "admissible_actions": self._admissible(info.get("action_mask")),
            "won": won,
            "state_changed": state_changed,
            "milestones": (),
            "task_type": self._task_type,
            "task_id": self._task_id,
        }

    def _admissible(self, mask: Any) -> tuple[str, ...]:
        names = tuple(self._named or ())
        space = self.env.action_space
        if mask is None or not isinstance(space, spaces.Discrete) or self._named is None or not np.any(mask):
            return names
        return tuple(name for name in names if mask[int(self._named[name]) - int(space.start)])


def _default_goal(known: TextDefaults | None, observation: Any) -> str:
    if known is None:
        return "Collect as much reward as you can."
    return known.goal if known.goal_key is None else str(observation[known.goal_key])


def _check_describable(space: spaces.Space[Any]) -> None:
    size = _numbers_in(space)
    if size > MOST_NUMBERS:
        raise ValueError(f"give describe(observation) -> text: {space} has {size} numbers, too many to write out")


def _numbers_in(space: spaces.Space[Any]) -> int:
    if isinstance(space, spaces.Dict):
        return sum(_numbers_in(part) for part in space.values())
    if isinstance(space, spaces.Tuple):
        return sum(_numbers_in(part) for part in space)
    return int(np.prod(space.shape)) if space.shape else 1


def write_out(space: spaces.Space[Any], observation: Any) -> str:
    """An observation of any space, with its numbers written out.

    >>> write_out(spaces.Discrete(16), 5)
    'state 5 of 0 to 15'
    """
    if isinstance(space, spaces.Dict):
        return "; ".join(f"{name}: {write_out(part, observation[name])}" for name, part in space.items())
    if isinstance(space, spaces.Tuple):
        return "; ".join(write_out(part, value) for part, value in zip(space, observation, strict=True))
    if isinstance(space, spaces.Discrete):
        return f"state {int(observation)} of {int(space.start)} to {int(space.start + space.n) - 1}"
    if isinstance(observation, np.ndarray):
        return " ".join(f"{number:.6g}" for number in observation.ravel().tolist())
    return str(observation)
