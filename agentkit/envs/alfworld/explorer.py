"""An expert that knows only what an agent has been shown: it searches, remembers, and does the task step by step."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from agentkit.envs.alfworld.task_sentence import Task, read_task
from agentkit.envs.alfworld.usual_places import search_rank

_OPENING = "Your task is to: "
_COMMAND = re.compile(
    r"(?P<verb>go to|open|examine|take|clean|heat|cool|move|put) "
    r"(?:(?P<thing>\w+ \d+) (?:from|with|to|in/on) )?(?P<receptacle>\w+ \d+)$"
)
_LISTED = re.compile(r"\ban? ([a-z]+ \d+)")
_APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
_IDLE = "look"


class Explorer:
    """Plays from the texts and the admissible actions alone.

    It visits receptacles where such an object usually is, opens those that are closed, takes the first object that will
    do, changes it at the appliance that does so, and puts it into the first receptacle that takes it (two objects into
    the same one). An opening text starts a new episode.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the episode."""
        self._task: Task | None = None
        self._receptacles: list[str] = []
        self._contents: dict[str, set[str]] = {}  # of every receptacle whose inside was seen
        self._refused: set[str] = set()
        self._changed: set[str] = set()
        self._held: str | None = None
        self._origin = ""  # where the object in hand was taken from
        self._home: str | None = None
        self._last = ""
        self._options: frozenset[str] = frozenset()

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action.

        Raises:
            ValueError: the goal's sentence is none of ALFWorld's.
        """
        task = self._see(observation, info)
        self._last = self._decide(task)
        return self._last

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Take in a step that another player chose."""
        self._see(observation, info)
        self._last = action

    def _see(self, observation: str, info: Mapping[str, Any]) -> Task:
        if _OPENING in observation or self._task is None:
            self.reset()
            self._task = read_task(info["goal"])
            self._receptacles = _LISTED.findall(observation)
        elif not (info.get("gate") or {}).get("withheld"):  # what a gate withheld was not done
            self._learn(observation, self._task)
        self._options = frozenset(info["admissible_actions"])
        return self._task

    def _learn(self, observation: str, task: Task) -> None:
        """Take in what the last action led to."""
        match = _COMMAND.match(self._last)
        if match is None or observation.startswith("Nothing happens"):
            return
        verb, thing, receptacle = match["verb"], match["thing"], match["receptacle"]
        if verb in ("go to", "open", "examine"):
            if "you see" in observation and receptacle in self._receptacles:  # a bowl in hand can be examined too
                self._contents[receptacle] = set(_LISTED.findall(observation.partition("you see")[2]))
        elif verb == "take":
            self._held, self._origin = thing, receptacle
            self._contents.setdefault(receptacle, set()).discard(thing)
        elif verb == task.verb:
            self._changed.add(thing)
        elif verb in ("heat", "cool") and task.verb != "clean":  # each undoes the other
            self._changed.discard(thing)
        elif verb in ("move", "put"):
            self._contents.setdefault(receptacle, set()).add(thing)
            self._held = None
            if _kind(thing) == task.thing and _kind(receptacle) == task.place:
                self._home = receptacle

    def _decide(self, task: Task) -> str:
        if self._held is None:
            return self._get(task)
        if _kind(self._held) != task.thing:
            return self._reach(self._origin) or self._putting(self._held, self._origin) or _IDLE
        if task.verb is not None and self._held not in self._changed:
            return self._change(self._held, task.verb)
        if task.examine:
            return self._examine(task.place)
        return self._put(self._held, task.place)

    def _get(self, task: Task) -> str:
        """Take an object of the wanted type, or search on."""
        home = self._settle_home(task) if task.count == 2 else None
        for receptacle in self._nearest_first(self._contents):
            for thing in sorted(self._contents[receptacle]):
                if _kind(thing) == task.thing and receptacle != home:
                    return self._reach(receptacle) or f"take {thing} from {receptacle}"
        return self._search(task.thing)

    def _settle_home(self, task: Task) -> str | None:
        """Where two objects are to come together: where one was put, or where one was found already."""
        if self._home is None:
            for receptacle, things in self._contents.items():
                if _kind(receptacle) == task.place and any(_kind(thing) == task.thing for thing in things):
                    self._home = receptacle
        return self._home

    def _change(self, held: str, verb: str) -> str:
        for receptacle in self._nearest_first(self._of_kind(_APPLIANCES[verb])):
            return self._go(receptacle) or f"{verb} {held} with {receptacle}"
        return _IDLE

    def _examine(self, lamp_kind: str) -> str:
        for receptacle in self._nearest_first(self._contents):
            for lamp in sorted(self._contents[receptacle]):
                if _kind(lamp) == lamp_kind:
                    return self._go(receptacle) or f"use {lamp}"
        return self._search(lamp_kind)

    def _put(self, held: str, place_kind: str) -> str:
        candidates = [self._home] if self._home is not None else self._nearest_first(self._of_kind(place_kind))
        for receptacle in candidates:
            if receptacle in self._refused:
                continue
            step = self._reach(receptacle) or self._putting(held, receptacle)
            if step is not None:
                return step
            self._refused.add(receptacle)
        return _IDLE

    def _putting(self, held: str, receptacle: str) -> str | None:
        """How to put the object down there; None when that is not possible."""
        wordings = (f"move {held} to {receptacle}", f"put {held} in/on {receptacle}")
        return next((command for command in wordings if command in self._options), None)

    def _search(self, thing_kind: str) -> str:
        """Look into the most promising receptacle whose inside was not seen."""
        unseen = [receptacle for receptacle in self._receptacles if receptacle not in self._contents]
        if not unseen:
            return _IDLE
        receptacle = min(unseen, key=lambda name: search_rank(thing_kind, _kind(name)))
        return self._reach(receptacle) or f"examine {receptacle}"

    def _reach(self, receptacle: str) -> str | None:
        """The next action on the way into a receptacle; None when it lies open before the agent."""
        command = f"open {receptacle}"
        return self._go(receptacle) or (command if command in self._options else None)

    def _go(self, receptacle: str) -> str | None:
        """How to get to a receptacle; None when the agent stands there."""
        # Receptacles can share a place, so what tells is not the last destination but what can be gone to.
        command = f"go to {receptacle}"
        return command if command in self._options else None

    def _of_kind(self, kind: str) -> list[str]:
        return [receptacle for receptacle in self._receptacles if _kind(receptacle) == kind]

    def _nearest_first(self, receptacles: Iterable[str]) -> list[str]:
        return sorted(receptacles, key=lambda receptacle: self._go(receptacle) is not None)


def _kind(name: str) -> str:
    """The type in a display name: "mug 1" is a "mug"."""
    return name.split(" ", 1)[0]
