"""Whether a goal can be reached when nothing is ever undone.

Fast Downward asks the same before it starts, and replaces a game that fails by one without actions; such games are
left to the stock engine.
"""

from agentkit.envs.alfworld.world import World


def is_relaxed_solvable(world: World) -> bool:
    """Whether the goal holds in the state where everything that can ever become true is true at once."""
    state, goal = world.initial, world.goal
    here = [r for r, at in enumerate(world.location_of) if at >= 0]
    standing = 0
    for r in here:
        standing |= state.contents[r]
    carried = world.pickupable & standing | (1 << state.held if state.held >= 0 else 0)
    stations = {"clean": world.cleaners, "heat": world.heaters, "cool": world.coolers}
    done = {"clean": state.clean, "heat": state.hot, "cool": state.cool}
    ready = world.target_objects
    if goal.change is not None:
        able = carried if any(stations[goal.change] >> r & 1 for r in here) else 0
        ready &= done[goal.change] | able
    if goal.sliced and not carried & world.knives:
        ready &= state.sliced
    if goal.light_type is not None:
        lamps = world.target_lights & (standing | carried)
        return bool(ready & carried and lamps)
    settled = [state.contents[r] | (world.accepts[r] & carried if r in here else 0) for r in world.target_receptacles]
    return any((mask & ready).bit_count() >= goal.count for mask in settled)
