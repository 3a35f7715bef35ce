"""The fast engine says what stock TextWorld says: real games of every task type and generation, and a hard small one.

The full comparison is examples/benchmarks/alfworld_conformance.py; its engines and policies are used here.
"""

import importlib.resources
import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textworld", reason='no stock engine: pip install "gym-agentkit[alfworld]"')

from agentkit.envs.alfworld.fast import FastEngine
from agentkit.envs.alfworld.world import TASK_TYPES
from examples.benchmarks.alfworld_conformance import (
    Policy,
    StockEngine,
    compare_play,
    follow,
    roam,
    under_logic,
    wander,
)
from tests.envs.alfworld.fast_small_game import HEAT_GOAL, small_domain, small_game, small_problem

GAMES_PER_TYPE = 4


@pytest.fixture(scope="module")
def stock() -> StockEngine:
    return StockEngine()


def real_game(data: Path, task_type: str, index: int) -> dict[str, Any]:
    """A validation game; the order is fixed, and half of them are from rooms that training never shows."""
    split = ("valid_seen", "valid_unseen")[index % 2]
    paths = sorted((data / "json_2.1.1" / split).glob(f"{task_type}-*/*/game.tw-pddl"))
    random.Random(task_type).shuffle(paths)
    return json.loads(paths[index // 2].read_text(encoding="utf-8"))


def assert_same(stock: StockEngine, game: dict[str, Any], policy: Policy, name: str) -> list[str]:
    """Play on both engines; returns the actions that were admissible."""
    fast = FastEngine(game)
    stock.load(game)
    actions: list[str] = []
    menu: tuple[str, ...] = ()
    for action, expected, actual in compare_play(stock, fast, policy, random.Random(name)):
        assert actual == expected, f"{name}, after {action!r}"
        if action in menu:
            actions.append(action)
        menu = actual.admissible_commands
    return actions


@pytest.mark.slow
@pytest.mark.parametrize("index", range(GAMES_PER_TYPE))
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_real_games(stock: StockEngine, alfworld_data: Path, task_type: str, index: int) -> None:
    game = real_game(alfworld_data, task_type, index)
    assert set(assert_same(stock, game, wander(game["walkthrough"]), f"{task_type} {index}"))


@pytest.mark.slow
@pytest.mark.parametrize("task_type", TASK_TYPES[:3])
def test_real_games_under_the_older_domain_and_grammar(stock: StockEngine, alfworld_data: Path, task_type: str) -> None:
    game = under_logic(real_game(alfworld_data, task_type, 0), alfworld_data / "logic")
    actions = assert_same(stock, game, follow(game["walkthrough"]), f"{task_type} old")
    assert "help" not in actions
    assert task_type == "look_at_obj_in_light" or any(action.startswith("put ") for action in actions)


@pytest.mark.slow
def test_a_real_game_under_the_installed_domain_and_grammar(stock: StockEngine, alfworld_data: Path) -> None:
    logic = Path(str(importlib.resources.files("alfworld") / "data"))
    game = under_logic(real_game(alfworld_data, TASK_TYPES[0], 1), logic)
    assert "help" in assert_same(stock, game, follow(game["walkthrough"]), "installed")


@pytest.mark.slow
def test_slicing_in_a_real_kitchen(stock: StockEngine, alfworld_data: Path) -> None:
    for path in sorted((alfworld_data / "json_2.1.1" / "valid_seen").glob("pick_heat*/*/game.tw-pddl")):
        game = json.loads(path.read_text(encoding="utf-8"))
        plan = slicing_plan(FastEngine(game))
        if plan:
            break
    actions = assert_same(stock, game, follow(plan), "slice")
    assert actions[: len(plan)] == plan
    assert plan[-2].startswith("slice ")


def slicing_plan(engine: FastEngine) -> list[str]:
    """Take a knife that lies in the open, go to something to slice that lies in the open, slice it twice."""
    world = engine.world
    lying = [r for r in range(len(world.receptacle_names)) if not world.openable >> r & 1]
    knives = [(r, o) for r in lying for o in range(len(world.object_names)) if _is(world.knives, world.initial, r, o)]
    foods = [(r, o) for r in lying for o in range(len(world.object_names)) if _is(world.sliceable, world.initial, r, o)]
    if not knives or not foods:
        return []
    (at, knife), (there, food) = knives[0], foods[-1]
    names, places = world.object_names, world.receptacle_names
    slicing = f"slice {names[food]} with {names[knife]}"
    start = [f"go to {places[at]}", f"take {names[knife]} from {places[at]}"]
    return [*start, *([] if at == there else [f"go to {places[there]}"]), slicing, slicing]


def _is(kind: int, state: Any, receptacle: int, obj: int) -> bool:
    return bool(kind & state.contents[receptacle] & 1 << obj)


@pytest.mark.parametrize("seed", range(2))
def test_random_play_of_the_small_game(stock: StockEngine, seed: int) -> None:
    actions = assert_same(stock, small_game(), roam(60), f"small {seed}")
    assert len({action.split()[0] for action in actions}) >= 8


@pytest.mark.parametrize(
    "actions",
    [
        # Sliced, clean, then hot, then cold food; each look at it has its own words.
        [
            *("pull knife 1 out of table 1", "slice apple 11 with knife 1", "slice apple 11 with knife 1"),
            *("drop knife 1 on table 1", "pull apple 11 out of table 1", "examine apple 11", "walk to sinkbasin 1"),
            *("clean apple 11 with sinkbasin 1", "examine apple 11", "walk to microwave 1"),
            *("heat apple 11 with microwave 1", "examine apple 11", "walk to fridge 1"),
            *("cool apple 11 with fridge 1", "examine apple 11", "inventory"),
        ],
        # An object in two receptacles at one place: taken twice, named beside both.
        [
            *("walk to sink 1", "pull mug 1 out of sink 1", "look", "drop mug 1 on sink 1", "look"),
            *("pull mug 1 out of sinkbasin 1", "drop mug 1 on sinkbasin 1", "look", "examine sink 1"),
            *("pull mug 1 out of sinkbasin 1", "examine mug 1", "drop mug 1 on sink 1", "look", "examine sinkbasin 1"),
        ],
        # Lamps, twice; inside a closed drawer, and in the open one.
        ["use desklamp 1", "use desklamp 1", "open drawer 1", "use desklamp 1", "close drawer 1", "use desklamp 1"],
        # The cold apple from the start, and the bowl with a key inside.
        [
            *("walk to fridge 1", "open fridge 1", "pull apple 8 out of fridge 1", "examine apple 8", "close fridge 1"),
            *("drop apple 8 on fridge 1", "walk to shelf 1", "drop apple 8 on shelf 1", "pull bowl 1 out of shelf 1"),
            *(
                "examine bowl 1",
                "clean bowl 1 with sink 1",
                "walk to sink 1",
                "clean bowl 1 with sink 1",
                "examine bowl 1",
            ),
        ],
    ],
    ids=["slice", "sink", "lamp", "bowl"],
)
def test_plans_in_the_small_game(stock: StockEngine, actions: list[str]) -> None:
    assert_same(stock, small_game(), follow(actions), "plan")


@pytest.mark.parametrize(
    "facts",
    [
        "(isClean mug_bar_1) (isHot mug_bar_1) (inReceptacle mug_bar_1 shelf_bar_1)",  # won from the start
        "(opened fridge_bar_1) (isSliced apple_bar_03) (isToggled desklamp_bar_1)",
        "(opened table_bar_1) (checked drawer_bar_1)",
    ],
)
def test_unusual_starts(stock: StockEngine, facts: str) -> None:
    assert_same(stock, small_game(pddl_problem=small_problem(facts=facts)), roam(25), facts)


def test_a_domain_without_help(stock: StockEngine) -> None:
    assert_same(stock, small_game(pddl_domain=small_domain(with_help=False)), roam(15), "no help")


def test_a_start_away_from_everything(stock: StockEngine) -> None:
    problem = small_problem(HEAT_GOAL).replace("(atLocation agent1 loc_bar_1)", "(atLocation agent1 loc_bar_6)")
    problem = problem.replace("loc_bar_5 - location", "loc_bar_5 loc_bar_6 - location")
    actions = assert_same(stock, small_game(pddl_problem=problem), follow(["look", "walk to sink 1", "look"]), "away")
    assert actions[:2] == ["look", "walk to sink 1"]
