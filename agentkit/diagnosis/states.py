"""States at the destination with an object that still has to be changed, from ALFWorld games."""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs
import gymnasium as gym
import numpy as np

from agentkit.actors.expert import ExpertActor
from agentkit.envs.alfworld.games import task_id_of, task_type_of
from agentkit.envs.alfworld.plan_bound import changers
from agentkit.envs.alfworld.task_sentence import read_task
from agentkit.envs.alfworld.world import GameFileError, State, World, bits
from agentkit.trajectory import write_atomically

logger = logging.getLogger(__name__)

DEPENDENT_TASK_TYPES = (
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
)
"""The task types in which an object has to be changed before it is placed."""
_LONGEST_SEARCH = 40

_converter = cattrs.Converter(forbid_extra_keys=True)


@attrs.frozen(kw_only=True)
class DiagnosticState:
    """A moment at the destination: one action would place the object, which is not yet as the goal wants it."""

    task_id: str
    change: str = attrs.field(validator=attrs.validators.in_(("clean", "heat", "cool")))
    """What has to be done to the object first."""
    goal: str
    goal_without_placement: str
    """The goal reduced to the change, in ALFWorld's words."""
    past: tuple[tuple[str, str], ...]
    """The observations of the episode until then, each with the action that followed."""
    observation: str
    admissible_actions: tuple[str, ...]
    required: tuple[str, ...]
    """The admissible actions on the way to the change: going to, opening or using an appliance that makes it."""
    placing: tuple[str, ...] = attrs.field(validator=attrs.validators.min_len(1))
    """The admissible actions that place the object at once, where the goal wants it."""

    @property
    def digest(self) -> str:
        """A digest of everything that an actor sees in the state."""
        return hashlib.sha256(repr(self).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def goal_without_placement(goal: str) -> str:
    """The goal without its easier sub-goal *(our wording)*.

    Raises:
        ValueError: it is none of ALFWorld's goals to change an object and place it.

    >>> goal_without_placement("put a hot mug in shelf.")
    'heat some mug.'
    """
    task = read_task(goal)
    if task.verb is None:
        raise ValueError(f"the goal {goal!r} asks for no change, so that placing is no easier sub-goal")
    return f"{task.verb} some {task.thing}."


def collect_states(
    env: gym.Env,
    limit: int = 116,
    *,
    seed: int = 0,
    progress: Callable[[int, int], Any] | None = None,
) -> list[DiagnosticState]:
    """One state from each of ``limit`` games, drawn at random from those of the environment with a dependency.

    An expert that knows only what it was shown searches and takes the object; then it is led to the destination, and
    opens it where needed, without changing the object. The paper has 116 states that its actors reached by themselves
    (seeds/000, "Actor"); that we lead the way there is our *(reading)*, which gives all actors the same states.

    Args:
        env: an ALFWorld environment with the fast engine; its games are those drawn from.
        limit: the most states.
        seed: of the draw.
        progress: called with the number of states and ``limit``.

    Raises:
        TypeError: the environment is not ALFWorld's.
        ValueError: ``limit`` is below 1, or no game leads to such a state.
    """
    games = getattr(env.unwrapped, "games", None)
    if games is None:
        raise TypeError(f"collect_states needs an ALFWorldEnv, got {type(env.unwrapped).__name__}")
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit!r}")
    dependent = [path for path in games if task_type_of(path) in DEPENDENT_TASK_TYPES]
    states: list[DiagnosticState] = []
    for index in np.random.default_rng(seed).permutation(len(dependent)):
        if len(states) == limit:
            break
        try:
            state = _reach(env, task_id_of(dependent[index]))
        except GameFileError as error:
            logger.warning("left out: %s", error)
            continue
        if state is not None:
            states.append(state)
            if progress is not None:
                progress(len(states), limit)
    if not states:
        raise ValueError(f"none of the {len(games)} games leads to a state at the destination with an unchanged object")
    return states


def _reach(env: gym.Env, task_id: str) -> DiagnosticState | None:
    """Play a game to its diagnostic state; None where the search takes too long or the destination takes no object."""
    explorer = ExpertActor("explorer")
    observation, info = env.reset(options={"task_id": task_id})
    engine: Any = env.unwrapped.engine  # type: ignore[attr-defined] - checked by the caller
    if engine.world is None:
        return None
    past: list[tuple[str, str]] = []

    def act(action: str) -> bool:
        nonlocal observation, info
        past.append((observation, action))
        observation, _, terminated, truncated, info = env.step(action)
        return not (terminated or truncated)

    while not _holds_target(engine.world, engine.state):
        if len(past) >= _LONGEST_SEARCH or not act(explorer(observation, info)):
            return None
    destination = _destination(engine.world, engine.state)
    if destination is None:
        return None
    name = engine.world.receptacle_names[destination]
    for action in (f"go to {name}", f"open {name}"):
        if action in info["admissible_actions"] and not act(action):
            return None
    return _state(task_id, info, observation, past, engine.world, engine.state)


def _holds_target(world: World, state: State) -> bool:
    return state.held >= 0 and bool(world.target_objects >> state.held & 1)


def _destination(world: World, state: State) -> int | None:
    """The first receptacle where the goal wants the object in hand."""
    fitting = (r for r in world.target_receptacles if world.accepts[r] >> state.held & 1 and world.location_of[r] >= 0)
    return next(fitting, None)


def _state(
    task_id: str, info: Any, observation: str, past: Sequence[tuple[str, str]], world: World, state: State
) -> DiagnosticState | None:
    actions: tuple[str, ...] = info["admissible_actions"]
    thing, change = world.object_names[state.held], world.goal.change
    targets = [world.receptacle_names[r] for r in world.target_receptacles]
    placing = {w for name in targets for w in (f"move {thing} to {name}", f"put {thing} in/on {name}")}
    appliances = [world.receptacle_names[r] for r in bits(changers(world))]
    required = {w for name in appliances for w in (f"go to {name}", f"open {name}", f"{change} {thing} with {name}")}
    if change is None or not placing & set(actions) or not required & set(actions):
        return None
    return DiagnosticState(
        task_id=task_id,
        change=change,
        goal=info["goal"],
        goal_without_placement=goal_without_placement(info["goal"]),
        past=tuple(past),
        observation=observation,
        admissible_actions=actions,
        required=tuple(action for action in actions if action in required),
        placing=tuple(action for action in actions if action in placing),
    )


def save_states(path: str | os.PathLike[str], states: Sequence[DiagnosticState]) -> Path:
    """Write states as JSONL, atomically, and return the path."""
    lines = [json.dumps(_converter.unstructure(state), ensure_ascii=False) + "\n" for state in states]
    return write_atomically(path, "".join(lines))


def load_states(path: str | os.PathLike[str]) -> list[DiagnosticState]:
    """Read the states that `save_states` wrote.

    Raises:
        ValueError: a line is no state; the message names the file and the line.
    """
    states = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            states.append(_converter.structure(json.loads(line), DiagnosticState))
        except Exception as error:
            # cattrs raises whatever a validator did, in a group.
            raise ValueError(f"{os.fspath(path)}, line {number} is no DiagnosticState: {error}") from error
    return states
