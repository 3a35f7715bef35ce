"""`HastyActor`: an actor that meets the easier sub-goal of an ALFWorld task first, and has to repair it."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.actors.telling import restart, tell
from agentkit.envs.alfworld.task_sentence import Task, read_task


class HastyActor:
    """Plays as another actor does, but places the object once before it has been changed.

    That is the mistake of the decision models in *Actor, Judge, or Teacher?* (seeds/000): as soon as it holds an object
    that is to be clean, hot or cool, it brings it to the destination and puts it down there. Then the wrapped actor
    goes on, which makes episodes with a premature placement, a repair and the prerequisite that was skipped. Tasks
    without a change are played as they are.

    Args:
        actor: any actor that recovers, such as both kinds of `ExpertActor`; what was done in its place it learns
            through ``observe(observation, info, action)``, where it has that method.
    """

    def __init__(self, actor: Callable[[str, Mapping[str, Any]], str]):
        self.actor = actor
        self._placed = False

    def reset(self) -> None:
        """Start an episode; `rollout` calls it."""
        restart(self.actor)
        self._placed = False

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action.

        Raises:
            ValueError: the goal is none of ALFWorld's.
        """
        action = self._hasty(read_task(info["goal"]), info["admissible_actions"])
        if action is None:
            return self.actor(observation, info)
        self.observe(observation, info, action)
        return action

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Tell the wrapped actor of a step that it did not choose."""
        tell(self.actor, observation, info, action)

    def _hasty(self, task: Task, actions: tuple[str, ...]) -> str | None:
        """The next action toward placing the object too early; None when that is not on."""
        # What can be examined by its own name is in hand.
        holding = _first(rf"examine {task.thing} \d+", actions) is not None
        if self._placed or task.verb is None or not holding:
            return None
        put = _first(rf"(move {task.thing} \d+ to|put {task.thing} \d+ in/on) {task.place} \d+", actions)
        on_the_way = _first(rf"open {task.place} \d+", actions) or _first(rf"go to {task.place} \d+", actions)
        self._placed = put is not None or on_the_way is None
        return put or on_the_way


def _first(pattern: str, actions: tuple[str, ...]) -> str | None:
    return next((action for action in actions if re.fullmatch(pattern, action)), None)
