"""How `TextualizeWrapper` speaks about environments that it knows: FrozenLake, Taxi, CliffWalking and MiniGrid.

Environments are recognised by the name of their class, so that none of them has to be installed.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import attrs
import gymnasium as gym
import numpy as np


@attrs.frozen
class TextDefaults:
    """What to say about one family of environments; ``env`` is always the unwrapped one."""

    actions: tuple[str, ...]
    """The name of each action, in the order of the `Discrete` space."""
    describe: Callable[[Any, Any], str]
    """``describe(env, observation)``"""
    goal: str = ""
    goal_key: str | None = None
    """Where the observation holds the goal of the episode, when it has one."""
    state: Callable[[Any, Any], Any] | None = None
    """``state(env, observation)``: equal before and after an action that changed nothing; None = the observation."""
    ending_wins: bool = False
    """Any terminated episode was won; else only one that terminated with a positive reward."""


def text_defaults(env: gym.Env) -> TextDefaults | None:
    """What is known about an environment (its own class or one it inherits from), or None.

    Nothing is known when a wrapper in between has changed what it observes or how it acts.
    """
    inner = env.unwrapped
    if env.observation_space != inner.observation_space or env.action_space != inner.action_space:
        return None
    for kind in type(inner).__mro__:
        found = KNOWN.get(f"{kind.__module__}:{kind.__name__}")
        if found is not None:
            return found
    return None


def _cell(row: int, column: int) -> str:
    return f"row {row + 1}, column {column + 1}"


def _around(row: int, column: int) -> dict[str, tuple[int, int]]:
    return {
        "left": (row, column - 1),
        "down": (row + 1, column),
        "right": (row, column + 1),
        "up": (row - 1, column),
    }


FROZEN_LAKE_TILES: Mapping[str, str] = MappingProxyType(
    {"S": "the start", "F": "ice", "H": "a hole", "G": "the goal", "": "the edge"}
)


def _describe_frozen_lake(env: Any, observation: int) -> str:
    rows = [[tile.decode() for tile in row] for row in env.desc]
    row, column = divmod(int(observation), len(rows[0]))

    def tile(r: int, c: int) -> str:
        return rows[r][c] if 0 <= r < len(rows) and 0 <= c < len(rows[0]) else ""

    near = ", ".join(f"{way}: {FROZEN_LAKE_TILES[tile(*cell)]}" for way, cell in _around(row, column).items())
    here = FROZEN_LAKE_TILES[tile(row, column)]
    lake = "\n".join("".join(line) for line in rows)
    return (
        f"You are at {_cell(row, column)}, on {here}. Next to you: {near}.\n"
        f"The lake, row 1 on top (S start, F ice, H hole, G goal):\n{lake}"
    )


def _describe_taxi(env: Any, observation: int) -> str:
    row, column, passenger, destination = (int(number) for number in env.decode(int(observation)))
    names = ("Red", "Green", "Yellow", "Blue")
    stands = [f"{name} ({_cell(*place)})" for name, place in zip(names, env.locs, strict=True)]
    where = "sits in the taxi" if passenger == len(stands) else f"waits at {stands[passenger]}"
    return f"The taxi is at {_cell(row, column)}. The passenger {where} and wants to go to {stands[destination]}."


def _describe_cliff_walking(env: Any, observation: int) -> str:
    rows, columns = env.shape
    row, column = divmod(int(observation), columns)
    return (
        f"You are at {_cell(row, column)} of a grid of {rows} rows and {columns} columns; row 1 is at the top. "
        f"The goal is at {_cell(rows - 1, columns - 1)}. The cliff fills row {rows} from column 2 to {columns - 1}; "
        "whoever steps into it starts again."
    )


# The encodings of minigrid/core/constants.py; 0 is unseen, 1 empty, 10 the agent.
MINIGRID_OBJECTS: Mapping[int, str] = MappingProxyType(
    {2: "wall", 3: "floor", 4: "door", 5: "key", 6: "ball", 7: "box", 8: "goal", 9: "lava"}
)
MINIGRID_COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
MINIGRID_DOORS = ("open", "closed", "locked")
MINIGRID_DIRECTIONS = ("east", "south", "west", "north")


def _minigrid_thing(cell: np.ndarray) -> str:
    kind, colour, state = (int(number) for number in cell)
    name = MINIGRID_OBJECTS[kind]
    if name == "lava":
        return name
    adjective = MINIGRID_COLOURS[colour] if name != "door" else f"{MINIGRID_DOORS[state]} {MINIGRID_COLOURS[colour]}"
    return f"{'an' if adjective[0] in 'aeiou' else 'a'} {adjective} {name}"


def _minigrid_place(ahead: int, right: int) -> str:
    sideways = f"{abs(right)} to the {'right' if right > 0 else 'left'}"
    forward = f"{ahead} ahead"
    return " and ".join(part for part, distance in ((forward, ahead), (sideways, right)) if distance)


def _describe_minigrid(env: Any, observation: Mapping[str, Any]) -> str:
    """The agent stands in the middle of the last row of its view, and carries what its own cell shows."""
    image = observation["image"]
    middle, last = image.shape[0] // 2, image.shape[1] - 1
    seen, carried = [], None
    for x in range(image.shape[0]):
        for y in range(image.shape[1]):
            kind, ahead, right = int(image[x, y, 0]), last - y, x - middle
            if (ahead, right) == (0, 0):
                carried = _minigrid_thing(image[x, y]) if kind in MINIGRID_OBJECTS else None
            elif kind in MINIGRID_OBJECTS and MINIGRID_OBJECTS[kind] not in ("wall", "floor"):
                seen.append((ahead + abs(right), f"{_minigrid_thing(image[x, y])} {_minigrid_place(ahead, right)}"))
    front = int(image[middle, last - 1, 0])
    things = "; ".join(text for _, text in sorted(seen)) or "nothing but walls and floor"
    blocked = " A wall is right in front of you." if MINIGRID_OBJECTS.get(front) == "wall" else ""
    hands = f" You carry {carried}." if carried else " You carry nothing."
    return f"You face {MINIGRID_DIRECTIONS[int(observation['direction'])]}. You see {things}.{blocked}{hands}"


def _minigrid_state(env: Any, observation: Mapping[str, Any]) -> Any:
    """The whole grid and not the partial view, in which a step along an empty hall can look like none."""
    carried = None if env.carrying is None else env.carrying.encode()
    return tuple(map(int, env.agent_pos)), int(env.agent_dir), carried, env.grid.encode().tobytes()


KNOWN: Mapping[str, TextDefaults] = MappingProxyType(
    {
        "gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv": TextDefaults(
            actions=("left", "down", "right", "up"),
            goal="Cross the frozen lake to the goal without falling into a hole.",
            describe=_describe_frozen_lake,
        ),
        "gymnasium.envs.toy_text.taxi:TaxiEnv": TextDefaults(
            actions=("south", "north", "east", "west", "pick up passenger", "drop off passenger"),
            goal="Pick up the passenger and drop them off where they want to go.",
            describe=_describe_taxi,
            ending_wins=True,
        ),
        "gymnasium.envs.toy_text.cliffwalking:CliffWalkingEnv": TextDefaults(
            actions=("up", "right", "down", "left"),
            goal="Walk to the goal in as few steps as you can. Stay out of the cliff.",
            describe=_describe_cliff_walking,
            ending_wins=True,  # every step costs 1, the last one too
        ),
        "minigrid.minigrid_env:MiniGridEnv": TextDefaults(
            actions=("turn left", "turn right", "go forward", "pick up", "drop", "toggle", "done"),
            goal_key="mission",
            describe=_describe_minigrid,
            state=_minigrid_state,
        ),
    }
)
"""Class, as ``"module:name"`` -> how to speak about it."""
