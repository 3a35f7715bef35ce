"""The text-environment contract: what `info` carries, and a space for text that is never damaged.

| key | type | meaning |
|---|---|---|
| ``goal`` | str | the instruction |
| ``admissible_actions`` | tuple[str, ...] | every action valid now; ``()`` when open-ended (then ``action_hint``) |
| ``won`` | bool | the environment's own verdict so far |
| ``state_changed`` | bool | False exactly when the last action changed nothing |
| ``milestones`` | tuple[str, ...] | ground-truth sub-goals that the last action achieved |
| ``task_type``, ``task_id`` | str | for grouping results |
"""

import string
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

CONTRACT: dict[str, type] = {
    "goal": str,
    "admissible_actions": tuple,
    "won": bool,
    "state_changed": bool,
    "milestones": tuple,
    "task_type": str,
    "task_id": str,
}


class TextSpace(spaces.Text):
    """Any string of at most ``max_length`` characters, whatever its alphabet.

    Gymnasium's own `Text` has a fixed character set and rejects the rest, which real pages (umlauts, dashes,
    prices in euros) would not survive; samples are short printable ASCII.
    """

    def __init__(self, max_length: int = 1_000_000, seed: int | np.random.Generator | None = None):
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        length = int(self.np_random.integers(0, min(32, self.max_length) + 1))
        return "".join(self.np_random.choice(list(string.ascii_letters + string.digits + " "), size=length))

    def __repr__(self) -> str:
        return f"TextSpace({self.max_length})"


def check_action(action: Any) -> str:
    """Return ``action`` when it is a string.

    Raises:
        TypeError: it is not; the message names the value and the mend.
    """
    if not isinstance(action, str):
        raise TypeError(f"action must be a str such as 'go to desk 1', got {type(action).__name__}: {action!r}")
    return action


def contract_violations(info: Mapping[str, Any]) -> list[str]:
    """What is wrong with ``info`` as a text environment's info, one sentence a fault; empty when nothing is."""
    faults = []
    for key, kind in CONTRACT.items():
        if key not in info:
            faults.append(f"info lacks {key!r} ({kind.__name__})")
        elif not isinstance(info[key], kind):
            faults.append(f"info[{key!r}] must be {kind.__name__}, got {type(info[key]).__name__}: {info[key]!r}")
    for key in ("admissible_actions", "milestones"):
        value = info.get(key)
        if isinstance(value, tuple) and not all(isinstance(item, str) for item in value):
            faults.append(f"info[{key!r}] must hold strings, got {value!r}")
    if info.get("admissible_actions") == () and not info.get("won") and not isinstance(info.get("action_hint"), str):
        faults.append("info['admissible_actions'] is empty; an open-ended environment says the forms in 'action_hint'")
    return faults
