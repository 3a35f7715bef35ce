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
        self._home: str | None = None
        self._last = ""
        self._options: frozenset[str] = frozenset()

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action.

        Raises:
            ValueError: the goal's sentence is none of ALFWorld's.
        """
        if _OPENING in observation or self._task is None:
            self.reset()
            self._task = read_task(info["goal"])
            self._receptacles = _LISTED.findall(observation)
        elif not (info.get("gate") or {}).get("withheld"):  # what a gate withheld was not done
            self._learn(observation)
        self._options = frozenset(info["admissible_actions"])
        self._last = self._decide(self._task)
        return self._last

    def _learn(self, observation: str) -> None:
        """Take in what the last action led to."""
        match = _COMMAND.match(self._last)
        if match is None or observation.startswith("Nothing happens"):
            return
        verb, thing, receptacle = match["verb"], match["thing"], match["receptacle"]
        if verb in ("go to", "open", "examine"):
            if "you see" in observation:
                self._contents[receptacle] = set(_LISTED.findall(observation.partition("you see")[2]))
        elif verb == "take":
            self._held = thing
            self._contents[receptacle].discard(thing)
        elif verb in _APPLIANCES:
            self._changed.add(thing)
        else:
            self._contents.setdefault(receptacle, set()).add(thing)
            self._home, self._held = receptacle, None

    def _decide(self, task: Task) -> str:
        if self._held is None:
            return self._get(task)
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
            step = self._reach(receptacle)
            if step is not None:
                return step
            for command in (f"move {held} to {receptacle}", f"put {held} in/on {receptacle}"):
                if command in self._options:
                    return command
            self._refused.add(receptacle)
        return _IDLE

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
