"""`make_games`: draw tasks, lay out rooms, write the games down, play each one's walkthrough."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

from attrs import asdict, field, frozen

from agentkit.envs.alfworld.generate.package_data import game_logic, room_numbers
from agentkit.envs.alfworld.generate.problem import GameFiles, render_game
from agentkit.envs.alfworld.generate.rooms import check_rooms
from agentkit.envs.alfworld.generate.scatter import scatter
from agentkit.envs.alfworld.generate.storage import staging, write_file, write_folder
from agentkit.envs.alfworld.generate.tasks import DIFFICULTIES, check_task_types, draw_task, rooms_by_task
from agentkit.envs.alfworld.generate.verify import verify_walkthrough
from agentkit.envs.alfworld.world import TASK_TYPES

SPLITS = ("train", "valid_seen", "valid_unseen")
UNSEEN_ROOMS = (10, 219, 308, 424)  # ALFRED's valid_unseen: the rooms that no training game plays in
MOST_DISTRACTORS = 1000


@frozen
class Request:
    """Checked options of one `make_games` call; every game's seed is drawn from them."""

    seed: int = field()
    split: str = field()
    difficulty: str = field()
    distractors: int | None = field()
    rooms_of: dict[str, tuple[int, ...]] = field()  # task type -> rooms that allow it; none of them empty


@frozen
class Game:
    """One game before it is written."""

    folder: str = field()  # relative to the split's folder
    files: GameFiles = field()


def make_games(
    out: str | Path,
    count: int,
    seed: int = 0,
    *,
    split: str = "train",
    task_types: Iterable[str] | None = None,
    rooms: Iterable[int] | None = None,
    distractors: int | None = None,
    difficulty: str = "medium",
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Make ``count`` ALFWorld games without a download, and return the paths of their ``game.tw-pddl`` files.

    ``out`` becomes (or grows as) an ``ALFWORLD_DATA`` folder:
    ``json_2.1.1/<split>/<task>-<object>-None-<receptacle>-<room>/trial_T.../{game.tw-pddl,traj_data.json}`` and
    ``logic/alfred.{pddl,twl2}``. Every game's walkthrough is a shortest plan and has been played to the win.
    Same arguments, same bytes; a larger ``count`` keeps the first games as they are. Folders appear complete, and a
    run that was interrupted goes on where it stopped.

    Args:
        out: folder to write to; made if absent.
        count: number of games, at least 1.
        seed: any integer.
        split: "train", "valid_seen" or "valid_unseen".
        task_types: which of the six task types, in turn; None means every one that the rooms allow.
        rooms: numbers of ALFRED rooms: 1-30 kitchens, 201-230 living rooms, 301-330 bedrooms, 401-430 bathrooms.
            None means the rooms of the split: 10, 219, 308 and 424 for "valid_unseen", all others for the other two.
        distractors: objects that can be picked up and that the task is not about; None draws one to three of each
            kind that belongs in the room, as in the real games.
        difficulty: "easy": the task's objects lie in the open, with two spares; "medium": anywhere, with up to three
            spares, as in the real games; "hard": each inside a closed receptacle, without a spare.
        progress: called as ``progress(done, count)`` after each game.

    Raises:
        ValueError: an argument is out of range, or the rooms don't allow a task type that was asked for.
        OSError: ``out`` is a file or can't be written to.
        ImportError: alfworld is not installed.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"count is {count!r}; ask for at least 1 game")
    request = check_request(seed, split, task_types, rooms, distractors, difficulty)
    made = []
    root = Path(out)
    with staging(root) as stage:
        domain, grammar = game_logic()
        write_file(root / "logic" / "alfred.pddl", domain, stage)
        write_file(root / "logic" / "alfred.twl2", grammar, stage)
        for done, game in enumerate(generate(request, count), start=1):
            folder = root / "json_2.1.1" / split / game.folder
            write_folder(folder, {"game.tw-pddl": game.files.game, "traj_data.json": game.files.trajectory}, stage)
            made.append(folder / "game.tw-pddl")
            if progress is not None:
                progress(done, count)
    return made


def generate(request: Request, count: int) -> Iterator[Game]:
    """Yield ``count`` verified games; task types take turns, everything else is drawn from the game's own seed."""
    task_types, options = tuple(request.rooms_of), json.dumps(asdict(request))
    for index in range(count):
        task_type = task_types[index % len(task_types)]
        key = f"{options} game {index}"
        rng = Random(key)
        task = draw_task(task_type, request.rooms_of[task_type], request.difficulty, rng)
        trial = _trial_name(key)
        files = render_game(scatter(task, rng, request.difficulty, request.distractors), trial, rng)
        folder = f"{task.folder}/{trial}"
        verify_walkthrough(files.game, folder)
        yield Game(folder, files)


def _trial_name(key: str) -> str:
    """A trial name in ALFRED's form (date, time, microseconds there; here digits of the game's key)."""
    digits = f"{int(hashlib.sha256(key.encode()).hexdigest(), 16):080d}"[-20:]
    return f"trial_T{digits[:8]}_{digits[8:14]}_{digits[14:]}"


def check_request(
    seed: int,
    split: str,
    task_types: Iterable[str] | None,
    rooms: Iterable[int] | None,
    distractors: int | None,
    difficulty: str,
) -> Request:
    """Check the options of `make_games` and find the rooms for each task type.

    Raises:
        ValueError: an option is out of range, or no room allows a task type that was asked for.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed is {seed!r}; use an integer")
    if split not in SPLITS:
        raise ValueError(f"split is {split!r}; the splits are {', '.join(SPLITS)}")
    if difficulty not in DIFFICULTIES:
        raise ValueError(f"difficulty is {difficulty!r}; use one of {', '.join(DIFFICULTIES)}")
    if distractors is not None and (not isinstance(distractors, int) or not 0 <= distractors <= MOST_DISTRACTORS):
        raise ValueError(f"distractors is {distractors!r}; use 0 to {MOST_DISTRACTORS}, or leave it out")
    chosen = _chosen_rooms(split, rooms)
    asked = _chosen_task_types(task_types)
    found = rooms_by_task(asked, chosen, difficulty)
    impossible = [task_type for task_type, allowed in found.items() if not allowed]
    # Without task_types the wish is "whatever goes"; a task type asked for by name must be possible.
    if impossible and (task_types is not None or len(impossible) == len(found)):
        raise ValueError(
            f"{impossible[0]!r} is impossible at difficulty {difficulty!r} in the rooms {', '.join(map(str, chosen))}; "
            "choose other rooms or task_types"
        )
    return Request(seed, split, difficulty, distractors, {each: allowed for each, allowed in found.items() if allowed})


def _chosen_task_types(task_types: Iterable[str] | None) -> tuple[str, ...]:
    if task_types is None:
        return TASK_TYPES
    named = (task_types,) if isinstance(task_types, str) else tuple(task_types)
    check_task_types(named)
    return tuple(each for each in TASK_TYPES if each in named)


def _chosen_rooms(split: str, rooms: Iterable[int] | None) -> tuple[int, ...]:
    if rooms is None:
        unseen = split == "valid_unseen"
        return tuple(room for room in room_numbers() if (room in UNSEEN_ROOMS) == unseen)
    chosen = tuple(rooms)
    check_rooms(chosen)
    return tuple(sorted(set(chosen)))
