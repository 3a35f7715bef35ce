"""A lower bound on the number of actions that a state is away from the goal: the heuristic of the planner's A*.

It counts the actions of the hand that are still due and the changes of place that must lie between them; it never
counts one that a cleverer plan could save, so that A* with it finds shortest plans.
"""

from agentkit.envs.alfworld.ground_truth import changed_objects
from agentkit.envs.alfworld.world import State, World, bits


def lower_bound(world: World, state: State) -> int:
    """At most the number of actions of a shortest plan from ``state``; 0 when the goal holds."""
    if world.is_won(state):
        return 0
    if world.goal.light_type is not None:
        return _to_examine(world, state)
    if world.goal.sliced:
        return _to_place_sliced(world, state)
    if world.goal.count == 2:
        return _to_place_two(world, state)
    return _to_place_one(world, state)


def changers(world: World) -> int:
    """Mask of the receptacles that clean, heat or cool as the goal asks; 0 when it asks for no change."""
    change = world.goal.change
    if change is None:
        return 0
    return world.cleaners if change == "clean" else world.heaters if change == "heat" else world.coolers


def _locations_of(world: World, receptacles: int) -> int:
    """Mask of the locations of a mask of receptacles."""
    mask = 0
    for receptacle in bits(receptacles):
        if world.location_of[receptacle] >= 0:
            mask |= 1 << world.location_of[receptacle]
    return mask


def _homes(world: World) -> int:
    return _locations_of(world, sum(1 << r for r in world.target_receptacles))


def _sources(world: World, state: State) -> list[tuple[int, int, int]]:
    """(target object, location, 1 when its receptacle is closed) wherever a target object lies."""
    closed = world.openable & ~state.opened
    return [
        (obj, world.location_of[receptacle], closed >> receptacle & 1)
        for receptacle, contents in enumerate(state.contents)
        if world.location_of[receptacle] >= 0
        for obj in bits(contents & world.target_objects & world.pickupable)
    ]


def _to_place_one(world: World, state: State) -> int:
    homes = _homes(world)
    appliances = _locations_of(world, changers(world))
    ready = world.ready_objects(state)
    needs_change = world.goal.change is not None

    def in_hand(obj: int, location: int) -> int:
        """Actions to change and place ``obj``, held at ``location``."""
        if any(state.contents[receptacle] >> obj & 1 for receptacle in world.target_receptacles):
            return 0 if ready >> obj & 1 else 1  # in two receptacles at once, and one of them is home
        if ready >> obj & 1 or not needs_change:
            return 1 + (not homes >> location & 1)
        return 2 + (not appliances >> location & 1) + (not appliances & homes)

    if state.held >= 0 and world.target_objects >> state.held & 1:
        carried = in_hand(state.held, state.location)
    else:
        carried = None
    put_down = state.held >= 0
    fetched = [
        put_down + (location != state.location) + closed + 1 + in_hand(obj, location)
        for obj, location, closed in _sources(world, state)
    ]
    return min([*fetched, carried] if carried is not None else fetched, default=0)


def _to_place_sliced(world: World, state: State) -> int:
    """Actions of the hand alone, for one target object: a slice can be cut where the object lies."""
    changed = changed_objects(world, state)
    knife_in_hand = state.held >= 0 and world.knives >> state.held & 1
    bounds = []
    for obj in bits(world.target_objects):
        cut, change = not state.sliced >> obj & 1, not changed >> obj & 1
        held = state.held == obj
        at_home = any(state.contents[receptacle] >> obj & 1 for receptacle in world.target_receptacles)
        slicing = cut + (cut and not knife_in_hand)
        moved = change or not at_home
        bounds.append(slicing + change + (moved and not held) + (moved or held))
    return max(1, min(bounds, default=1))


def _to_place_two(world: World, state: State) -> int:
    held = state.held >= 0 and world.target_objects >> state.held & 1
    sources = _sources(world, state)
    best = None
    for receptacle in world.target_receptacles:
        home = world.location_of[receptacle]
        there = state.contents[receptacle] & world.ready_objects(state)
        missing = 2 - there.bit_count()
        near = any(location == home and not there >> obj & 1 for obj, location, _ in sources)
        trip = 2 if near else 4  # take and put, and the way there and back
        if held:
            bound = 1 + (state.location != home) + (missing - 1) * trip
        else:
            bound = missing * trip - (0 if near or state.location == home else 1) + (state.held >= 0)
        best = bound if best is None else min(best, bound)
    return best or 0


def _to_examine(world: World, state: State) -> int:
    lamps = 0
    for receptacle, contents in enumerate(state.contents):
        if contents & world.target_lights and world.location_of[receptacle] >= 0:
            lamps |= 1 << world.location_of[receptacle]
    use = not world.target_lights & state.toggled
    if state.held >= 0 and world.target_objects >> state.held & 1:
        return use + (not lamps >> state.location & 1)
    put_down = state.held >= 0
    return min(
        (
            put_down + (location != state.location) + closed + 1 + use + (not lamps >> location & 1)
            for _, location, closed in _sources(world, state)
        ),
        default=0,
    )
