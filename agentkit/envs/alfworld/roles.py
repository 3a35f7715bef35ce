"""The oracle role of a step: what TRIAGE's judge (arXiv 2606.32017) has to find out, by a rule on states.

With ``plan`` the length of a shortest plan to the goal, known to whoever sees the whole state, the first line that
applies decides:

1. *decisive*: the step wins.
2. A *repetition*, the same action in the same state as earlier in the episode, is *no-progress* when ``plan`` gets
   shorter (it only regains what the episode had before) and *regression* otherwise (it repeats without information).
3. *decisive*: ``plan`` gets shorter. Repairing an earlier mistake is progress too.
4. *exploration*: the step reveals relevant state (below), whether or not ``plan`` gets longer by walking away.
5. *regression*: ``plan`` gets longer, or the goal gets out of reach.
6. *no-progress*: anything else, such as looking around or an action that is not possible.

A step reveals relevant state while something that the goal needs has not been seen (a target object; the second one, a
lamp, a knife where the task needs them) and it shows an object for the first time, leads to a receptacle for the first
time, or shows the inside of one for the first time. Line 2 makes a loop worthless: each action earns its role once in a
state.
"""

from typing import NamedTuple

from agentkit.envs.alfworld.ground_truth import seen_objects
from agentkit.envs.alfworld.planner import plan_length
from agentkit.envs.alfworld.world import State, World

DECISIVE = "decisive"
EXPLORATION = "exploration"
NO_PROGRESS = "no-progress"
REGRESSION = "regression"

ROLES = (DECISIVE, EXPLORATION, NO_PROGRESS, REGRESSION)


class Memory(NamedTuple):
    """What the rule has to know about the episode so far."""

    plan: int | None
    """Length of a shortest plan from the present state; None when there is none."""
    seen: int
    """Mask of the objects that the agent has seen."""
    visited: int
    """Mask of the receptacles that the agent has stood at."""
    inspected: int
    """Mask of the receptacles whose contents the agent has seen."""
    tried: frozenset[tuple[tuple, str]]
    """Every (state, action) of the episode."""


def remember(world: World, state: State) -> Memory:
    """The memory with which an episode starts."""
    return Memory(plan_length(world, state), seen_objects(world, state), *_receptacles_shown(world, state), frozenset())


def step_role(world: World, memory: Memory, before: State, action: str, after: State) -> tuple[str, Memory]:
    """The role of ``action``, which led from ``before`` to ``after``, and the memory to judge the next one with."""
    moment = (before.planning_key(), action)
    visited, inspected = _receptacles_shown(world, after)
    following = Memory(
        plan=memory.plan if after == before else plan_length(world, after),
        seen=memory.seen | seen_objects(world, after),
        visited=memory.visited | visited,
        inspected=memory.inspected | inspected,
        tried=memory.tried | {moment},
    )
    revealed = following[1:4] != memory[1:4]
    role = _role(
        change=_plan_change(memory.plan, following.plan),
        won=world.is_won(after) and not world.is_won(before),
        repeated=moment in memory.tried,
        revealing=revealed and _searching(world, memory.seen),
    )
    return role, following


def _role(change: int, won: bool, repeated: bool, revealing: bool) -> str:
    """The rule itself; ``change`` is -1, 0 or 1 for a plan that gets shorter, stays as long, or gets longer."""
    if won:
        return DECISIVE
    if repeated:
        return NO_PROGRESS if change < 0 else REGRESSION
    if change < 0:
        return DECISIVE
    if revealing:
        return EXPLORATION
    return REGRESSION if change > 0 else NO_PROGRESS


def _plan_change(before: int | None, after: int | None) -> int:
    if before is None or after is None:
        return (after is None) - (before is None)
    return (after > before) - (after < before)


def _searching(world: World, seen: int) -> bool:
    """Whether something that the goal needs has not been seen."""
    goal = world.goal
    return bool(
        (world.target_objects & seen).bit_count() < goal.count
        or (goal.light_type is not None and not world.target_lights & seen)
        or (goal.sliced and not world.knives & seen)
    )


def _receptacles_shown(world: World, state: State) -> tuple[int, int]:
    """Masks of the receptacles around the agent: all of them, and those whose contents it sees."""
    here = sum(1 << receptacle for receptacle in world.receptacles_at[state.location])
    return here, here & ~(world.openable & ~state.opened)
