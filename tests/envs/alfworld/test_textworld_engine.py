"""The stock engine in our environment, against the fast one, on one game: it is slow."""

import json
import os
import pickle
import random
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from agentkit.envs.alfworld.engines import make_engine
from agentkit.envs.alfworld.games import GameData, list_games, read_game
from agentkit.envs.alfworld.textworld_engine import TextWorldEngine
from agentkit.envs.alfworld.world import GameFileError


@pytest.fixture(scope="module")
def path(made_data: Path) -> str:
    return list_games(made_data, "train", ["look_at_obj_in_light"])[0]


def actions_to_try(path: str) -> list[str]:
    """The walkthrough with detours: things that change nothing, and a lamp that is switched on and off."""
    first, *rest = json.loads(Path(path).read_text())["walkthrough"]
    return ["look", first, "inventory", "no such thing", *rest[:-1], "help", rest[-1]]


def test_both_engines_tell_the_same_episode(path: str) -> None:
    arguments = list(sys.argv)
    stock, fast = (
        gym.make("agentkit/ALFWorld-v0", games=[path], engine=e, oracle_roles=True) for e in ("textworld", "fast")
    )
    assert stock.reset(seed=0) == fast.reset(seed=0)
    for action in actions_to_try(path):
        assert stock.step(action) == fast.step(action)
    assert sys.argv == arguments, "fast_downward's change of the process's arguments is undone"


def test_loading_stock_alfworld_leaves_the_environment_variables_alone(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    for name in [name for name in sys.modules if name.split(".")[0] == "alfworld"]:
        monkeypatch.delitem(sys.modules, name)
    TextWorldEngine(read_game(path))
    assert "alfworld" in sys.modules
    assert "ALFWORLD_DATA" not in os.environ


def test_without_a_mirror_the_facts_tell_what_changed(path: str) -> None:
    stock, fast = TextWorldEngine(read_game(path)), make_engine("fast", path)
    turn, _ = stock.reset(), fast.reset()
    rng = random.Random(0)
    for _ in range(25):
        action = rng.choice(turn.admissible_commands)
        before, fast_before = stock.state, fast.state
        turn = stock.step(action)
        fast.step(action)
        assert (stock.state != before) == (fast.state != fast_before), action
    assert stock.world is None


def test_snapshots_and_pickles_play_the_actions_again(path: str) -> None:
    env = gym.make("agentkit/ALFWorld-v0", games=[path], engine="textworld").unwrapped
    env.reset(seed=0)
    steps = json.loads(Path(path).read_text())["walkthrough"]
    env.step(steps[0])
    twin, snapshot = pickle.loads(pickle.dumps(env)), env.snapshot()
    following = env.step(steps[1])
    assert twin.step(steps[1]) == following
    env.restore(snapshot)
    assert env.step(steps[1]) == following


def test_a_game_that_textworld_cannot_load_is_named() -> None:
    with pytest.raises(GameFileError, match=r"broken\.tw-pddl: TextWorld cannot load it"):
        TextWorldEngine(GameData("broken.tw-pddl", pddl_domain="(", grammar="(", pddl_problem="("))
