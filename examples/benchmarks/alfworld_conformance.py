"""Is the fast ALFWorld engine exact? Plays the same actions on it and on stock TextWorld, and compares every text.

Each game is played three times: its walkthrough, the walkthrough with random detours, and 50 random steps. Random steps
draw a verb first, so rare ones (use, slice, examine) come up, and one in eight is not admissible. All plays go on after
winning. Compared after the reset and each step: feedback, admissible commands in order, score, won and done.

    python examples/benchmarks/alfworld_conformance.py                  # 274 validation and 500 training games: hours
    python examples/benchmarks/alfworld_conformance.py --games 20       # 20 of them, in four minutes
    python examples/benchmarks/alfworld_conformance.py --shard 1/4 --log run1.jsonl    # a quarter; again to resume
    python examples/benchmarks/alfworld_conformance.py --old-logic      # the games under the older domain and grammar

Needs `pip install "gym-agentkit[alfworld]"` and ALFWORLD_DATA. The exit status is 1 when anything differs.
"""

# CI arguments: --games 2
# CI data: ALFWORLD_DATA

import argparse
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import attrs

from agentkit.envs.alfworld.fast import FastEngine, Turn
from agentkit.extras import require

SPLITS = ("valid_seen", "valid_unseen", "train")
RANDOM_STEPS = 50
NONSENSE = ("", "xyzzy", "look around", "go to nowhere 1", "take apple", "Look", " look ", "open  drawer 1")

# A policy sees the present turn and the random generator, and names the next action; None ends the play.
Policy = Callable[[Turn, random.Random], str | None]


@attrs.frozen
class Comparison:
    """What came of one game: how many turns were compared, and a description of each difference."""

    game: str
    turns: int
    mismatches: list[str]


class StockEngine:
    """The reference: textworld's PddlEnv under alfworld's AlfredDemangler. One instance plays many games in turn."""

    def __init__(self) -> None:
        textworld = require("textworld", "alfworld")
        with patch.dict(os.environ):  # importing alfworld sets ALFWORLD_DATA, which would hide the games from others
            demangler = require("alfworld.agents.environment.alfred_tw_env", "alfworld").AlfredDemangler
        infos = textworld.EnvInfos(feedback=True, admissible_commands=True, score=True, won=True, lost=True)
        self._env = demangler(require("textworld.envs", "alfworld").PddlEnv(infos), shuffle=False)

    def load(self, game: dict[str, Any]) -> None:
        """Compile a game (more than half a second)."""
        self._env.load(game)

    def reset(self) -> Turn:
        """The opening; stock leaves score and done unset there, which counts as 0 and as whether it is won."""
        state = self._env.reset()
        won = bool(state["won"])
        return Turn(state.feedback, tuple(state["admissible_commands"]), int(won), won, won)

    def step(self, action: str) -> Turn:
        """One action."""
        state, score, done = self._env.step(action)
        return Turn(state.feedback, tuple(state["admissible_commands"]), score, bool(state["won"]), bool(done))


def follow(walkthrough: Sequence[str]) -> Policy:
    """The walkthrough, then four actions after winning."""
    rest = iter([*walkthrough, "look", "inventory", "help", walkthrough[-1] if walkthrough else "look"])
    return lambda turn, rng: next(rest, None)


def wander(walkthrough: Sequence[str]) -> Policy:
    """The walkthrough, with a random step before each of its actions in two cases of three."""
    rest = list(reversed(walkthrough))
    detour = False

    def policy(turn: Turn, rng: random.Random) -> str | None:
        nonlocal detour
        detour = not detour and rng.random() < 2 / 3
        if not rest:
            return None
        return random_action(turn, rng) if detour else rest.pop()

    return policy


def roam(steps: int = RANDOM_STEPS) -> Policy:
    """Random play."""
    count = iter(range(steps))
    return lambda turn, rng: random_action(turn, rng) if next(count, None) is not None else None


def random_action(turn: Turn, rng: random.Random) -> str:
    """A random verb, then a random command with it; one time in eight something that is not admissible."""
    commands = turn.admissible_commands
    if rng.random() < 1 / 8:
        wrong = [command.replace(" 1", " 99") for command in commands] + [command[:-1] for command in commands]
        return rng.choice([*NONSENSE, *wrong])
    verb = rng.choice(sorted({command.split()[0] for command in commands}))
    return rng.choice([command for command in commands if command.split()[0] == verb])


def compare_game(stock: StockEngine, game: dict[str, Any], name: str, seed: int = 0) -> Comparison:
    """Play one game three times on both engines. A play ends at its first difference."""
    stock.load(game)
    fast = FastEngine(game)
    walkthrough = fast.game.walkthrough
    turns, mismatches = 0, []
    for label, policy in (("walkthrough", follow(walkthrough)), ("detours", wander(walkthrough)), ("random", roam())):
        rng = random.Random(f"{seed} {name} {label}")
        for action, expected, actual in compare_play(stock, fast, policy, rng):
            turns += 1
            if expected != actual:
                mismatches.append(f"{name} ({label}), after {action!r}: {_describe(expected, actual)}")
                break
    return Comparison(name, turns, mismatches)


def compare_play(
    stock: StockEngine, fast: FastEngine, policy: Policy, rng: random.Random
) -> Iterator[tuple[str, Turn, Turn]]:
    """Play on both engines from a reset; yields each action with stock's turn and the fast engine's."""
    expected, actual = stock.reset(), fast.reset()
    yield "reset", expected, actual
    while (action := policy(actual, rng)) is not None:
        expected, actual = stock.step(action), fast.step(action)
        yield action, expected, actual


def _describe(expected: Turn, actual: Turn) -> str:
    parts = [
        f"{field}: stock {want!r}, fast {got!r}"
        for field, want, got in zip(Turn._fields, expected, actual, strict=True)
        if want != got
    ]
    return "; ".join(parts)


def find_games(data: Path, splits: Sequence[str], games: int | None, seed: int) -> list[Path]:
    """The games to play, in a seeded order: all of the validation splits and 500 of train, or `games` of the chosen."""
    found: list[Path] = []
    for split in splits:
        paths = sorted((data / "json_2.1.1" / split).glob("*/*/game.tw-pddl"))
        random.Random(f"{seed} {split}").shuffle(paths)
        found += paths[:500] if split == "train" and games is None else paths
    random.Random(seed).shuffle(found)
    return found if games is None else found[:games]


def under_logic(game: dict[str, Any], logic: Path) -> dict[str, Any]:
    """The same problem and task under the domain and grammar of a folder, its walkthrough reworded to suit."""
    task = game["grammar"].split("Your task is to: ", 1)[1].split('."', 1)[0]
    grammar = (logic / "alfred.twl2").read_text(encoding="utf-8").replace("UNKNOWN GOAL", task)
    walkthrough = game["walkthrough"]
    if '"put {o} in/on {r}"' in grammar:
        walkthrough = [re.sub(r"^move (.*) to ", r"put \1 in/on ", command) for command in walkthrough]
    domain = (logic / "alfred.pddl").read_text(encoding="utf-8")
    return {**game, "pddl_domain": domain, "grammar": grammar, "walkthrough": walkthrough}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=os.environ.get("ALFWORLD_DATA"), help="default: ALFWORLD_DATA")
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--games", type=int, help="how many games; default: all validation games and 500 of train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shard", default="1/1", help="I/N: play only every N-th game, from the I-th")
    parser.add_argument("--log", type=Path, help="append a JSON line per game; games that it has are not played again")
    parser.add_argument("--old-logic", action="store_true", help="use the older domain and grammar, of <data>/logic")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no game after this time")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("set ALFWORLD_DATA or give --data: the folder that holds json_2.1.1")
    return arguments


def main() -> int:
    arguments = _arguments()
    first, step = map(int, arguments.shard.split("/"))
    paths = find_games(arguments.data, arguments.splits, arguments.games, arguments.seed)[first - 1 :: step]
    done: dict[str, dict[str, Any]] = {}
    if arguments.log is not None and arguments.log.exists():
        done = {entry["game"]: entry for entry in map(json.loads, arguments.log.read_text().splitlines())}
    stock = StockEngine()
    started = time.perf_counter()
    results = []
    for path in paths:
        name = str(path.relative_to(arguments.data / "json_2.1.1").parent)
        if name not in done and time.perf_counter() - started < 60 * arguments.minutes:
            game = json.loads(path.read_text(encoding="utf-8"))
            if arguments.old_logic:
                game = under_logic(game, arguments.data / "logic")
            done[name] = attrs.asdict(compare_game(stock, game, name, arguments.seed))
            for mismatch in done[name]["mismatches"]:
                print(mismatch, flush=True)
            if arguments.log is not None:
                with arguments.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(done[name]) + "\n")
        if name in done:
            results.append(done[name])
    wrong = sum(len(result["mismatches"]) for result in results)
    turns = sum(result["turns"] for result in results)
    print(f"{len(results)} of {len(paths)} games, {turns} turns compared, {wrong} mismatches")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
