"""Milestones: the sub-goals of a task, read off the game's own state.

A sub-goal *holds* in a state by the rules below, and a step's milestones are the sub-goals that hold after it and did
not hold before it. So a milestone comes once an episode, unless the agent undoes it: then it can be achieved again.

A *target object* has the goal's type and can take the change that the goal asks for. It is *ready* when it has that
change (clean, hot, cool; sliced where the goal says so). A target object is *home* when it is ready and in a receptacle
of the goal's type; where the goal wants two, only the receptacle that holds most of them counts.

| sub-goal | holds when |
|---|---|
| ``found`` | the agent has seen a target object in this episode; it cannot be undone |
| ``taken`` | a target object is in hand or home |
| ``sliced`` | a target object is sliced |
| ``cleaned``, ``heated``, ``cooled`` | a target object is clean, hot, cool |
| ``lamp_used`` | a lamp of the goal's type has been switched on; it cannot be undone |
| ``examined`` | the task is to examine something by a lamp, and the goal holds |
| ``placed`` | a target object is home |
| ``second_found``, ``second_taken``, ``second_placed`` | the same of two target objects at once |

Each task has only the sub-goals that its goal needs. To put a cold mug where a hot one belongs is therefore no
milestone; it undoes ``taken``, which taking the mug back achieves again.
"""

from typing import NamedTuple

from agentkit.envs.alfworld.world import State, World

FOUND = "found"
TAKEN = "taken"
SLICED = "sliced"
CLEANED = "cleaned"
HEATED = "heated"
COOLED = "cooled"
LAMP_USED = "lamp_used"
EXAMINED = "examined"
PLACED = "placed"
SECOND_FOUND = "second_found"
SECOND_TAKEN = "second_taken"
SECOND_PLACED = "second_placed"

MILESTONES = (
    FOUND,
    TAKEN,
    SLICED,
    CLEANED,
    HEATED,
    COOLED,
    LAMP_USED,
    EXAMINED,
    PLACED,
    SECOND_FOUND,
    SECOND_TAKEN,
    SECOND_PLACED,
)
"""Every milestone, in the order in which a step lists them."""

_CHANGED = {"clean": CLEANED, "heat": HEATED, "cool": COOLED}


class Progress(NamedTuple):
    """What an episode has achieved so far."""

    seen: int
    """Mask of the objects that the agent has seen."""
    holding: tuple[str, ...]
    """The sub-goals that hold."""


def seen_objects(world: World, state: State) -> int:
    """Mask of the objects in hand and in the open receptacles around the agent."""
    held = 1 << state.held if state.held >= 0 else 0
    return world.visible_objects(state) | held


def changed_objects(world: World, state: State) -> int:
    """Mask of the objects that have the change which the goal asks for; all of them when it asks for none."""
    change = world.goal.change
    if change is None:
        return -1
    return state.clean if change == "clean" else state.hot if change == "heat" else state.cool


def subgoals(world: World, state: State, seen: int) -> tuple[str, ...]:
    """The sub-goals that hold in a state, in the order of `MILESTONES`.

    Args:
        world: the game.
        state: where it stands.
        seen: mask of the objects that the agent has seen in this episode, those that it sees in ``state`` included.
    """
    goal, targets = world.goal, world.target_objects
    held = targets & (1 << state.held) if state.held >= 0 else 0
    home = _home(world, state)
    found, taken = (targets & seen).bit_count(), (held | home).bit_count()
    holding = [FOUND] if found else []
    if taken:
        holding.append(TAKEN)
    if goal.sliced and targets & state.sliced:
        holding.append(SLICED)
    if goal.change is not None and targets & changed_objects(world, state):
        holding.append(_CHANGED[goal.change])
    if goal.light_type is not None:
        if world.target_lights & state.toggled:
            holding.append(LAMP_USED)
        if world.is_won(state):
            holding.append(EXAMINED)
    if home:
        holding.append(PLACED)
    if goal.count == 2:
        counts = ((SECOND_FOUND, found), (SECOND_TAKEN, taken), (SECOND_PLACED, home.bit_count()))
        holding += [name for name, count in counts if count > 1]
    return tuple(holding)


def begin(world: World, state: State) -> Progress:
    """The progress with which an episode starts."""
    seen = seen_objects(world, state)
    return Progress(seen, subgoals(world, state, seen))


def advance(world: World, progress: Progress, state: State) -> tuple[Progress, tuple[str, ...]]:
    """The progress after a step that led to ``state``, and the milestones that the step achieved."""
    seen = progress.seen | seen_objects(world, state)
    holding = subgoals(world, state, seen)
    if holding == progress.holding:
        return Progress(seen, holding), ()
    return Progress(seen, holding), tuple(name for name in holding if name not in progress.holding)


def milestones(world: World, before: State, after: State, seen: int = 0) -> tuple[str, ...]:
    """The milestones of one step.

    Args:
        world: the game.
        before: its state when the agent chose the action.
        after: its state after the action.
        seen: mask of the objects that the agent had seen until then; those that it sees in ``before`` are added.
    """
    seen |= seen_objects(world, before)
    return advance(world, Progress(seen, subgoals(world, before, seen)), after)[1]


def _home(world: World, state: State) -> int:
    """Mask of the ready target objects in that receptacle of the goal's type that holds most of them."""
    ready, best = world.ready_objects(state), 0
    for receptacle in world.target_receptacles:
        there = state.contents[receptacle] & ready
        if there.bit_count() > best.bit_count():
            best = there
    return best
