"""The rules of the game on `World` and `State`: which actions are possible, and what they do. No text.

A planner needs only `applicable` and `apply`. Both follow the PDDL domain (`domain.KNOWN_ACTIONS`), its surprises
included: only the object in hand can be examined, lamps work inside closed drawers, sinks, microwaves and fridges work
while closed, and going to where one already stands is no action.
"""

from typing import NamedTuple

from agentkit.envs.alfworld.world import State, World, bits


class Op(NamedTuple):
    """One grounded action. Fields that the action has no use for are -1."""

    action: str  # a key of `shapes.COMMANDS`
    object: int = -1
    receptacle: int = -1
    tool: int = -1  # the knife in hand


def applicable(world: World, state: State) -> list[Op]:
    """Every action that is possible in a state."""
    return [*standing_ops(world, state.location), *local_ops(world, state)]


def standing_ops(world: World, location: int) -> list[Op]:
    """The actions that depend on nothing but where the agent stands."""
    ops = [Op("look"), Op("inventory")]
    if world.has_help:
        ops.append(Op("help"))
    ops += [Op("gotolocation", receptacle=r) for r, at in enumerate(world.location_of) if at not in (-1, location)]
    return ops + [Op("examinereceptacle", receptacle=r) for r in world.receptacles_at[location]]


def local_ops(world: World, state: State) -> list[Op]:
    """The actions that depend on what is here, and on what is in hand."""
    ops: list[Op] = []
    lamps = 0
    held = state.held
    for r in world.receptacles_at[state.location]:
        contents = state.contents[r]
        lamps |= contents & world.toggleable
        if world.openable >> r & 1:
            if not state.opened >> r & 1:
                ops.append(Op("openobject", -1, r))
                continue
            ops.append(Op("closeobject", -1, r))
        if held < 0:
            ops += [Op("pickupobject", o, r) for o in bits(contents & world.pickupable)]
        elif world.accepts[r] >> held & 1:
            ops.append(Op("putobject", held, r))
    if lamps:
        ops += [Op("toggleobject", o) for o in bits(lamps)]
    if held >= 0:
        ops += _held_ops(world, state, held)
    return ops


def _held_ops(world: World, state: State, held: int) -> list[Op]:
    ops = [Op("examineobject", held)]
    for r in world.receptacles_at[state.location]:
        if world.cleaners >> r & 1 and world.cleanable >> held & 1:
            ops.append(Op("cleanobject", held, r))
        if world.heaters >> r & 1 and world.heatable >> held & 1:
            ops.append(Op("heatobject", held, r))
        if world.coolers >> r & 1 and world.coolable >> held & 1:
            ops.append(Op("coolobject", held, r))
    if world.knives >> held & 1:
        ops += [Op("sliceobject", o, -1, held) for o in bits(state.objects_at[state.location] & world.sliceable)]
    return ops


def apply(world: World, state: State, op: Op) -> State:
    """The state after an action that is possible in `state`.

    Returns `state` itself, the same object, when the action changes nothing.
    """
    effect = _EFFECTS.get(op[0])
    if effect is None:
        return state
    after = effect(world, state, op)
    return state if after == state else after


def _goto(world: World, state: State, op: Op) -> State:
    return State(world.location_of[op.receptacle], *state[1:])


def _open(_: World, state: State, op: Op) -> State:
    return state._replace(opened=state.opened | 1 << op.receptacle)


def _close(_: World, state: State, op: Op) -> State:
    return state._replace(opened=state.opened & ~(1 << op.receptacle))


def _take(_: World, state: State, op: Op) -> State:
    bit = 1 << op.object
    return state._replace(
        held=op.object,
        contents=_without(state.contents, op.receptacle, bit),
        objects_at=_without(state.objects_at, state.location, bit),
        taken_from=_with(state.taken_from, op.receptacle, bit),
    )


def _put(_: World, state: State, op: Op) -> State:
    bit = 1 << op.object
    return state._replace(
        held=-1,
        contents=_with(state.contents, op.receptacle, bit),
        objects_at=_with(state.objects_at, state.location, bit),
        taken_from=_without(state.taken_from, op.receptacle, bit),
    )


def _clean(_: World, state: State, op: Op) -> State:
    return state._replace(clean=state.clean | 1 << op.object)


def _heat(_: World, state: State, op: Op) -> State:
    bit = 1 << op.object
    return state._replace(hot=state.hot | bit, cool=state.cool & ~bit)


def _cool(_: World, state: State, op: Op) -> State:
    bit = 1 << op.object
    return state._replace(cool=state.cool | bit, hot=state.hot & ~bit)


def _toggle(_: World, state: State, op: Op) -> State:
    bit = 1 << op.object
    return state._replace(toggled=state.toggled | bit, on=state.on ^ bit)


def _slice(_: World, state: State, op: Op) -> State:
    return state._replace(sliced=state.sliced | 1 << op.object)


def _with(masks: tuple[int, ...], index: int, bit: int) -> tuple[int, ...]:
    return (*masks[:index], masks[index] | bit, *masks[index + 1 :])


def _without(masks: tuple[int, ...], index: int, bit: int) -> tuple[int, ...]:
    return (*masks[:index], masks[index] & ~bit, *masks[index + 1 :])


_EFFECTS = {
    "gotolocation": _goto,
    "openobject": _open,
    "closeobject": _close,
    "pickupobject": _take,
    "putobject": _put,
    "cleanobject": _clean,
    "heatobject": _heat,
    "coolobject": _cool,
    "toggleobject": _toggle,
    "sliceobject": _slice,
}
