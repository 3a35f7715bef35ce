"""How fast is the fast ALFWorld engine? Same games, same actions on it and on stock TextWorld, in one process.

A step includes the observation's text and the admissible commands; all times are CPU times of this process. Prints
load, reset and step times of both engines and their ratios, then what only the fast engine has: memory of live
environments, growth over long runs, snapshots, and what a step's time is spent on.

    python examples/benchmarks/alfworld_speed.py              # five games on the stock engine, about a minute
    python examples/benchmarks/alfworld_speed.py --games 20

Needs `pip install "gym-agentkit[alfworld]"` and ALFWORLD_DATA.
"""

# CI arguments: --games 1 --live 50 --long 20000
# CI data: ALFWORLD_DATA

import argparse
import gc
import json
import os
import pickle
import platform
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alfworld_conformance import StockEngine, find_games, random_action

from agentkit.envs.alfworld.fast import FastEngine, Turn
from agentkit.envs.alfworld.fast.dynamics import apply

STEPS = 40


def seconds(call: Callable[[], Any], repeat: int = 1) -> float:
    """Mean CPU time of a call: unlike the clock's, it does not count what other processes take from this core."""
    started = time.process_time()
    for _ in range(repeat):
        call()
    return (time.process_time() - started) / repeat


def show(label: str, value: str, note: str = "") -> None:
    """Print one aligned line."""
    print(f"{label:<44}{value:>14}  {note}".rstrip(), flush=True)


def machine() -> str:
    """Cores that this process may use, processor model, Python version."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores visible, one used; {model}; Python {platform.python_version()}"


def draw_actions(engine: FastEngine, rng: random.Random, steps: int = STEPS) -> list[str]:
    """A random play: mostly admissible actions, of all kinds."""
    turn: Turn = engine.reset()
    actions = []
    for _ in range(steps):
        actions.append(random_action(turn, rng))
        turn = engine.step(actions[-1])
    return actions


def play(engine: Any, actions: list[str]) -> None:
    """Do the actions one after the other."""
    for action in actions:
        engine.step(action)


def compare_engines(paths: list[Path], rng: random.Random) -> None:
    """Load, reset and step times of both engines."""
    stock = StockEngine()
    times = {name: {"load": [], "reset": [], "step": []} for name in ("stock", "fast")}
    for path in paths:
        # The engine is dropped again, so the timed load below compiles the game itself.
        actions = draw_actions(FastEngine(path), rng)
        times["stock"]["load"].append(seconds(lambda path=path: stock.load(json.loads(path.read_text()))))
        times["stock"]["reset"].append(seconds(stock.reset))
        times["stock"]["step"].append(seconds(lambda actions=actions: play(stock, actions)) / STEPS)
        started = time.process_time()
        fast = FastEngine(path)
        times["fast"]["load"].append(time.process_time() - started)
        times["fast"]["reset"].append(seconds(fast.reset, 200))
        fast.reset()
        first = seconds(lambda fast=fast, actions=actions: play(fast, actions))
        later = seconds(lambda fast=fast, actions=actions: (fast.reset(), play(fast, actions)), 49)
        times["fast"]["step"].append((first + 49 * later) / 50 / STEPS)
    means = {name: {what: sum(t) / len(t) for what, t in rows.items()} for name, rows in times.items()}
    for what in ("load", "reset", "step"):
        ours, theirs = means["fast"][what], means["stock"][what]
        ratio = f"{theirs / ours:,.0f} x faster than stock's {theirs * 1e3:.1f} ms"
        show(f"{what} on the fast engine", f"{ours * 1e6:,.1f} µs", ratio)
    show("steps a second", f"{1 / means['fast']['step']:,.0f}", f"stock {1 / means['stock']['step']:.1f}")


def measure_first_load(paths: list[Path]) -> None:
    """Load time over many games; in a fresh process the first one also parses domain and grammar."""
    times = sorted(seconds(lambda path=path: FastEngine(path)) for path in paths)
    note = f"slowest {times[-1] * 1e3:.1f} ms of {len(times)} games"
    show("load, median", f"{times[len(times) // 2] * 1e3:.2f} ms", note)


def measure_live(paths: list[Path], rng: random.Random, count: int) -> None:
    """Memory of many live environments, all of different games where there are enough, each played for a while."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    engines = [FastEngine(paths[i % len(paths)]) for i in range(count)]
    for engine in engines:
        draw_actions(engine, rng)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    games = len({id(engine.game) for engine in engines})
    show(f"memory of each of {count:,} live environments", f"{used / count / 1024:.1f} KB", f"{games} different games")


def measure_growth(path: Path, rng: random.Random, steps: int) -> None:
    """Memory before and after many resets and steps of one environment."""
    engine = FastEngine(path)
    plays = [draw_actions(engine, rng) for _ in range(250)]
    tracemalloc.start()
    for actions in plays:
        engine.reset()
        play(engine, actions)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(steps // 50):
        engine.reset()
    for i in range(steps // STEPS):
        play(engine, plays[i % len(plays)])
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    show(f"growth over {steps // 50:,} resets, {steps:,} steps", f"{grown / 1024:.1f} KB")


def measure_snapshots(path: Path, steps: int) -> None:
    """Time and size of snapshots, early and late in an episode."""
    engine = FastEngine(path)
    for label, count in (("at the start", 0), (f"after {steps:,} steps", steps)):
        rng = random.Random(0)
        draw_actions(engine, rng, count)
        snapshot = engine.snapshot()
        size = f"pickled {len(pickle.dumps(snapshot))} bytes"
        show(f"snapshot {label}", f"{seconds(engine.snapshot, 10_000) * 1e6:.2f} µs", size)
        show(f"restore {label}", f"{seconds(lambda at=snapshot: engine.restore(at), 10_000) * 1e6:.2f} µs")


def measure_floor(paths: list[Path], rng: random.Random) -> None:
    """What a step is spent on, each part alone over the same states; the rest is calls and records."""
    parts = {"rules": 0.0, "sentence": 0.0, "menu": 0.0, "goal": 0.0}
    count = 0
    for path in paths:
        engine = FastEngine(path)
        game, world = engine.game, engine.world
        engine.reset()
        for _ in range(STEPS):
            action = rng.choice(engine.turn.admissible_commands)
            op, before = game.op(action), engine.state
            engine.step(action)
            after = engine.state
            parts["rules"] += seconds(lambda w=world, s=before, o=op: apply(w, s, o), 20)
            parts["sentence"] += seconds(lambda g=game, s=after, o=op: g.narrator.tell(s, o), 20)
            parts["menu"] += seconds(lambda g=game, s=after: g.menu(s), 20)
            parts["goal"] += seconds(lambda w=world, s=after: w.is_won(s), 20)
            count += 1
    shares = ", ".join(f"{name} {total / count * 1e6:.1f} µs" for name, total in parts.items())
    show("parts of a step that changes something", f"{sum(parts.values()) / count * 1e6:.1f} µs", shares)
    commands = list(FastEngine(paths[0]).turn.admissible_commands)
    floor = seconds(lambda: (tuple(sorted(commands)), "{} {}".format("a", "b")), 100_000)
    show("floor: one sorted tuple and one sentence", f"{floor * 1e6:.1f} µs", "a pure Python step cannot be cheaper")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=os.environ.get("ALFWORLD_DATA"), help="default: ALFWORLD_DATA")
    parser.add_argument("--games", type=int, default=5, help="how many games the stock engine plays")
    parser.add_argument("--live", type=int, default=1_000, help="environments that live at once")
    parser.add_argument("--long", type=int, default=500_000, help="steps of the long run")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("set ALFWORLD_DATA or give --data: the folder that holds json_2.1.1")
    paths = find_games(arguments.data, ("valid_seen", "valid_unseen", "train"), arguments.live, arguments.seed)
    rng = random.Random(arguments.seed)
    print(machine())
    show("very first load, domain and grammar included", f"{seconds(lambda: FastEngine(paths[-1])) * 1e3:.2f} ms")
    compare_engines(paths[: arguments.games], rng)
    measure_first_load(paths[:200])
    measure_snapshots(paths[0], arguments.long // 100)
    measure_floor(paths[:20], rng)
    measure_live(paths, rng, arguments.live)
    measure_growth(paths[0], rng, arguments.long)


if __name__ == "__main__":
    main()
