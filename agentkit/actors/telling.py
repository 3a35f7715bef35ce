"""What an actor that wraps another one passes on to it."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Actor: TypeAlias = Callable[[str, Mapping[str, Any]], str]
"""``actor(observation, info) -> action``"""


def restart(actor: Actor) -> None:
    """Call the actor's ``reset()``, where it has one."""
    reset: Any = getattr(actor, "reset", None)
    if reset is not None:
        reset()


def distribution_of(actor: Actor) -> Mapping[str, float]:
    """The probability of each action at the actor's last call; empty where it does not tell."""
    return getattr(actor, "distribution", None) or {}


def tell(actor: Actor, observation: str, info: Mapping[str, Any], action: str) -> None:
    """Tell an actor of a step that another player chose, through its ``observe``, where it has that."""
    observe: Any = getattr(actor, "observe", None)
    if observe is not None:
        observe(observation, info, action)


def correct(actor: Actor, observation: str, info: Mapping[str, Any], action: str) -> None:
    """Tell an actor that has been asked in this state what is done instead of its choice."""
    tell(actor, observation, asked_again(info), action)


def asked_again(info: Mapping[str, Any]) -> dict[str, Any]:
    """The info of a state in which the actor's last choice was not executed, as a gate that withholds marks it."""
    return {**info, "gate": {**(info.get("gate") or {}), "withheld": True}}
