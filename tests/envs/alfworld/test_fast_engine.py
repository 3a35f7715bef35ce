"""The fast engine as an environment: texts, snapshots, sharing, memory, errors."""

import gc
import json
import pickle
import random
import tracemalloc
from pathlib import Path

import pytest

from agentkit.envs.alfworld.fast import FastEngine, UnsupportedGame, load_game
from agentkit.envs.alfworld.world import GameFileError
from tests.envs.alfworld.fast_small_game import WALKTHROUGH, small_game, small_problem


@pytest.fixture
def engine() -> FastEngine:
    return FastEngine(small_game())


def wander(engine: FastEngine, steps: int, seed: int = 0) -> list[tuple[str, object]]:
    rng = random.Random(seed)
    turns = []
    for _ in range(steps):
        action = rng.choice([*engine.turn.admissible_commands, "nonsense"])
        turns.append((action, engine.step(action)))
    return turns


def test_the_opening_by_hand(engine: FastEngine) -> None:
    text = "A small game.\n\nBefore drawer 1& table 1, beside no thing.\n\nYour task is to: put a hot mug in shelf."
    assert engine.turn.feedback == text
    assert engine.turn.admissible_commands == (
        "examine drawer 1", "examine table 1", "help", "inventory", "look", "open drawer 1",
        *(f"pull apple {i} out of table 1" for i in (1, 11, 3, 5, 7, 9)), "pull knife 1 out of table 1",
        "use desklamp 1", *(f"walk to {r}" for r in ("fridge 1", "microwave 1", "shelf 1", "sink 1", "sinkbasin 1")),
    )  # fmt: skip
    assert engine.turn[2:] == (0, False, False)


@pytest.mark.parametrize(
    ("actions", "feedback"),
    [
        (["look"], "Before drawer 1& table 1, beside no thing."),
        (["examine drawer 1"], "drawer 1 is shut."),
        (["open drawer 1"], "Open: drawer 1. In the open drawer 1: a desklamp 1."),
        (["inventory"], "Empty-handed."),
        (["help"], "Help yourself.\n"),
        (["open fridge 1"], "Nothing happens."),
        (["  use desklamp 1 "], "desklamp 1 goes on."),
        (["Look"], "Nothing happens."),
        (["pull knife 1 out of table 1", "inventory"], "In hand: a knife 1."),
        (["pull knife 1 out of table 1", "pull apple 1 out of table 1"], "Nothing happens."),
        (["pull knife 1 out of table 1", "examine knife 1"], "plain knife 1."),
        (["walk to shelf 1", "look"], "Before shelf 1, beside no thing."),
        (["walk to shelf 1", "pull bowl 1 out of shelf 1", "examine bowl 1"], "bowl 1 holding a keychain 1"),
        (["walk to sink 1", "pull mug 1 out of sink 1", "examine sink 1"], "On sink 1: no object."),
        (["walk to sink 1", "pull mug 1 out of sink 1", "examine sinkbasin 1"], "On sinkbasin 1: a mug 1."),
        (
            ["walk to sink 1", "pull mug 1 out of sink 1", "drop mug 1 on sinkbasin 1", "look"],
            "Before sink 1& sinkbasin 1, beside a mug 1.",
        ),
        (["examine apple 1"], "Nothing happens."),
    ],
)
def test_feedback_by_hand(engine: FastEngine, actions: list[str], feedback: str) -> None:
    for action in actions:
        turn = engine.step(action)
    assert turn.feedback == feedback


def test_the_walkthrough_wins_and_the_game_can_be_lost_again(engine: FastEngine) -> None:
    turns = [engine.step(action) for action in WALKTHROUGH]
    assert [turn.won for turn in turns] == [False] * 5 + [True]
    assert turns[-1].score == 1
    assert engine.step("nonsense").won
    assert not engine.step("pull mug 1 out of shelf 1").won


def test_reset_forgets_everything(engine: FastEngine) -> None:
    first = engine.turn
    wander(engine, 50)
    assert engine.reset() == first
    assert engine.state == engine.world.initial


@pytest.mark.parametrize("steps", [0, 1, 7, 60])
def test_a_restored_engine_goes_on_as_the_original(engine: FastEngine, steps: int) -> None:
    wander(engine, steps)
    snapshot = pickle.loads(pickle.dumps(engine.snapshot()))
    then = engine.turn
    future = wander(engine, 30, seed=1)
    other = FastEngine(small_game())
    assert other.restore(snapshot) == then
    assert wander(other, 30, seed=1) == future


def test_snapshots_do_not_grow(engine: FastEngine) -> None:
    wander(engine, 20)
    size = len(pickle.dumps(engine.snapshot().state))
    wander(engine, 2000)
    assert len(pickle.dumps(engine.snapshot().state)) < size + 200


def test_an_engine_survives_pickling(engine: FastEngine) -> None:
    wander(engine, 20)
    copy = pickle.loads(pickle.dumps(engine))
    assert copy.turn == engine.turn
    assert wander(copy, 20) == wander(engine, 20)


def test_another_games_snapshot_names_both_files(tmp_path: Path) -> None:
    paths = [tmp_path / "one.tw-pddl", tmp_path / "two.tw-pddl"]
    paths[0].write_text(json.dumps(small_game()))
    paths[1].write_text(json.dumps(small_game(pddl_problem=small_problem(facts="(isClean mug_bar_1)"))))
    one, two = map(FastEngine, paths)
    assert FastEngine(small_game()).restore(one.snapshot()) == one.turn, "where the file lies does not matter"
    with pytest.raises(ValueError, match=r"one\.tw-pddl, but the engine plays .*two\.tw-pddl"):
        two.restore(one.snapshot())


def test_engines_of_one_content_share_a_game_until_nobody_plays_it() -> None:
    first, second = FastEngine(small_game()), FastEngine(small_game())
    assert first.game is second.game
    assert pickle.loads(pickle.dumps(first)).game is first.game
    assert FastEngine(small_game(walkthrough=["look"])).game.walkthrough == ("look",)
    assert FastEngine(first.game).world is first.world
    assert FastEngine(small_game(pddl_problem=small_problem(facts="(isClean mug_bar_1)"))).game is not first.game


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"pddl_domain": "(def', "cut short or not JSON"),
        ("", "cut short or not JSON"),
        ("[1, 2]", "holds a list"),
        ('{"pddl_domain": "x", "grammar": "y"}', "'pddl_problem'"),
        ('{"pddl_domain": 3, "grammar": "y", "pddl_problem": "z"}', "'pddl_domain'"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "broken.tw-pddl"
    path.write_text(content)
    with pytest.raises(GameFileError, match=reason) as caught:
        FastEngine(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_game(tmp_path / "none.tw-pddl")


def test_a_foreign_domain_is_unsupported() -> None:
    with pytest.raises(UnsupportedGame, match="domain"):
        FastEngine(small_game(pddl_domain="(define (domain blocks) (:action stack))"))


def test_long_play_does_not_grow(engine: FastEngine) -> None:
    for seed in range(20):
        engine.reset()
        wander(engine, 200, seed)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for seed in range(40):
        engine.reset()
        wander(engine, 200, seed)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000


def test_every_validation_walkthrough_wins(alfworld_data: Path) -> None:
    games = sorted((alfworld_data / "json_2.1.1").glob("valid_*/*/*/game.tw-pddl"))
    assert len(games) == 274
    for path in games:
        engine = FastEngine(path)
        turns = [engine.step(action) for action in engine.game.walkthrough]
        assert turns[-1].won, path
        assert "Nothing happens." not in [turn.feedback for turn in turns], path
