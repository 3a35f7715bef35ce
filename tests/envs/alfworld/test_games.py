import json
import os
import shutil
from pathlib import Path

import pytest

from agentkit.envs.alfworld.games import (
    check_games,
    check_task_types,
    choose_games,
    data_folder,
    index_by_task_id,
    list_games,
    read_game,
    task_id_of,
    task_type_of,
)
from agentkit.envs.alfworld.world import TASK_TYPES, GameFileError


def write_game(folder: Path, task: str, trial: str = "trial_T1", split: str = "train", content: str = "{}") -> Path:
    path = folder / "json_2.1.1" / split / task / trial / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    return path


@pytest.fixture
def empty_games(tmp_path: Path) -> Path:
    """Game files that a listing finds, though none could be loaded."""
    write_game(tmp_path, "pick_and_place_simple-Mug-None-Shelf-7")
    write_game(tmp_path, "pick_two_obj_and_place-Mug-None-Shelf-7", "trial_T2")
    write_game(tmp_path, "pick_two_obj_and_place-Mug-None-Shelf-7", "trial_T1")
    write_game(tmp_path, "pick_and_place_simple-AppleSliced-None-Shelf-7")
    write_game(tmp_path, "pick_and_place_with_movable_recep-Mug-Plate-Shelf-7")
    write_game(tmp_path, "pick_and_place_simple-Mug-None-Shelf-9", split="valid_seen")
    (tmp_path / "json_2.1.1" / "train" / "pick_and_place_simple-Pen-None-Desk-1" / "trial_T1").mkdir(parents=True)
    return tmp_path


def ids(paths: tuple[str, ...]) -> list[str]:
    return [task_id_of(path) for path in paths]


def test_a_listing_is_sorted_and_leaves_out_what_stock_alfworld_does(empty_games: Path) -> None:
    assert ids(list_games(empty_games, "train")) == [
        "pick_and_place_simple-Mug-None-Shelf-7/trial_T1",
        "pick_two_obj_and_place-Mug-None-Shelf-7/trial_T1",
        "pick_two_obj_and_place-Mug-None-Shelf-7/trial_T2",
    ]


def test_a_listing_keeps_the_task_types_that_are_asked_for(empty_games: Path) -> None:
    listed = list_games(empty_games, "train", ["pick_two_obj_and_place"])
    assert [task_type_of(path) for path in listed] == ["pick_two_obj_and_place"] * 2


def test_the_splits_may_lie_in_the_folder_itself(empty_games: Path) -> None:
    assert list_games(empty_games / "json_2.1.1", "train") == list_games(empty_games, "train")


def test_a_listing_is_remembered_until_a_task_or_trial_comes_or_goes(empty_games: Path) -> None:
    first = list_games(empty_games, "train")
    assert list_games(empty_games, "train") is first
    added = write_game(empty_games, "pick_and_place_simple-Pen-None-Shelf-7")
    assert len(list_games(empty_games, "train")) == 4
    added.parent.rename(added.parent.with_name("trial_T9"))
    assert "pick_and_place_simple-Pen-None-Shelf-7/trial_T9" in ids(list_games(empty_games, "train"))
    shutil.rmtree(added.parent.parent)
    assert list_games(empty_games, "train") == first


def test_the_data_folder_comes_from_the_environment(empty_games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(empty_games))
    assert data_folder() == empty_games / "json_2.1.1"
    monkeypatch.delenv("ALFWORLD_DATA")
    with pytest.raises(FileNotFoundError, match=r"data is not given and ALFWORLD_DATA is not set; run `alfworld-"):
        data_folder()


def test_a_data_folder_that_is_none_is_named_with_where_it_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match=r"data is '.*gone', which does not exist"):
        list_games(tmp_path / "gone")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match=r"ALFWORLD_DATA is '.*gone', which does not exist"):
        list_games()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="which is a file and not a folder"):
        list_games(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="is empty; it must hold folders"):
        list_games(tmp_path / "empty")


def test_an_unknown_split_is_answered_with_the_nearest_one(empty_games: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown split 'valid_seem' in .*; did you mean 'valid_seen'\?"):
        list_games(empty_games, "valid_seem")
    with pytest.raises(ValueError, match=r"unknown split 'x' in .*; known: 'train', 'valid_seen'"):
        list_games(empty_games, "x")


def test_a_split_without_games_of_a_type_says_what_it_has(empty_games: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"\['look_at_obj_in_light'\] in .*it has \['pick_and_place_simple'\]"):
        list_games(empty_games, "valid_seen", ["look_at_obj_in_light"])


def test_task_types_are_checked() -> None:
    assert check_task_types(None) == TASK_TYPES
    with pytest.raises(ValueError, match=r"unknown task type 'look_at' in task_types"):
        check_task_types(["look_at"])
    with pytest.raises(TypeError, match="must be a list of names"):
        check_task_types("look_at_obj_in_light")
    with pytest.raises(ValueError, match="task_types is empty"):
        check_task_types([])


def test_paths_of_games_are_checked(empty_games: Path) -> None:
    path = list_games(empty_games, "train")[0]
    assert check_games([Path(path)]) == (path,)
    with pytest.raises(TypeError, match="must be a list of paths"):
        check_games(path)
    with pytest.raises(ValueError, match="games is empty"):
        check_games([])
    with pytest.raises(FileNotFoundError, match="games names 'nowhere', which is not a file"):
        check_games([path, "nowhere"])


def test_games_by_path_can_be_narrowed_by_task_type(empty_games: Path) -> None:
    paths = list_games(empty_games, "train")
    assert choose_games("-", paths, None, ["pick_and_place_simple"]) == paths[:1]
    with pytest.raises(ValueError, match="none of the 3 games is of the task types"):
        choose_games("-", paths, None, ["look_at_obj_in_light"])


def test_task_ids_find_their_game(empty_games: Path) -> None:
    paths = list_games(empty_games, "train")
    found = index_by_task_id(paths)
    assert [found[name] for name in ids(paths)] == [0, 1, 2]


def test_a_folder_with_another_name_has_no_task_type() -> None:
    assert task_type_of("somewhere/game.tw-pddl") == ""


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('{"pddl_domain": "(defi', "not JSON"),
        ("[1]", "must be a JSON object, got a list"),
        ('{"pddl_domain": "", "grammar": 1, "pddl_problem": ""}', "lacks the text 'grammar'"),
        (b"\xff\xfe\x00", "not JSON"),
    ],
)
def test_a_broken_file_is_named_with_its_fault(tmp_path: Path, content: str | bytes, fault: str) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(GameFileError) as caught:
        read_game(path)
    assert str(path) in str(caught.value)
    assert fault in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(GameFileError, match="absent: cannot be read: No such file"):
        read_game(tmp_path / "absent")


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    content = {"pddl_domain": "d", "grammar": "g", "pddl_problem": "p", "walkthrough": ["look"], "solvable": False}
    path = tmp_path / "game.tw-pddl"
    path.write_text(json.dumps(content))
    game = read_game(path)
    assert (game.pddl_domain, game.grammar, game.pddl_problem) == ("d", "g", "p")
    assert game.walkthrough == ("look",)
    assert not game.solvable


def test_the_real_splits_are_listed_whole(alfworld_data: Path) -> None:
    assert len(list_games(alfworld_data, "valid_seen")) == 140
    assert len(list_games(alfworld_data, "valid_unseen")) == 134
    assert all(os.path.isabs(path) for path in list_games(alfworld_data, "train"))
