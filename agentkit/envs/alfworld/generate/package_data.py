"""What the generator reads from the installed ``alfworld`` package: layouts, domain, grammar, goals, affordances.

The package itself is never imported (importing it makes a folder in the home directory and sets ALFWORLD_DATA, which
is the user's to set); the two modules read here are plain tables that import nothing of it.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
from attrs import field, frozen

_MANGLED = {"-": "_minus_", "#": "-", "|": "_bar_", "+": "_plus_", ".": "_dot_", ",": "_comma_"}
_MANGLE = str.maketrans(_MANGLED)


def mangle(text: str) -> str:
    """Spell an AI2-THOR id or an alfworld goal as PDDL, as alfworld's ``PlannedGameState.fix_pddl_str_chars`` does.

    >>> mangle("Apple|-03.27|+00.98|+01.61")
    'Apple_bar__minus_03_dot_27_bar__plus_00_dot_98_bar__plus_01_dot_61'
    """
    return text.translate(_MANGLE)


@frozen
class Affordances:
    """Which kinds exist in the ALFRED vocabulary and what may be done with them."""

    objects: tuple[str, ...] = field()  # every kind declared as an object, sorted
    receptacles: tuple[str, ...] = field()  # every kind declared as a receptacle, sorted
    contains: Mapping[str, frozenset[str]] = field()  # receptacle kind -> object kinds that fit (movable ones too)
    movable: frozenset[str] = field()  # objects that hold other objects: bowls, boxes, ...
    openable: frozenset[str] = field()  # receptacle kinds that start closed
    abilities: Mapping[str, frozenset[str]] = field()  # "cleanable", "heatable", ... -> object kinds


@frozen
class GoalForm:
    """One task type's goal as PDDL and its sentences, with ``{obj}``, ``{recep}`` and ``{toggle}`` to fill in."""

    pddl: str = field()
    sentences: tuple[str, ...] = field()


@frozen
class Layout:
    """One room as shipped: receptacle id -> agent pose (x, z in metres, rotation and horizon in degrees)."""

    poses: Mapping[str, tuple[float, float, float, float]] = field()
    kinds: tuple[str, ...] = field()  # every kind of thing in the room
    floor: tuple[tuple[int, int], ...] = field()  # where an agent can stand, in steps of 0.25 m


@cache
def package_folder() -> Path:
    """Where alfworld is installed.

    Raises:
        ImportError: it is not; the message holds the pip line that mends it.
    """
    spec = find_spec("alfworld")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError('alfworld is not installed; run: pip install "gym-agentkit[alfworld]"')
    return Path(spec.submodule_search_locations[0])


def _table(name: str) -> ModuleType:
    """The module ``alfworld.gen.<name>``, run on its own."""
    spec = spec_from_file_location(f"alfworld_{name}", package_folder() / "gen" / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"the installed alfworld has no gen/{name}.py; install alfworld 0.4.2")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def affordances() -> Affordances:
    """The tables of ``alfworld.gen.constants``."""
    constants = _table("constants")
    movable = frozenset(constants.MOVABLE_RECEPTACLES_SET)
    receptacles = frozenset(constants.RECEPTACLES) - movable
    return Affordances(
        objects=tuple(sorted(frozenset(constants.OBJECTS_SET) - receptacles)),
        receptacles=tuple(sorted(receptacles)),
        contains={kind: frozenset(inside) for kind, inside in sorted(constants.VAL_RECEPTACLE_OBJECTS.items())},
        movable=movable,
        openable=frozenset(constants.OPENABLE_CLASS_SET) - movable,
        abilities={name.lower(): frozenset(kinds) for name, kinds in sorted(constants.VAL_ACTION_OBJECTS.items())},
    )


@cache
def _goal_library() -> ModuleType:
    return _table("goal_library")


@cache
def goal_form(task_type: str) -> GoalForm:
    """The goal of ``task_type`` from ``alfworld.gen.goal_library``."""
    entry = _goal_library().gdict[task_type]
    return GoalForm(pddl=mangle(entry["pddl"]), sentences=tuple(entry["templates"]))


@cache
def game_logic() -> tuple[str, str]:
    """The PDDL domain and the text grammar that alfworld ships, in this order."""
    data = package_folder() / "data"
    return (data / "alfred.pddl").read_text("utf-8"), (data / "alfred.twl2").read_text("utf-8")


@cache
def room_numbers() -> tuple[int, ...]:
    """Numbers of the rooms whose layout ships with alfworld, sorted."""
    names = (entry.name for entry in (package_folder() / "gen" / "layouts").iterdir())
    end = "-openable.json"
    return tuple(sorted(int(name[len("FloorPlan") : -len(end)]) for name in names if name.endswith(end)))


def load_layout(number: int) -> Layout:
    """Read the three files of one room."""
    folder = package_folder() / "gen" / "layouts"
    poses = json.loads((folder / f"FloorPlan{number}-openable.json").read_text("utf-8"))
    kinds = json.loads((folder / f"FloorPlan{number}-objects.json").read_text("utf-8"))
    points = np.rint(np.load(folder / f"FloorPlan{number}-layout.npy") / 0.25).astype(int)
    return Layout(
        poses={name: tuple(pose) for name, pose in sorted(poses.items())},
        kinds=tuple(sorted(set(kinds))),
        floor=tuple(sorted({(int(x), int(z)) for x, z in points})),
    )
