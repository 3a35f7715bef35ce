"""Which tasks a room allows, and how to draw one."""

from collections.abc import Mapping
from functools import cache
from random import Random
from types import MappingProxyType

from attrs import field, frozen

from agentkit.envs.alfworld.generate.figures import FIXED
from agentkit.envs.alfworld.generate.package_data import affordances
from agentkit.envs.alfworld.generate.rooms import Receptacle, Room, load_room
from agentkit.envs.alfworld.world import TASK_TYPES

DIFFICULTIES = ("easy", "medium", "hard")
LAMP = "DeskLamp"  # the only lamp that stands on furniture, so the only one a task can switch on

# What a clean, heat or cool task needs: (ability of the object, kind of receptacle that changes it, verb).
CHANGES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "pick_clean_then_place_in_recep": ("cleanable", "SinkBasin", "clean"),
        "pick_heat_then_place_in_recep": ("heatable", "Microwave", "heat"),
        "pick_cool_then_place_in_recep": ("coolable", "Fridge", "cool"),
    }
)
# Room types per task type: alfworld's GOALS_VALID, less the pairs that need an appliance the room lacks anyway.
_ROOM_TYPES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "look_at_obj_in_light": frozenset({"LivingRoom", "Bedroom"}),
        "pick_clean_then_place_in_recep": frozenset({"Kitchen", "Bathroom"}),
    }
)
# Receptacles that no real goal names, and those that hold one object, which no real pick-two goal names.
_NEVER_GOALS = frozenset(
    ("BathtubBasin", "HandTowelHolder", "LaundryHamper", "SinkBasin", "TVStand", "Toaster", "TowelHolder")
)
_HOLDS_ONE = frozenset(("CoffeeMachine", "StoveBurner", "ToiletPaperHanger"))


@frozen
class Task:
    """One task in one room."""

    type: str = field()
    object_kind: str = field()
    goal_kind: str = field()  # receptacle kind to place the object in; "" for a look task
    room: Room = field()

    @property
    def lamp_kind(self) -> str:
        """The lamp to use, "" where the task needs none."""
        return LAMP if self.type == "look_at_obj_in_light" else ""

    @property
    def needed(self) -> int:
        """How many objects have to be placed or held."""
        return 2 if self.type == "pick_two_obj_and_place" else 1

    @property
    def folder(self) -> str:
        """The name that ALFRED gives the folder of such tasks."""
        return f"{self.type}-{self.object_kind}-None-{self.goal_kind or self.lamp_kind}-{self.room.number}"


def starting_places(task_type: str, kind: str, goal_kind: str, room: Room, difficulty: str) -> list[Receptacle]:
    """Where an object of the task may lie at the start, so that the task is neither done nor half done.

    ``easy``: in the open only; ``hard``: in closed receptacles only; ``medium``: anywhere.
    """
    places = room.places.get(kind)
    change = CHANGES.get(task_type)
    # A cold object would be half of a cool task done; heat and clean leave no mark on an object that lies there.
    barred = {goal_kind, "Fridge"} if change and change[2] == "cool" else {goal_kind}
    allowed = [each for each in (places.receptacles if places else ()) if each.kind not in barred]
    if difficulty == "medium":
        return allowed
    return [each for each in allowed if each.openable == (difficulty == "hard")]


@cache
def possible_goals(task_type: str, number: int, difficulty: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Object kinds that the task can be about in room ``number``, each with the receptacle kinds it can go to.

    Look tasks have the one receptacle kind "". Empty when the room doesn't allow the task.
    """
    room, change = load_room(number), CHANGES.get(task_type)
    kinds = room.receptacle_kinds
    if room.type not in _ROOM_TYPES.get(task_type, frozenset({room.type})) or (change and change[1] not in kinds):
        return ()
    if task_type == "look_at_obj_in_light":
        if LAMP not in room.places:
            return ()
        goals_of = dict.fromkeys(room.object_kinds, ("",))
    else:
        goals_of = {kind: _goal_kinds(task_type, kind, kinds) for kind in room.object_kinds}
    found = (
        (kind, tuple(goal for goal in goals if starting_places(task_type, kind, goal, room, difficulty)))
        for kind, goals in goals_of.items()
        if kind not in FIXED and (change is None or kind in affordances().abilities[change[0]])
    )
    return tuple((kind, goals) for kind, goals in found if goals)


def _goal_kinds(task_type: str, kind: str, present: frozenset[str]) -> tuple[str, ...]:
    change = CHANGES.get(task_type)
    barred = _NEVER_GOALS | (_HOLDS_ONE if task_type == "pick_two_obj_and_place" else frozenset())
    barred |= {change[1]} if change else frozenset()
    contains = affordances().contains
    return tuple(goal for goal in sorted(present - barred) if kind in contains.get(goal, ()))


def draw_task(task_type: str, rooms: tuple[int, ...], difficulty: str, rng: Random) -> Task:
    """A task of ``task_type`` in one of ``rooms``, each of which must allow it: room, object and receptacle in turn."""
    number = rng.choice(rooms)
    kind, goals = rng.choice(possible_goals(task_type, number, difficulty))
    return Task(task_type, kind, rng.choice(goals), load_room(number))


def rooms_by_task(task_types: tuple[str, ...], rooms: tuple[int, ...], difficulty: str) -> dict[str, tuple[int, ...]]:
    """For each task type the rooms that allow it; task types that none allows map to ()."""
    return {
        task_type: tuple(number for number in rooms if possible_goals(task_type, number, difficulty))
        for task_type in task_types
    }


def check_task_types(task_types: tuple[str, ...]) -> None:
    """Raise ValueError if a task type is unknown, or none is given."""
    if not task_types:
        raise ValueError("task_types is empty; leave it out for all six, or name at least one")
    unknown = [task_type for task_type in task_types if task_type not in TASK_TYPES]
    if unknown:
        raise ValueError(f"task_types holds {unknown[0]!r}; the task types are {', '.join(TASK_TYPES)}")
