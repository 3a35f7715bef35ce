"""Game files on disk: finding them without reading them, and reading one with every fault named."""

import difflib
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import attrs

from agentkit.envs.alfworld.world import TASK_TYPES, GameFileError

DATA_VARIABLE = "ALFWORLD_DATA"
GAME_FILE = "game.tw-pddl"
_TEXT_KEYS = ("pddl_domain", "grammar", "pddl_problem")


@attrs.frozen
class GameData:
    """The content of one game file, checked for form."""

    path: str
    pddl_domain: str
    grammar: str
    pddl_problem: str
    walkthrough: tuple[str, ...] = ()
    """Actions that win the game; () when the file has none."""
    solvable: bool = True
    """False when whoever made the file found no plan."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence part that offers what was probably meant: ``"; did you mean 'train'?"`` or a list of what is known."""
    options = sorted(known)
    close = difflib.get_close_matches(name, options, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    shown = ", ".join(map(repr, options[:8])) + (f", … ({len(options)} in all)" if len(options) > 8 else "")
    return f"; known: {shown}"


def data_folder(data: str | os.PathLike[str] | None = None) -> Path:
    """The folder that holds one folder of games a split: ``data``, or the environment variable ALFWORLD_DATA.

    A folder laid out as ``alfworld-download`` leaves it has the splits in ``json_2.1.1``.

    Raises:
        FileNotFoundError: neither is given, or there is no such folder.
        NotADirectoryError: it is a file.
    """
    mend = "run `alfworld-download`, or make games with `agentkit games make --out DIR`, and name that folder"
    origin = "data" if data is not None else DATA_VARIABLE
    named = data if data is not None else os.environ.get(DATA_VARIABLE)
    if not named:
        raise FileNotFoundError(f"no ALFWorld games: data is not given and {DATA_VARIABLE} is not set; {mend}")
    folder = Path(named).expanduser()
    if not folder.exists():
        raise FileNotFoundError(f"{origin} is {str(folder)!r}, which does not exist; {mend}")
    if not folder.is_dir():
        raise NotADirectoryError(f"{origin} is {str(folder)!r}, which is a file and not a folder; {mend}")
    inner = folder / "json_2.1.1"
    return inner if inner.is_dir() else folder


def task_id_of(path: str | os.PathLike[str]) -> str:
    """``"<task folder>/<trial folder>"`` of a game file: the same on every machine, unique within a split.

    >>> task_id_of("json_2.1.1/train/pick_and_place_simple-Mug-None-Shelf-7/trial_T1/game.tw-pddl")
    'pick_and_place_simple-Mug-None-Shelf-7/trial_T1'
    """
    trial, task = os.path.split(os.path.dirname(os.path.abspath(path)))[::-1]
    return f"{os.path.basename(task)}/{trial}"


def task_type_of(path: str | os.PathLike[str]) -> str:
    """The task type that a game's folder is named after; "" when it is named otherwise."""
    name = task_id_of(path).split("-", 1)[0]
    return name if name in TASK_TYPES else ""


def check_task_types(task_types: Collection[str] | None) -> tuple[str, ...]:
    """``task_types`` as a tuple; None stands for all six.

    Raises:
        TypeError: it is one string instead of a collection of them.
        ValueError: a name is unknown, or there are none.
    """
    if task_types is None:
        return TASK_TYPES
    if isinstance(task_types, str):
        raise TypeError(f"task_types must be a list of names, got the str {task_types!r}; write [{task_types!r}]")
    for name in task_types:
        if name not in TASK_TYPES:
            raise ValueError(f"unknown task type {name!r} in task_types{did_you_mean(str(name), TASK_TYPES)}")
    if not task_types:
        raise ValueError("task_types is empty; leave it None for all six")
    return tuple(task_types)


def list_games(
    data: str | os.PathLike[str] | None = None, split: str = "train", task_types: Collection[str] | None = None
) -> tuple[str, ...]:
    """The paths of a split's game files, sorted.

    No file is read: the task type is in the folder's name. As in stock ALFWorld, tasks with sliced objects or movable
    receptacles are left out. A listing is remembered; it is made again when a task was added to the split or a trial to
    a task.

    Raises:
        FileNotFoundError: the data folder is missing, or the split has no games of these types.
        NotADirectoryError: the data folder is a file.
        ValueError: an unknown split or task type.
    """
    kinds = check_task_types(task_types)
    root = data_folder(data)
    folder = root / split
    known = [entry.name for entry in os.scandir(root) if entry.is_dir()]
    if not known:
        raise FileNotFoundError(f"{str(root)!r} is empty; it must hold folders such as 'train' and 'valid_unseen'")
    if split not in known:
        raise ValueError(f"unknown split {split!r} in {str(root)!r}{did_you_mean(str(split), known)}")
    chosen = _scan(str(folder), _stamp(str(folder)), kinds)
    if not chosen:
        found = sorted(set(map(task_type_of, _scan(str(folder), _stamp(str(folder)), TASK_TYPES))))
        raise FileNotFoundError(f"no {GAME_FILE} of the types {list(kinds)} in {str(folder)!r}; it has {found}")
    return chosen


@lru_cache(maxsize=16)
def index_by_task_id(games: tuple[str, ...]) -> Mapping[str, int]:
    """Task id -> position of its game; shared by all environments that play these games."""
    return MappingProxyType({task_id_of(path): index for index, path in reversed(list(enumerate(games)))})


def _stamp(folder: str) -> int:
    """Changes when a task folder, or a trial in one, is added, removed or renamed."""
    with os.scandir(folder) as entries:
        return hash(tuple((entry.name, entry.stat().st_mtime_ns) for entry in entries))


@lru_cache(maxsize=64)
def _scan(folder: str, stamp: int, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The game files of some task types below a split's folder; ``stamp`` only tells remembered listings apart."""
    games = []
    for task in _subfolders(folder):
        if task.name.split("-", 1)[0] not in kinds or "movable" in task.name or "Sliced" in task.name:
            continue
        for trial in _subfolders(task.path):
            path = os.path.join(trial.path, GAME_FILE)
            if os.path.exists(path):
                games.append(path)
    return tuple(games)


def _subfolders(folder: str) -> list["os.DirEntry[str]"]:
    with os.scandir(folder) as entries:
        return sorted((entry for entry in entries if entry.is_dir()), key=lambda entry: entry.name)


def check_games(games: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Paths of game files, as strings.

    Raises:
        TypeError: it is one path instead of a list of them.
        ValueError: there are none.
        FileNotFoundError: a file does not exist.
    """
    if isinstance(games, (str, os.PathLike)):
        raise TypeError(f"games must be a list of paths, got one: {games!r}; write [{str(games)!r}]")
    paths = tuple(os.fspath(path) for path in games)
    if not paths:
        raise ValueError("games is empty; give paths of game.tw-pddl files, or leave it None and choose a split")
    for path in paths:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"games names {path!r}, which is not a file; give paths of {GAME_FILE} files")
    return paths


def choose_games(
    split: str,
    games: Sequence[str | os.PathLike[str]] | None,
    data: str | os.PathLike[str] | None,
    task_types: Collection[str] | None,
) -> tuple[str, ...]:
    """The paths of ``games``, or of a split when that is None; only those of the task types.

    Raises: what `check_games` and `list_games` raise; ValueError when no game is of these types.
    """
    if games is None:
        return list_games(data, split, task_types)
    paths, kinds = check_games(games), check_task_types(task_types)
    chosen = paths if task_types is None else tuple(path for path in paths if task_type_of(path) in kinds)
    if not chosen:
        raise ValueError(f"none of the {len(paths)} games is of the task types {list(kinds)}; widen task_types")
    return chosen


def read_game(path: str | os.PathLike[str]) -> GameData:
    """Read one game file.

    Raises:
        GameFileError: it cannot be read, is no JSON object (cut off, for instance), or lacks a text; the message names
            the file.
    """
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise GameFileError(f"{name}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise GameFileError(f"{name}: not JSON ({error}); the file is damaged, fetch or make it again") from error
    if not isinstance(content, dict):
        raise GameFileError(f"{name}: must be a JSON object, got a {type(content).__name__}")
    for key in _TEXT_KEYS:
        if not isinstance(content.get(key), str):
            raise GameFileError(f"{name}: lacks the text {key!r}; it is no ALFWorld game")
    walkthrough = content.get("walkthrough") or ()
    return GameData(
        path=name,
        walkthrough=tuple(map(str, walkthrough)),
        solvable=bool(content.get("solvable", True)),
        **{key: content[key] for key in _TEXT_KEYS},
    )
