"""`OrderedSubgoalsActor`: the goal restated as ordered sub-goals, so that an easier one does not come first."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from agentkit.actors.telling import distribution_of, restart
from agentkit.envs.alfworld.task_sentence import read_task
from agentkit.models.chat_service import Chat, ChatRequest
from agentkit.models.failures import ServiceError

Restate: TypeAlias = Callable[[str], Sequence[str]]
"""From a goal to its sub-goals, in the order in which they must be met."""

WRITING_SYSTEM = "You plan for an agent in a text environment."
WRITING_REQUEST = (
    "Goal: {goal}\n\nRestate this goal as a short numbered list of sub-goals, in the order in which they must be met. "
    "Name what must be true after each. Add nothing that the goal does not ask for."
)
_CHANGE_ALONE = re.compile(r"(?P<verb>clean|heat|cool) some (?P<thing>[a-z]+)\.?")
_ITEM = re.compile(r"(?m)^\s*\d+[.)]\s+(.+?)\s*$")


class OrderedSubgoalsActor:
    """Plays through another actor, which sees the goal as a numbered list of sub-goals.

    Decision models put an easy sub-goal (place the mug) before one that it depends on (heat it); reminders do not mend
    that, restating the goal as ordered sub-goals does (*Actor, Judge, or Teacher?*). The list also replaces the goal
    where an observation repeats it, as ALFWorld's first one does.

    Args:
        actor: any actor; its prompt must show ``info["goal"]``.
        restate: ``goal -> sub-goals``, called once for each goal; the default understands ALFWorld's task sentences,
            and `written_subgoals` lets a chat model write them for any goal.
    """

    def __init__(self, actor: Any, restate: Restate | None = None):
        self.actor = actor
        self.restate: Restate = restate if restate is not None else alfworld_subgoals
        self._goal: str | None = None
        self._restated = ""

    @property
    def distribution(self) -> Mapping[str, float]:
        """The probability of each action at the last call, where the wrapped actor tells it."""
        return distribution_of(self.actor)

    def reset(self) -> None:
        """Forget the past; `rollout` calls it as an episode starts."""
        restart(self.actor)

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The wrapped actor's next action.

        Raises:
            ValueError: the goal cannot be restated.
        """
        return self.actor(*self._shown(observation, info))

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Tell the wrapped actor of a step that another player chose, in the words that it sees."""
        observe = getattr(self.actor, "observe", None)
        if observe is not None:
            observe(*self._shown(observation, info), action)

    def _shown(self, observation: str, info: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        goal = info.get("goal", "")
        if goal != self._goal:
            self._restated = ordered_goal(self.restate(goal))
            self._goal = goal
        shown = observation.replace(goal, self._restated) if goal else observation
        return shown, {**info, "goal": self._restated}


def ordered_goal(subgoals: Sequence[str]) -> str:
    """A goal made of sub-goals.

    Raises:
        ValueError: there is none.

    >>> print(ordered_goal(["hold a mug", "heat it"]))
    do these in order, each only after the one before is done:
    1. hold a mug
    2. heat it
    """
    if not subgoals:
        raise ValueError("restate gave no sub-goals; it must give at least one")
    lines = [f"{i}. {subgoal}" for i, subgoal in enumerate(subgoals, start=1)]
    return "\n".join(["do these in order, each only after the one before is done:", *lines])


def alfworld_subgoals(goal: str) -> list[str]:
    """The sub-goals of one of ALFWorld's task sentences, or of one that asks for a change alone.

    Raises:
        ValueError: the goal is none of them.

    >>> alfworld_subgoals("put a hot mug in shelf.")
    ['find and take a mug', 'heat the mug with a microwave', 'put the mug in/on a shelf']
    >>> alfworld_subgoals("heat some mug.")
    ['find and take a mug', 'heat the mug with a microwave']
    """
    alone = _CHANGE_ALONE.fullmatch(goal.strip())
    if alone:
        return [f"find and take a {alone['thing']}", _change(alone["verb"], alone["thing"])]
    task = read_task(goal)
    thing, put = task.thing, f"put the {task.thing} in/on a {task.place}"
    if task.examine:
        return [f"find and take a {thing}", f"find a {task.place}", f"use the {task.place} while holding the {thing}"]
    if task.count == 2:
        return [f"find and take a {thing}", put, f"find and take a second {thing}", put.replace("the", "the second", 1)]
    change = [_change(task.verb, thing)] if task.verb is not None else []
    return [f"find and take a {thing}", *change, put]


def _change(verb: str, thing: str) -> str:
    tools = {"heat": "a microwave", "cool": "a fridge", "clean": "a sinkbasin"}
    return f"{verb} the {thing} with {tools[verb]}"


def written_subgoals(chat: Chat, max_tokens: int = 200) -> Restate:
    """Lets a chat model write the sub-goals.

    The function that is returned raises ValueError when the reply holds no numbered list.
    """

    def restate(goal: str) -> list[str]:
        messages = (
            {"role": "system", "content": WRITING_SYSTEM},
            {"role": "user", "content": WRITING_REQUEST.format(goal=goal)},
        )
        reply = chat([ChatRequest(messages, max_tokens)])[0]
        if isinstance(reply, ServiceError):
            raise ValueError(f"the goal {goal!r} could not be restated: {reply.reason}")
        subgoals = _ITEM.findall(reply.text)
        if not subgoals:
            raise ValueError(f"the goal {goal!r} could not be restated: no numbered list in {reply.text[:80]!r}")
        return subgoals

    return restate
