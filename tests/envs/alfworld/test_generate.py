"""`make_games`: the folder it leaves, the same bytes for the same arguments, and one clear error for bad ones."""

import errno
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentkit.envs.alfworld.generate import make_games
from agentkit.envs.alfworld.generate.making import UNSEEN_ROOMS, check_request
from agentkit.envs.alfworld.world import TASK_TYPES

# Not importorskip: importing alfworld sets ALFWORLD_DATA for every later test.
pytestmark = pytest.mark.skipif(find_spec("alfworld") is None, reason="alfworld is not installed")


def digest(folder: Path) -> dict[str, str]:
    """Relative path -> hash of every file below ``folder``."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def twelve(tmp_path_factory) -> tuple[Path, list[Path]]:
    out = tmp_path_factory.mktemp("games")
    return out, make_games(out, 12, seed=3)


def test_folder_is_laid_out_as_alfworld_data(twelve):
    out, games = twelve
    assert sorted(entry.name for entry in out.iterdir()) == ["json_2.1.1", "logic"]
    assert sorted(entry.name for entry in (out / "logic").iterdir()) == ["alfred.pddl", "alfred.twl2"]
    assert len(set(games)) == 12
    for game in games:
        split, task_folder, trial = game.relative_to(out / "json_2.1.1").parts[:3]
        assert split == "train"
        assert re.fullmatch(r"trial_T\d{8}_\d{6}_\d{6}", trial)
        assert sorted(entry.name for entry in game.parent.iterdir()) == ["game.tw-pddl", "traj_data.json"]
        task = json.loads((game.parent / "traj_data.json").read_text())
        wanted = task["pddl_params"]
        target = wanted["parent_target"] or wanted["toggle_target"]
        assert task["task_id"] == trial
        assert task_folder == "-".join(
            [task["task_type"], wanted["object_target"], "None", target, str(task["scene"]["scene_num"])]
        )


def test_game_file_has_the_parts_of_a_real_one(twelve):
    domain = (twelve[0] / "logic" / "alfred.pddl").read_text()
    grammar = (twelve[0] / "logic" / "alfred.twl2").read_text()
    for path in twelve[1]:
        game = json.loads(path.read_text())
        assert list(game) == ["pddl_domain", "grammar", "pddl_problem", "solvable", "walkthrough"]
        assert game["pddl_domain"] == domain
        assert game["solvable"] is True
        sentence = re.search(r"Your task is to: ([a-z ]+)\.", game["grammar"])
        assert sentence is not None
        assert game["grammar"] == grammar.replace("UNKNOWN GOAL", sentence[1])


def test_task_types_take_turns(twelve):
    assert [path.parent.parent.name.split("-")[0] for path in twelve[1]] == [*TASK_TYPES, *TASK_TYPES]


def test_a_larger_count_keeps_the_first_games(twelve, tmp_path):
    fewer = make_games(tmp_path, 5, seed=3)
    assert [path.relative_to(tmp_path) for path in fewer] == [path.relative_to(twelve[0]) for path in twelve[1][:5]]
    assert digest(tmp_path).items() <= digest(twelve[0]).items()


def test_same_bytes_in_processes_with_other_hash_seeds_and_paths(twelve, tmp_path):
    code = "import sys; from agentkit.envs.alfworld.generate import make_games; make_games(sys.argv[1], 12, seed=3)"
    for hash_seed in ("1", "2"):
        folder = tmp_path / hash_seed
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run([sys.executable, "-c", code, str(folder)], check=True, env=environment)
        assert digest(folder) == digest(twelve[0])


def test_another_seed_and_another_split_give_other_games(twelve, tmp_path):
    first = {path.parent.name for path in twelve[1]}
    other_seed = {path.parent.name for path in make_games(tmp_path, 12, seed=4)}
    other_split = {path.parent.name for path in make_games(tmp_path, 12, seed=3, split="valid_seen")}
    assert len(first | other_seed | other_split) == 36


def test_a_second_run_keeps_identical_games_and_mends_broken_ones(tmp_path):
    games = make_games(tmp_path, 3)
    before = digest(tmp_path)
    broken, untouched = games[0], games[1]
    broken.write_text("{")
    os.utime(untouched, (1, 1))
    (games[2].parent / "traj_data.json").unlink()
    assert make_games(tmp_path, 3) == games
    assert digest(tmp_path) == before
    assert untouched.stat().st_mtime == 1


def test_an_interrupted_run_leaves_complete_games_and_no_rubbish(tmp_path):
    def interrupt(done: int, count: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_games(tmp_path / "cut", 8, progress=interrupt)
    make_games(tmp_path / "whole", 8)
    cut, whole = digest(tmp_path / "cut"), digest(tmp_path / "whole")
    assert cut.items() < whole.items()
    assert len(cut) == 2 + 3 * 2
    make_games(tmp_path / "cut", 8)
    assert digest(tmp_path / "cut") == whole


def test_progress_counts_up(tmp_path):
    seen = []
    make_games(tmp_path, 4, progress=lambda done, count: seen.append((done, count)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_unseen_split_plays_in_its_own_rooms():
    seen = check_request(0, "train", None, None, None, "medium").rooms_of
    unseen = check_request(0, "valid_unseen", None, None, None, "medium").rooms_of
    assert {room for rooms in unseen.values() for room in rooms} == set(UNSEEN_ROOMS)
    assert not {room for rooms in seen.values() for room in rooms} & set(UNSEEN_ROOMS)
    assert set(seen) == set(unseen) == set(TASK_TYPES)


def test_rooms_and_task_types_are_honoured(tmp_path):
    games = make_games(tmp_path, 6, rooms=[405, 12], task_types=["pick_clean_then_place_in_recep"])
    names = {path.parent.parent.name for path in games}
    assert {name.split("-")[0] for name in names} == {"pick_clean_then_place_in_recep"}
    assert {name.split("-")[-1] for name in names} <= {"12", "405"}


def test_without_task_types_a_room_gets_what_it_allows():
    allowed = set(check_request(0, "train", None, [405], None, "medium").rooms_of)
    assert allowed == {"pick_and_place_simple", "pick_clean_then_place_in_recep", "pick_two_obj_and_place"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, r"count is 0; ask for at least 1 game"),
        ({"count": -1}, r"count is -1"),
        ({"count": True}, r"count is True"),
        ({"count": 2.5}, r"count is 2\.5"),
        ({"seed": "a"}, r"seed is 'a'; use an integer"),
        ({"split": "test"}, r"split is 'test'; the splits are train, valid_seen, valid_unseen"),
        ({"task_types": ["bake"]}, r"task_types holds 'bake'; the task types are pick_and_place_simple, "),
        ({"task_types": []}, r"task_types is empty"),
        ({"rooms": [31]}, r"rooms holds 31, which alfworld ships no layout for; use 1-30 \(kitchens\)"),
        ({"rooms": []}, r"rooms is empty"),
        ({"distractors": -1}, r"distractors is -1; use 0 to 1000"),
        ({"distractors": 1.5}, r"distractors is 1\.5"),
        ({"difficulty": "brutal"}, r"difficulty is 'brutal'; use one of easy, medium, hard"),
        (
            {"rooms": [405], "task_types": ["pick_heat_then_place_in_recep"]},
            r"'pick_heat_then_place_in_recep' is impossible at difficulty 'medium' in the rooms 405; choose other",
        ),
    ],
)
def test_bad_arguments_are_named_and_nothing_is_written(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_games(tmp_path / "out", **{"count": 1, **arguments})
    assert not (tmp_path / "out").exists()


def test_a_file_for_a_folder_is_refused(tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(NotADirectoryError, match=r"taken' is a file; name a folder"):
        make_games(taken, 1)
    assert taken.read_text() == "mine"
    with pytest.raises(OSError, match=r"out=.*can't be written to \(Not a directory\)"):
        make_games(taken / "below", 1)


def test_a_read_only_folder_is_refused(tmp_path, monkeypatch):
    def refuse(*args: object, **kwargs: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(PermissionError, match=r"out=.*can't be written to \(Permission denied\); name a folder"):
        make_games(tmp_path, 1)


def test_without_alfworld_the_error_names_the_pip_line(tmp_path):
    code = (
        "import sys; sys.modules['alfworld'] = None\n"
        "from agentkit.envs.alfworld.generate import make_games\n"
        "try: make_games(sys.argv[1], 1)\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == 'alfworld is not installed; run: pip install "gym-agentkit[alfworld]"'


def test_neither_a_simulator_nor_alfworld_itself_is_loaded(tmp_path):
    """Importing alfworld would set ALFWORLD_DATA."""
    code = (
        "import os, sys; from agentkit.envs.alfworld.generate import make_games; make_games(sys.argv[1], 1)\n"
        "heavy = {'alfworld', 'torch', 'cv2', 'textworld', 'ai2thor'}\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & heavy), os.environ.get('ALFWORLD_DATA'))"
    )
    clean = {name: value for name, value in os.environ.items() if name != "ALFWORLD_DATA"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=clean)
    assert run.stdout.strip() == "[] None"
