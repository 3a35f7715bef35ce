"""Where an episode stands, apart from the engine's own state, and how one step leads to the next such moment."""

from typing import NamedTuple

from agentkit.envs.alfworld.engines import Engine
from agentkit.envs.alfworld.fast import Turn
from agentkit.envs.alfworld.ground_truth import Progress, advance, begin
from agentkit.envs.alfworld.roles import Memory, remember, step_role
from agentkit.envs.alfworld.world import State


class Moment(NamedTuple):
    """One moment of an episode. Immutable and picklable."""

    turn: Turn
    state_changed: bool = True
    """Whether the last action changed anything; True at the start."""
    milestones: tuple[str, ...] = ()
    """What the last action achieved."""
    role: str | None = None
    """The oracle role of the last action; None at the start, and where roles are not asked for or not known."""
    elapsed: int = 0
    """Actions since the start."""
    ended: bool = False
    progress: Progress | None = None
    memory: Memory | None = None
    """None where roles are not asked for or not known."""


def first_moment(engine: Engine, turn: Turn, roles: bool) -> Moment:
    """The start of an episode, which ``engine.reset()`` described as ``turn``."""
    world = engine.world
    if world is None:
        return Moment(turn)
    memory = remember(world, engine.state) if roles else None
    return Moment(turn, progress=begin(world, engine.state), memory=memory)


def next_moment(last: Moment, engine: Engine, before: State, action: str, turn: Turn, max_steps: int) -> Moment:
    """The moment after ``action``, which led the engine from the state ``before`` to its present one."""
    world, after = engine.world, engine.state
    changed = after is not before and after != before
    progress, memory = last.progress, last.memory
    achieved: tuple[str, ...] = ()
    role = None
    if world is not None:
        if changed and progress is not None:
            progress, achieved = advance(world, progress, after)
        if memory is not None:
            role, memory = step_role(world, memory, before, action.strip(), after)
    elapsed = last.elapsed + 1
    ended = turn.won or elapsed >= max_steps
    return Moment(turn, changed, achieved, role, elapsed, ended, progress, memory)
