from pathlib import Path

import gymnasium as gym
import pytest

from agentkit.envs.alfworld.explorer import Explorer
from agentkit.envs.alfworld.usual_places import search_rank
from agentkit.evaluation import evaluate


def info(*admissible: str, goal: str = "put a hot mug in shelf.") -> dict:
    return {"goal": goal, "admissible_actions": (*admissible, "look")}


OPENING = "You see a shelf 1, a cabinet 1, and a microwave 1.\n\nYour task is to: put a hot mug in shelf."
GOES = ("go to shelf 1", "go to cabinet 1", "go to microwave 1")


def test_it_does_the_task_from_texts_alone() -> None:
    play = Explorer()
    script = [
        (OPENING, GOES, "go to shelf 1"),
        ("You arrive at shelf 1. On the shelf 1, you see a pen 2.", GOES[1:], "go to microwave 1"),
        ("You arrive at microwave 1. The microwave 1 is closed.", (*GOES[:2], "open microwave 1"), "open microwave 1"),
        ("You open the microwave 1. In it, you see nothing.", GOES[:2], "go to cabinet 1"),
        ("You arrive at cabinet 1. The cabinet 1 is closed.", ("open cabinet 1", GOES[0], GOES[2]), "open cabinet 1"),
        ("You open it. In it, you see a cup 1, and a mug 12.", (GOES[0], GOES[2]), "take mug 12 from cabinet 1"),
        ("You pick up the mug 12 from the cabinet 1.", (GOES[0], GOES[2]), "go to microwave 1"),
        ("You arrive at microwave 1.", GOES[:2], "heat mug 12 with microwave 1"),
        ("You heat the mug 12.", GOES[:2], "go to shelf 1"),
        ("You arrive at shelf 1.", (*GOES[1:], "move mug 12 to shelf 1"), "move mug 12 to shelf 1"),
    ]
    for observation, admissible, expected in script:
        assert play(observation, info(*admissible)) == expected


def test_a_receptacle_beside_it_is_examined() -> None:
    play = Explorer()
    assert play(OPENING, info("go to cabinet 1")) == "examine shelf 1"


def test_the_older_wording_of_putting_is_known() -> None:
    play = Explorer()
    goal = "put some pen on shelf."
    here = info("go to cabinet 1", "go to microwave 1", "take pen 2 from shelf 1", "put pen 2 in/on shelf 1", goal=goal)
    assert play(OPENING, here) == "examine shelf 1"
    play("On the shelf 1, you see a pen 2.", here)
    assert play("You pick up the pen 2 from the shelf 1.", here) == "put pen 2 in/on shelf 1"


def test_an_action_that_failed_teaches_nothing() -> None:
    play = Explorer()
    play(OPENING, info(*GOES))
    assert play("Nothing happens.", info(*GOES)) == "go to shelf 1"


def test_an_action_that_a_gate_withheld_was_not_done() -> None:
    play = Explorer()
    play(OPENING, info(*GOES))
    seen = "You arrive at shelf 1. On the shelf 1, you see a mug 1."
    assert play(seen, info(*GOES[1:])) == "take mug 1 from shelf 1"
    assert play(seen, {**info(*GOES[1:]), "gate": {"withheld": True}}) == "take mug 1 from shelf 1"


def test_what_another_player_took_by_mistake_goes_back_to_where_it_was() -> None:
    play = Explorer()
    play(OPENING, info(*GOES))
    shelf = "You arrive at shelf 1. On the shelf 1, you see a pen 2."
    play.observe(shelf, info("take pen 2 from shelf 1", *GOES[1:]), "take pen 2 from shelf 1")
    holding = "You pick up the pen 2 from the shelf 1."
    assert play(holding, info("move pen 2 to shelf 1", *GOES[1:])) == "move pen 2 to shelf 1"
    assert play("You move the pen 2 to the shelf 1.", info(*GOES[1:])) == "go to microwave 1"


def test_it_takes_back_what_another_player_placed_too_early_and_heats_what_was_cooled() -> None:
    play = Explorer()
    play(OPENING, info(*GOES))
    shelf = "You arrive at shelf 1. On the shelf 1, you see a mug 1."
    assert play(shelf, info(*GOES[1:])) == "take mug 1 from shelf 1"
    play.observe("You pick up the mug 1 from the shelf 1.", info(*GOES[1:]), "move mug 1 to shelf 1")
    assert play("You move the mug 1 to the shelf 1.", info(*GOES[1:])) == "take mug 1 from shelf 1"
    assert play("You pick up the mug 1 from the shelf 1.", info(*GOES[1:])) == "go to microwave 1"
    assert play("You arrive at microwave 1.", info(*GOES[:2])) == "heat mug 1 with microwave 1"
    play.observe("You heat the mug 1.", info(*GOES[:2]), "cool mug 1 with fridge 1")
    assert play("You cool the mug 1.", info(*GOES[:2])) == "heat mug 1 with microwave 1"


def test_when_nothing_is_left_to_search_it_looks_around() -> None:
    play = Explorer()
    play("A shelf: you see a shelf 1. Your task is to: x", info("go to shelf 1"))
    assert play("You arrive at shelf 1. On the shelf 1, you see nothing.", info()) == "look"


def test_an_opening_starts_a_new_episode() -> None:
    play = Explorer()
    first = [play(OPENING, info(*GOES)), play("On the shelf 1, you see a mug 1.", info(*GOES[1:]))]
    again = [play(OPENING, info(*GOES)), play("On the shelf 1, you see a mug 1.", info(*GOES[1:]))]
    assert first == again == ["go to shelf 1", "take mug 1 from shelf 1"]


def test_an_unknown_goal_is_named() -> None:
    with pytest.raises(ValueError, match="goal 'dance' follows none"):
        Explorer()(OPENING, info(goal="dance"))


def test_unknown_places_come_last() -> None:
    assert search_rank("mug", "attic") > search_rank("mug", "stoveburner")


@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_it_wins_nearly_every_real_game(alfworld_data: Path, split: str) -> None:
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split=split)
    total = evaluate(env, Explorer(), len(env.unwrapped.games)).total
    assert total.success >= 0.97
    assert total.mean_steps < 10
