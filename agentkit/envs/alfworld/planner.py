"""Shortest plans with knowledge of the whole state, for any state of any game.

A* over *errands*. An errand is one action of the hand (take, put, clean, heat, cool, slice, use) together with what
must come just before it: going to the place and opening the receptacle. Some shortest plan is a sequence of errands:
going somewhere without doing anything there, opening a receptacle earlier than needed and closing one never make a plan
shorter, since one can go from anywhere to anywhere in one action. Only errands that can matter are tried: taking a
target object (or a knife, where the goal wants a slice), changing or slicing it, using a lamp of the goal, putting down
whatever is in hand.
"""

import heapq
import itertools
from collections.abc import Iterator
from functools import lru_cache

from agentkit.envs.alfworld.fast.dynamics import Op, apply
from agentkit.envs.alfworld.plan_bound import changers, lower_bound
from agentkit.envs.alfworld.world import State, World, bits

Plan = tuple[Op, ...]

_COMMANDS = {
    "gotolocation": "go to {place}",
    "openobject": "open {place}",
    "pickupobject": "take {thing} from {place}",
    "cleanobject": "clean {thing} with {place}",
    "heatobject": "heat {thing} with {place}",
    "coolobject": "cool {thing} with {place}",
    "toggleobject": "use {thing}",
    "sliceobject": "slice {thing} with {tool}",
}
_CHANGE_OPS = {"clean": "cleanobject", "heat": "heatobject", "cool": "coolobject"}


# Branches of one episode pass through the same states again and again; a kept plan takes 1 to 2 KB.
@lru_cache(maxsize=4096)
def shortest_plan(world: World, state: State) -> Plan | None:
    """A shortest sequence of actions that wins from ``state``: () when the goal holds, None when nothing wins."""
    ticket = itertools.count()  # breaks ties, later entries first, so that one plan is followed to its end
    queue: list[tuple[int, int, int, State, Plan]] = [(lower_bound(world, state), 0, 0, state, ())]
    best = {state.planning_key(): 0}
    while queue:
        _, _, cost, here, plan = heapq.heappop(queue)
        if cost > best[here.planning_key()]:
            continue
        if world.is_won(here):
            return plan
        for ops in _errands(world, here):
            after = here
            for op in ops:
                after = apply(world, after, op)
            total, key = cost + len(ops), after.planning_key()
            if total < best.get(key, total + 1):
                best[key] = total
                bound = total + lower_bound(world, after)
                heapq.heappush(queue, (bound, -next(ticket), total, after, plan + ops))
    return None


def plan_length(world: World, state: State) -> int | None:
    """Number of actions of a shortest plan from ``state``; None when nothing wins."""
    plan = shortest_plan(world, state)
    return None if plan is None else len(plan)


def commands(world: World, op: Op) -> tuple[str, ...]:
    """What a player types for an action of a plan; the two generations of the games word putting down differently."""
    thing, place = world.object_names[op.object], world.receptacle_names[op.receptacle]
    if op.action == "putobject":
        return f"move {thing} to {place}", f"put {thing} in/on {place}"
    template = _COMMANDS[op.action]
    return (template.format(thing=thing, place=place, tool=world.object_names[op.tool]),)


def _errands(world: World, state: State) -> Iterator[Plan]:
    """Every errand that can be part of a shortest plan."""
    if world.goal.light_type is not None:
        yield from _at_lamps(world, state)
    if state.held < 0:
        wanted = world.target_objects | (world.knives if world.goal.sliced else 0)
        for receptacle in _reachable(world):
            for obj in bits(state.contents[receptacle] & wanted & world.pickupable):
                yield (*_reach(world, state, receptacle), Op("pickupobject", obj, receptacle))
        return
    yield from _with_held(world, state)


def _with_held(world: World, state: State) -> Iterator[Plan]:
    """Errands with the object in hand: change it, slice with it, put it down."""
    held, change = state.held, world.goal.change
    if change is not None and world.target_objects >> held & 1:
        for receptacle in bits(changers(world)):
            if world.location_of[receptacle] >= 0:
                yield (*_go(world, state, receptacle), Op(_CHANGE_OPS[change], held, receptacle))
    if world.goal.sliced and world.knives >> held & 1:
        yield from _slicing(world, state)
    for receptacle in _places_to_put(world, state):
        yield (*_reach(world, state, receptacle), Op("putobject", held, receptacle))


def _slicing(world: World, state: State) -> Iterator[Plan]:
    """Slice a target object where it stands."""
    for location, receptacles in enumerate(world.receptacles_at):
        for obj in bits(state.objects_at[location] & world.target_objects & world.sliceable & ~state.sliced):
            if location == state.location:
                yield (Op("sliceobject", obj, -1, state.held),)
            elif receptacles:
                yield (*_go(world, state, receptacles[0]), Op("sliceobject", obj, -1, state.held))


def _at_lamps(world: World, state: State) -> Iterator[Plan]:
    """Go to a lamp of the goal, and use it when it has not been used."""
    for receptacle in _reachable(world):
        for lamp in bits(state.contents[receptacle] & world.target_lights):
            there = _go(world, state, receptacle)
            if not state.toggled >> lamp & 1:
                yield (*there, Op("toggleobject", lamp))
            elif there:
                yield there


def _places_to_put(world: World, state: State) -> list[int]:
    """Receptacles worth putting the held object into.

    Any that takes it where the agent stands, or where a later errand may lead; of all others one of the cheapest will
    do.
    """
    busy = _busy_locations(world, state) | {state.location}
    places, elsewhere = [], []
    for receptacle in _reachable(world):
        if world.accepts[receptacle] >> state.held & 1:
            (places if world.location_of[receptacle] in busy else elsewhere).append(receptacle)
    if elsewhere:
        places.append(min(elsewhere, key=lambda r: world.openable >> r & 1 & ~(state.opened >> r)))
    return places


def _busy_locations(world: World, state: State) -> set[int]:
    """Locations that a later errand may lead to."""
    goal = world.goal
    wanted = world.target_objects | world.target_lights | (world.knives if goal.sliced else 0)
    appliances = changers(world)
    return {
        world.location_of[receptacle]
        for receptacle in _reachable(world)
        if state.contents[receptacle] & wanted
        or appliances >> receptacle & 1
        or world.receptacle_types[receptacle] == goal.receptacle_type
    }


def _reachable(world: World) -> Iterator[int]:
    """The receptacles that one can go to."""
    return (receptacle for receptacle, location in enumerate(world.location_of) if location >= 0)


def _go(world: World, state: State, receptacle: int) -> Plan:
    return () if world.location_of[receptacle] == state.location else (Op("gotolocation", -1, receptacle),)


def _reach(world: World, state: State, receptacle: int) -> Plan:
    """Go to a receptacle and open it, as far as needed."""
    closed = world.openable >> receptacle & 1 and not state.opened >> receptacle & 1
    return _go(world, state, receptacle) + ((Op("openobject", -1, receptacle),) if closed else ())
