"""Where the objects lie: one seeded scene for one task."""

from collections.abc import Iterator
from random import Random

from attrs import evolve, field, frozen

from agentkit.envs.alfworld.generate.figures import (
    CLOSED_TARGET,
    COUNTS,
    FIXED,
    INSIDE_A_CONTAINER,
    LOOSE,
    SIGHT,
    TARGETS_BEYOND_NEED,
)
from agentkit.envs.alfworld.generate.package_data import affordances
from agentkit.envs.alfworld.generate.rooms import Places, Pose, Receptacle, Room, around, spot, thing_id, weighted
from agentkit.envs.alfworld.generate.tasks import CHANGES, Task, starting_places


@frozen
class Item:
    """An object of the scene."""

    id: str = field()  # PDDL id
    kind: str = field()
    location: str = field()  # PDDL location
    receptacle: Receptacle | None = field(default=None)  # None: on the floor or on a wall
    container: str = field(default="")  # id of the bowl, box, ... it lies inside, "" for none


@frozen
class Scene:
    """A task with everything in the room in its place."""

    task: Task = field()
    start: str = field()  # PDDL location of the agent
    items: tuple[Item, ...] = field()  # sorted by id

    @property
    def targets(self) -> tuple[Item, ...]:
        """The objects that the task can be done with."""
        return tuple(item for item in self.items if item.kind == self.task.object_kind)


class _Scatterer:
    """Places objects one by one and keeps their ids apart."""

    def __init__(self, room: Room, rng: Random) -> None:
        self.room, self.rng = room, rng
        self.items: dict[str, Item] = {}

    def put(self, kind: str, places: Places) -> None:
        """Lay one object of ``kind`` into one of ``places``."""
        receptacle = places.draw(self.rng)
        while True:
            name = thing_id(kind, around(receptacle, self.rng))
            if name not in self.items:
                self.items[name] = Item(name, kind, receptacle.location, receptacle)
                return

    def hang(self, kind: str) -> None:
        """Put one object of ``kind`` on the floor or on a wall."""
        height, horizon = SIGHT.get(kind, (0.9, 45))
        while True:
            position, pose = spot(self.room.walls, height, horizon, self.rng)
            name = thing_id(kind, position)
            if name not in self.items:
                self.items[name] = Item(name, kind, pose.location)
                return

    def frame(self, kind: str, basin: Receptacle) -> None:
        """The sink or bathtub around a basin: an object at the basin's place that nothing can be done with."""
        name = basin.id.removesuffix(f"_bar_{basin.kind}")
        self.items[name] = Item(name, kind, basin.location)

    def add(self, kind: str, count: int, loose: float) -> None:
        """Put ``count`` objects of ``kind`` where such objects are found, or on the floor with chance ``loose``."""
        places = self.room.places.get(kind)
        for _ in range(count):
            if places is None or self.rng.random() < loose:
                self.hang(kind)
            else:
                self.put(kind, places)


def scatter(task: Task, rng: Random, difficulty: str, distractors: int | None) -> Scene:
    """Lay out the room for ``task``.

    ``distractors`` is the number of objects that can be picked up and that the task is not about; None draws one to
    three of each kind that belongs in the room, as in the real games.
    """
    scatterer = _Scatterer(task.room, rng)
    _add_targets(scatterer, task, difficulty)
    for kind in task.room.object_kinds:
        if kind in FIXED:
            _add_fixed(scatterer, kind)
    others = [kind for kind in task.room.object_kinds if kind not in FIXED and kind != task.object_kind]
    for kind, count in _counts(others, rng, distractors):
        scatterer.add(kind, count, LOOSE[task.room.type])
    items = tuple(sorted(scatterer.items.values(), key=lambda item: item.id))
    return Scene(task, _start(task.room, items, rng), _nest(items, task, rng))


def _add_targets(scatterer: _Scatterer, task: Task, difficulty: str) -> None:
    allowed = starting_places(task.type, task.object_kind, task.goal_kind, task.room, difficulty)
    places = weighted(allowed, CLOSED_TARGET)
    for _ in range(task.needed + (2 if difficulty == "easy" else 0)):
        scatterer.put(task.object_kind, places)
    if difficulty == "medium":
        # A spare that still has to be cleaned, heated or cooled may lie at the goal already: real games set that trap.
        goal_kind = "" if task.type in CHANGES else task.goal_kind
        allowed = starting_places(task.type, task.object_kind, goal_kind, task.room, difficulty)
        anywhere = weighted(allowed, CLOSED_TARGET)
        for _ in range(scatterer.rng.choice(TARGETS_BEYOND_NEED)):
            scatterer.put(task.object_kind, anywhere)


def _add_fixed(scatterer: _Scatterer, kind: str) -> None:
    basins = [each for each in scatterer.room.receptacles if each.kind == f"{kind}Basin"]
    for basin in basins:
        scatterer.frame(kind, basin)
    if not basins:
        scatterer.add(kind, scatterer.rng.choice(COUNTS.get(kind, (1,))), loose=0.0)


def _counts(kinds: list[str], rng: Random, distractors: int | None) -> Iterator[tuple[str, int]]:
    if distractors is None:
        yield from ((kind, rng.choice(COUNTS.get(kind, (1, 2, 3)))) for kind in kinds)
    elif kinds:
        drawn = rng.choices(kinds, k=distractors)
        yield from ((kind, drawn.count(kind)) for kind in kinds)


def _start(room: Room, items: tuple[Item, ...], rng: Random) -> str:
    # At a receptacle the game would open with "You are facing ..." instead of the list of receptacles.
    taken = {each.location for each in room.receptacles} | {item.location for item in items}
    while True:
        x, z = rng.choice(room.floor)
        location = Pose(x, z, rng.randrange(4), 30).location
        if location not in taken:
            return location


def _nest(items: tuple[Item, ...], task: Task, rng: Random) -> tuple[Item, ...]:
    movable, contains = affordances().movable, affordances().contains
    holders: dict[str, list[Item]] = {}
    for item in items:
        if item.receptacle is not None and item.kind in movable:
            holders.setdefault(item.receptacle.id, []).append(item)
    nested = []
    for item in items:
        around = holders.get(item.receptacle.id, []) if item.receptacle is not None else []
        fitting = [each for each in around if item.kind in contains[each.kind] and item.kind not in movable]
        inside = fitting and item.kind != task.object_kind and rng.random() < INSIDE_A_CONTAINER
        nested.append(evolve(item, container=fitting[0].id) if inside else item)
    return tuple(nested)
