"""`ScriptedEnv`: a tiny deterministic text environment whose every state is written down."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs
import gymnasium as gym
from gymnasium.error import ResetNeeded

from agentkit.envs.contract import TextSpace, check_action

ENV_ID = "agentkit-testing/Scripted-v0"

NOTHING_HAPPENS = "Nothing happens."

GEM_GOAL = "take the gem out of the chest"

GEM_STATES: Mapping[str, Any] = MappingProxyType(
    {
        "hall": {
            "observation": "You are in a hall. You see a key and a locked chest.",
            "actions": {
                "look": "hall",
                "take key": {"to": "key in hand", "milestones": ["take"]},
            },
        },
        "key in hand": {
            "observation": "You hold the key. The chest is locked.",
            "actions": {
                "look": "key in hand",
                "drop key": "hall",
                "unlock chest": {"to": "chest open", "milestones": ["unlock"]},
            },
        },
        "chest open": {
            "observation": "The chest is open. A gem lies in it.",
            "actions": {
                "look": "chest open",
                "lock chest": "key in hand",
                "take gem": {"to": "gem in hand", "reward": 1.0, "milestones": ["gem"]},
            },
        },
        "gem in hand": {"observation": "You hold the gem. Well done!", "won": True},
    }
)
"""The task of ``ScriptedEnv()``. Its shortest solution is "take key", "unlock chest", "take gem"."""

_STATE_KEYS = ("observation", "actions", "won", "lost")
_ACTION_KEYS = ("to", "reward", "observation", "milestones")


@attrs.frozen
class Snapshot:
    """A moment of an episode, for `ScriptedEnv.restore`. Picklable."""

    state: str
    observation: str
    state_changed: bool = True
    milestones: tuple[str, ...] = ()
    elapsed: int = 0
    ended: bool = False


class ScriptedEnv(gym.Env[str, str]):
    """A text environment that follows the contract and does exactly what its script says.

    ``states`` maps the name of a state to what is true there; an episode starts in the first one::

        {"start": {"observation": "A door.", "actions": {"open door": {"to": "end", "reward": 1.0}, "look": "start"}},
         "end": {"observation": "You are out.", "won": True}}

    A state has an ``observation``, ``actions`` (the admissible ones) and, where the episode ends, ``won`` or ``lost``.
    An action leads to a state, given by its name or as ``{"to": name, "reward": 0.0, "observation": text,
    "milestones": [...]}``; the observation is that of the state it leads to unless it has its own. Any other action is
    answered with "Nothing happens." and changes nothing. ``info["state_changed"]`` is False when the state stayed the
    same. All arguments are JSON values, so a spec with them survives JSON. The id `ENV_ID` is registered.

    Args:
        states: the script; None = a task of three steps, `GEM_STATES`.
        goal: the instruction; None = that of `GEM_STATES`, or "" with a script of one's own.
        max_steps: actions after which the episode is truncated, at least 1.
        task_type: reported in info.
        task_id: reported in info.

    Raises:
        ValueError: the script is not of this form; the message names the state and the action.

    >>> env = ScriptedEnv()
    >>> observation, info = env.reset(seed=0)
    >>> info["admissible_actions"]
    ('look', 'take key')
    >>> env.step("take key")[0]
    'You hold the key. The chest is locked.'
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own attribute

    def __init__(
        self,
        states: Mapping[str, Any] | None = None,
        goal: str | None = None,
        max_steps: int = 20,
        task_type: str = "scripted",
        task_id: str = "scripted-0",
    ):
        if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
            raise ValueError(f"max_steps must be a whole number of at least 1, got {max_steps!r}")
        # A plain copy: a mapping proxy, as `GEM_STATES` is, does not pickle.
        self._states: dict[str, Any] = dict(GEM_STATES if states is None else states)
        _check_script(self._states)
        self._goal = (GEM_GOAL if states is None else "") if goal is None else goal
        self._max_steps = max_steps
        self._task = {"task_type": task_type, "task_id": task_id}
        self._moment: Snapshot | None = None
        self.observation_space = TextSpace()
        self.action_space = TextSpace()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start again in the first state; the seed changes nothing."""
        super().reset(seed=seed)
        first = next(iter(self._states))
        self._moment = Snapshot(first, self._states[first]["observation"])
        return self._moment.observation, self._info(self._moment)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do one action.

        Raises:
            TypeError: the action is not a str.
            ResetNeeded: the episode has not begun, or has ended.
        """
        check_action(action)
        last = self._running()
        outcome = self._outcome(last.state, action)
        state = self._states[outcome["to"]]
        ended = bool(state.get("won") or state.get("lost"))
        truncated = not ended and last.elapsed + 1 >= self._max_steps
        self._moment = Snapshot(
            outcome["to"],
            outcome.get("observation", state["observation"]),
            state_changed=outcome["to"] != last.state,
            milestones=tuple(outcome.get("milestones", ())),
            elapsed=last.elapsed + 1,
            ended=ended or truncated,
        )
        return self._moment.observation, float(outcome.get("reward", 0.0)), ended, truncated, self._info(self._moment)

    def snapshot(self) -> Snapshot:
        """This moment of the episode, for `restore`.

        Raises:
            ResetNeeded: no episode was started.
        """
        if self._moment is None:
            raise ResetNeeded("there is nothing to take a snapshot of; call reset() first")
        return self._moment

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """Go back to a snapshot, and return its observation and info.

        Raises:
            ValueError: the snapshot's state is not in this script.
        """
        if snapshot.state not in self._states:
            raise ValueError(f"snapshot is of state {snapshot.state!r}, which this script does not have")
        self._moment = snapshot
        return snapshot.observation, self._info(snapshot)

    def _running(self) -> Snapshot:
        if self._moment is None:
            raise ResetNeeded("the episode has not begun; call reset() before step()")
        if self._moment.ended:
            raise ResetNeeded("the episode is over; call reset() before the next step()")
        return self._moment

    def _outcome(self, state: str, action: str) -> Mapping[str, Any]:
        outcome = self._states[state].get("actions", {}).get(action)
        if outcome is None:
            return {"to": state, "observation": NOTHING_HAPPENS}
        return {"to": outcome} if isinstance(outcome, str) else outcome

    def _info(self, moment: Snapshot) -> dict[str, Any]:
        state = self._states[moment.state]
        return {
            "goal": self._goal,
            "admissible_actions": tuple(state.get("actions", ())),
            "won": bool(state.get("won", False)),
            "state_changed": moment.state_changed,
            "milestones": moment.milestones,
            # A lost episode has no action left, which the contract allows only beside a hint.
            "action_hint": "" if state.get("actions") else "the episode is over",
            **self._task,
        }


def _check_script(states: Mapping[str, Any]) -> None:
    if not states:
        raise ValueError("states is empty; give at least one state")
    for name, state in states.items():
        if not isinstance(state, Mapping) or not isinstance(state.get("observation"), str):
            raise ValueError(f"state {name!r} must be a mapping with an 'observation' (str), got {state!r}")
        unknown = set(state) - set(_STATE_KEYS)
        if unknown:
            raise ValueError(f"state {name!r} has the unknown key {min(unknown)!r}; known: {', '.join(_STATE_KEYS)}")
        if not state.get("actions") and not state.get("won") and not state.get("lost"):
            raise ValueError(f"state {name!r} has no actions; give it some, or end the episode with 'won' or 'lost'")
        for action, outcome in state.get("actions", {}).items():
            _check_outcome(f"action {action!r} of state {name!r}", outcome, states)


def _check_outcome(where: str, outcome: Any, states: Mapping[str, Any]) -> None:
    target = outcome if isinstance(outcome, str) else outcome.get("to") if isinstance(outcome, Mapping) else None
    if target not in states:
        raise ValueError(f"{where} leads to {target!r}, which is no state; known: {', '.join(states)}")
    unknown = set() if isinstance(outcome, str) else set(outcome) - set(_ACTION_KEYS)
    if unknown:
        raise ValueError(f"{where} has the unknown key {min(unknown)!r}; known: {', '.join(_ACTION_KEYS)}")


if ENV_ID not in gym.registry:
    gym.register(
        ENV_ID,
        entry_point="agentkit.testing.scripted_env:ScriptedEnv",
        order_enforce=False,
        disable_env_checker=True,
    )
