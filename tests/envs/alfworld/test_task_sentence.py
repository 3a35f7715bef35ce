from pathlib import Path

import pytest

from agentkit.envs.alfworld.fast.game import load_game
from agentkit.envs.alfworld.games import list_games
from agentkit.envs.alfworld.task_sentence import Task, read_task


@pytest.mark.parametrize(
    ("sentence", "task"),
    [
        ("put a mug in shelf.", Task("mug", "shelf")),
        ("put some mug on shelf.", Task("mug", "shelf")),
        ("put a clean mug in shelf.", Task("mug", "shelf", verb="clean")),
        ("clean some mug and put it in shelf.", Task("mug", "shelf", verb="clean")),
        ("put a hot mug in shelf", Task("mug", "shelf", verb="heat")),
        ("heat some mug and put it in shelf.", Task("mug", "shelf", verb="heat")),
        ("put a cool mug in shelf.", Task("mug", "shelf", verb="cool")),
        ("put two mug in shelf.", Task("mug", "shelf", count=2)),
        ("find two mug and put them in shelf.", Task("mug", "shelf", count=2)),
        ("examine the mug with the desklamp.", Task("mug", "desklamp", examine=True)),
        ("look at mug under the floorlamp.", Task("mug", "floorlamp", examine=True)),
        ("look at the mug under the floorlamp.", Task("mug", "floorlamp", examine=True)),
    ],
)
def test_every_template_is_understood(sentence: str, task: Task) -> None:
    assert read_task(sentence) == task


@pytest.mark.parametrize("sentence", ["", "put", "put a hot slice of mug in shelf.", "put a mug in a plate in shelf."])
def test_anything_else_is_named(sentence: str) -> None:
    with pytest.raises(ValueError, match="follows none of ALFWorld's task templates"):
        read_task(sentence)


def test_sentences_of_real_games_say_what_their_goals_do(alfworld_data: Path) -> None:
    for path in list_games(alfworld_data, "valid_unseen")[::2]:
        world = load_game(path).world
        goal = world.goal
        task = read_task(world.task.removeprefix("Your task is to: "))
        assert task == Task(
            goal.object_type,
            goal.receptacle_type or goal.light_type or "",
            verb=goal.change,
            count=goal.count,
            examine=goal.light_type is not None,
        )
