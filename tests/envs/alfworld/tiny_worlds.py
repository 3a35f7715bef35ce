"""Small worlds made by hand, for tests that need a state whose every detail is known.

Room: the agent starts at location 0, where there is nothing. Receptacles, each with its location:
counter 1 (1), coffeemachine 1 (2), microwave 1 (3, closed), cabinet 1 (4, closed), cabinet 2 (1, closed, beside the
counter).
"""

from collections.abc import Mapping

from agentkit.envs.alfworld.world import Goal, State, World

RECEPTACLES = ("counter", "coffeemachine", "microwave", "cabinet", "cabinet")
RECEPTACLE_NAMES = ("counter 1", "coffeemachine 1", "microwave 1", "cabinet 1", "cabinet 2")
LOCATIONS = (1, 2, 3, 4, 1)
OPENABLE = 0b11100
COUNTER, COFFEEMACHINE, MICROWAVE, CABINET_1, CABINET_2 = range(5)

HOT_MUG = Goal("pick_heat_then_place_in_recep", "mug", "coffeemachine", change="heat")
TWO_MUGS = Goal("pick_two_obj_and_place", "mug", "cabinet", count=2)
LOOK_AT_MUG = Goal("look_at_obj_in_light", "mug", light_type="desklamp")
PLACE_MUG = Goal("pick_and_place_simple", "mug", "cabinet")
SLICED_MUG = Goal("pick_and_place_simple", "mug", "counter", sliced=True)


def tiny_world(
    goal: Goal,
    objects: Mapping[str, int],
    *,
    location: int = 0,
    held: str | None = None,
    opened: int = 0,
    accepts: tuple[int, ...] | None = None,
    twins: Mapping[str, int] | None = None,
) -> World:
    """A world with ``objects`` (name such as "mug 1" -> index of its receptacle, in the order of their indices).

    ``twins`` puts objects into a second receptacle at once, as real games do with a sink and its basin. Lamps cannot be
    picked up. Knives cut. Every receptacle accepts everything unless ``accepts`` says otherwise.
    """
    names = tuple(objects)
    types = tuple(name.split()[0] for name in names)
    everything = (1 << len(names)) - 1

    def mask(*kinds: str) -> int:
        return sum(1 << i for i, kind in enumerate(types) if kind in kinds)

    inside = [{names.index(n) for n, r in objects.items() if r == i and n != held} for i in range(len(RECEPTACLES))]
    for name, second in (twins or {}).items():
        inside[second].add(names.index(name))
    contents = tuple(sum(1 << i for i in indices) for indices in inside)
    objects_at = tuple(
        sum(1 << i for i in set().union(*(inside[r] for r, at in enumerate(LOCATIONS) if at == place)))
        for place in range(5)
    )
    initial = State(
        location=location,
        held=-1 if held is None else names.index(held),
        contents=contents,
        opened=opened,
        clean=0,
        hot=0,
        cool=0,
        toggled=0,
        on=0,
        sliced=0,
        objects_at=objects_at,
        taken_from=(0,) * len(RECEPTACLES),
    )
    return World(
        source="tiny",
        fingerprint="tiny",
        goal=goal,
        has_help=True,
        task="",
        object_ids=names,
        object_names=names,
        object_types=types,
        receptacle_ids=RECEPTACLE_NAMES,
        receptacle_names=RECEPTACLE_NAMES,
        receptacle_types=RECEPTACLES,
        location_names=tuple(f"loc {i}" for i in range(5)),
        location_of=LOCATIONS,
        receptacles_at=tuple(tuple(r for r, at in enumerate(LOCATIONS) if at == place) for place in range(5)),
        openable=OPENABLE,
        pickupable=everything & ~mask("desklamp"),
        cleanable=0,
        heatable=mask("mug"),
        coolable=0,
        toggleable=mask("desklamp"),
        sliceable=mask("mug"),
        knives=mask("knife"),
        accepts=(everything,) * len(RECEPTACLES) if accepts is None else accepts,
        cleaners=0,
        heaters=1 << MICROWAVE,
        coolers=0,
        vessels=0,
        vessel_contents=(0,) * len(names),
        initial=initial,
    )
