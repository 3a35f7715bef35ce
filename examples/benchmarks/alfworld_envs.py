"""How fast is `agentkit/ALFWorld-v0` as an environment: info, ground truth and vectors included?

    python examples/benchmarks/alfworld_envs.py

Random play on the games of a split. Prints, in CPU time of this process, the steps a second of one environment, of
vectors of them (resets included), the time of a listing, and how the experts do. Needs ALFWORLD_DATA.
"""

# CI arguments: --steps 2000 --episodes 4 --vectors 8
# CI data: ALFWORLD_DATA

import argparse
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

import agentkit
from agentkit.actors import ExpertActor
from agentkit.envs.alfworld.games import list_games


def cpu_seconds(work: Callable[[], Any]) -> float:
    """The CPU time of this process during a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def one_environment(steps: int, **options: Any) -> float:
    """Steps a second of one environment under random play, resets included."""
    env = gym.make("agentkit/ALFWorld-v0", split="valid_unseen", **options)
    rng = np.random.default_rng(0)

    def play() -> None:
        _, info = env.reset(seed=0)
        for _ in range(steps):
            actions = info["admissible_actions"]
            *_, terminated, truncated, info = env.step(actions[rng.integers(len(actions))])
            if terminated or truncated:
                _, info = env.reset()

    play()  # the games are compiled once for a process
    return steps / cpu_seconds(play)


def vector(copies: int, steps: int) -> float:
    """Environment steps a second of ``copies`` environments in this process, resets included."""
    envs = agentkit.make_vec(
        "agentkit/ALFWorld-v0", copies, split="valid_unseen", autoreset_mode=AutoresetMode.SAME_STEP
    )
    rng = np.random.default_rng(0)

    def play() -> None:
        _, info = envs.reset(seed=0)
        for _ in range(steps // copies):
            menus = info["admissible_actions"]
            *_, info = envs.step(tuple(menu[rng.integers(len(menu))] for menu in menus))

    play()
    return steps // copies * copies / cpu_seconds(play)


def experts(episodes: int | None) -> None:
    """Success and mean steps of both experts on both validation splits."""
    for split in ("valid_seen", "valid_unseen"):
        env = gym.make("agentkit/ALFWorld-v0", split=split)
        unwrapped: Any = env.unwrapped
        count = episodes or len(unwrapped.games)
        for kind in ("planner", "explorer"):
            total = agentkit.evaluate(env, ExpertActor(kind, env), count).total
            print(f"{kind:<9} {split:<13} {total.won}/{total.episodes} won, {total.mean_steps:.1f} steps")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--vectors", type=int, nargs="+", default=[8, 64, 256])
    parser.add_argument("--episodes", type=int, help="how many games the experts play; default: all")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, one used; {platform.machine()}; Python {platform.python_version()}")
    print(f"one environment: {one_environment(arguments.steps):,.0f} steps/s")
    print(f"  with oracle roles: {one_environment(arguments.steps // 20, oracle_roles=True):,.0f} steps/s")
    for copies in arguments.vectors:
        print(f"make_vec of {copies}: {vector(copies, arguments.steps):,.0f} steps/s")
    data = Path(os.environ["ALFWORLD_DATA"])
    for when in ("first", "second"):
        seconds = cpu_seconds(lambda: list_games(str(data), "train"))
        print(f"{when} listing of {len(list_games(str(data), 'train'))} games: {seconds * 1000:.0f} ms")
    experts(arguments.episodes)


if __name__ == "__main__":
    main()
