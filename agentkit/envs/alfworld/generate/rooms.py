"""Rooms: the shipped layout, completed with the receptacles that it leaves out."""

import math
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from random import Random

from attrs import evolve, field, frozen

from agentkit.envs.alfworld.generate.figures import DRAW, MISSING, ON_A_COUNTER, ON_THE_FLOOR, STANDS
from agentkit.envs.alfworld.generate.package_data import Layout, affordances, load_layout, mangle, room_numbers

ROOM_TYPES = {0: "Kitchen", 2: "LivingRoom", 3: "Bedroom", 4: "Bathroom"}  # by hundreds of the room number
_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # what is ahead at 0, 90, 180 and 270 degrees, as (x, z)


@frozen
class Pose:
    """Where the agent stands: x and z in steps of 0.25 m, rotation in quarter turns, camera horizon in degrees."""

    x: int = field()
    z: int = field()
    rotation: int = field()
    horizon: int = field()

    @property
    def location(self) -> str:
        """The PDDL location of this pose."""
        return mangle(f"loc|{self.x}|{self.z}|{self.rotation}|{self.horizon}")


@frozen
class Receptacle:
    """A place that objects lie in or on."""

    id: str = field()  # PDDL id
    kind: str = field()
    position: tuple[float, float, float] = field()  # x, height, z in metres
    location: str = field()  # PDDL location from which an agent reaches it
    openable: bool = field()


@frozen
class Places:
    """Receptacles in which an object may lie at the start, with cumulative weights for ``random.choices``."""

    receptacles: tuple[Receptacle, ...] = field()
    cumulative: tuple[float, ...] = field()

    def draw(self, rng: Random) -> Receptacle:
        """One receptacle, drawn by weight."""
        return rng.choices(self.receptacles, cum_weights=self.cumulative)[0]


@frozen
class Room:
    """One of the 120 ALFRED rooms."""

    number: int = field()
    type: str = field()
    receptacles: tuple[Receptacle, ...] = field()
    object_kinds: tuple[str, ...] = field()  # kinds of objects that belong here, sorted
    floor: tuple[tuple[int, int], ...] = field()  # where an agent can stand, in steps of 0.25 m
    walls: tuple[Pose, ...] = field()  # standing points that face a wall or a piece of furniture
    places: Mapping[str, Places] = field()  # object kind -> where one may lie; kinds with no place are absent

    @property
    def receptacle_kinds(self) -> frozenset[str]:
        """Kinds of receptacles in the room."""
        return frozenset(receptacle.kind for receptacle in self.receptacles)


def thing_id(kind: str, position: tuple[float, float, float]) -> str:
    """The PDDL id of a thing at ``position`` (metres): its AI2-THOR id, mangled.

    >>> thing_id("SinkBasin", (1.0, 0.9, -2.0))
    'Sink_bar__plus_01_dot_00_bar__plus_00_dot_90_bar__minus_02_dot_00_bar_SinkBasin'
    """
    where = "|".join(f"{value:+06.2f}" for value in position)
    base = kind.removesuffix("Basin")
    return mangle(f"{base}|{where}" if base == kind else f"{base}|{where}|{kind}")


@cache
def load_room(number: int) -> Room:
    """Room ``number``, the same at every call: what the layout leaves out is drawn from the room's own seed."""
    layout = load_layout(number)
    rng = Random(f"room {number}")
    walls = _walls(layout.floor)
    shipped = [_shipped(name, pose) for name, pose in layout.poses.items()]
    receptacles = (*shipped, *_missing(layout, shipped, walls, rng))
    kinds = tuple(kind for kind in affordances().objects if kind in layout.kinds)
    return Room(
        number=number,
        type=ROOM_TYPES[number // 100],
        receptacles=tuple(sorted(receptacles, key=lambda each: each.id)),
        object_kinds=kinds,
        floor=layout.floor,
        walls=walls,
        places={kind: places for kind in kinds if (places := _places(kind, receptacles)) is not None},
    )


def _shipped(name: str, pose: tuple[float, float, float, float]) -> Receptacle:
    kind, x, height, z, *rest = name.split("|")
    kind = rest[0] if rest else kind
    where = Pose(round(pose[0] / 0.25), round(pose[1] / 0.25), round(pose[2] / 90) % 4, round(pose[3]))
    return _receptacle(mangle(name), kind, (float(x), float(height), float(z)), where.location)


def _receptacle(name: str, kind: str, position: tuple[float, float, float], location: str) -> Receptacle:
    return Receptacle(name, kind, position, location, kind in affordances().openable)


def _walls(floor: tuple[tuple[int, int], ...]) -> tuple[Pose, ...]:
    free = set(floor)
    return tuple(
        Pose(x, z, turn, 30)
        for x, z in floor
        for turn, (step_x, step_z) in enumerate(_STEPS)
        if (x + step_x, z + step_z) not in free
    )


def spot(walls: tuple[Pose, ...], height: float, horizon: int, rng: Random) -> tuple[tuple[float, float, float], Pose]:
    """A seeded position (metres) at a wall, and the pose that faces it."""
    pose = evolve(rng.choice(walls), horizon=horizon)
    ahead_x, ahead_z = _STEPS[pose.rotation]
    ahead, aside = rng.uniform(0.4, 0.8), rng.uniform(-0.12, 0.12)
    x = pose.x * 0.25 + ahead * ahead_x + aside * ahead_z
    z = pose.z * 0.25 + ahead * ahead_z + aside * ahead_x
    return (round(x, 2), round(height + rng.uniform(0, 0.05), 2), round(z, 2)), pose


def _missing(layout: Layout, shipped: list[Receptacle], walls: tuple[Pose, ...], rng: Random) -> list[Receptacle]:
    present = {each.kind for each in shipped}
    counters = [each for each in shipped if each.kind == "CounterTop"]
    made: dict[str, Receptacle] = {}
    for kind, (counts, height, horizon) in MISSING.items():
        wanted = rng.choice(counts) if kind in layout.kinds and kind not in present else 0
        while wanted:
            if counters and kind in ON_A_COUNTER:
                counter = rng.choice(counters)
                position, location = around(counter, rng), counter.location
            else:
                position, pose = spot(walls, height, horizon, rng)
                location = pose.location
            name = thing_id(kind, position)
            if name not in made:
                made[name] = _receptacle(name, kind, position, location)
                wanted -= 1
    return list(made.values())


def around(receptacle: Receptacle, rng: Random) -> tuple[float, float, float]:
    """A seeded position (metres) in or on ``receptacle``."""
    x, height, z = receptacle.position
    return x + rng.uniform(-0.3, 0.3), height + rng.uniform(0, 0.1), z + rng.uniform(-0.3, 0.3)


def _places(kind: str, receptacles: tuple[Receptacle, ...]) -> Places | None:
    if kind in ON_THE_FLOOR:
        return None
    contains, stands = affordances().contains, STANDS.get(kind, ())
    fitting = [each for each in receptacles if each.kind in stands or kind in contains.get(each.kind, ())]
    return weighted(fitting) if fitting else None


def weighted(receptacles: list[Receptacle], closed: float = 1.0) -> Places:
    """The receptacles as `Places`: a kind that occurs n times draws ``DRAW * sqrt(n)``, shared evenly.

    ``closed`` is a factor on the weights of those that start closed.
    """
    ordered = tuple(sorted(receptacles, key=lambda each: each.id))
    number = Counter(each.kind for each in ordered)
    factor = {True: closed, False: 1.0}
    weights = (DRAW[each.kind] * factor[each.openable] / math.sqrt(number[each.kind]) for each in ordered)
    return Places(ordered, tuple(accumulate(weights)))


def check_rooms(rooms: tuple[int, ...]) -> None:
    """Raise ValueError if a room is not among the shipped layouts, or none is given."""
    if not rooms:
        raise ValueError("rooms is empty; leave it out for all rooms of the split, or name at least one")
    unknown = [room for room in rooms if room not in room_numbers()]
    if unknown:
        raise ValueError(
            f"rooms holds {unknown[0]!r}, which alfworld ships no layout for; "
            "use 1-30 (kitchens), 201-230 (living rooms), 301-330 (bedrooms) or 401-430 (bathrooms)"
        )
