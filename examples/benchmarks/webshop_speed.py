"""How fast and how light WebShop is, on the recorded episodes with search included.

    python examples/benchmarks/webshop_speed.py --data ../shared/data/webshop

The original text environment took 56 steps/s without its search; it needs Java and an old Python, so it cannot run
beside this one. Times are processor time of one process, so that other work on the machine counts little.
"""

# CI arguments:
# CI data: WEBSHOP_DATA

import argparse
import json
import lzma
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agentkit.envs.webshop import WebShopEnv

ORIGINAL_STEPS_PER_SECOND = 56


def peak_megabytes() -> float:
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def play(env: WebShopEnv, episodes: list[dict[str, Any]]) -> tuple[float, float]:
    """(steps a second, microseconds a reset) over the episodes."""
    steps, resetting, start = 0, 0.0, time.process_time()
    for episode in episodes:
        begin = time.process_time()
        env.reset(options={"goal_index": episode["goal_index"], "goal": episode["goal"]})
        resetting += time.process_time() - begin
        for step in episode["steps"]:
            env.step(step["action"])
            steps += 1
    return steps / (time.process_time() - start), resetting / len(episodes) * 1e6


def snapshot_microseconds(env: WebShopEnv, rounds: int = 2000) -> float:
    """Microseconds for one snapshot and restore."""
    start = time.process_time()
    for _ in range(rounds):
        env.restore(env.snapshot())
    return (time.process_time() - start) / rounds * 1e6


def print_start(folder: Path) -> None:
    """Start a fresh process and print how long the shop takes to be ready there, and its memory."""
    code = (
        "import resource, sys, time; import gymnasium; from agentkit.envs.webshop import WebShopEnv\n"
        "start = time.perf_counter(); env = WebShopEnv(sys.argv[1], nouns='rules'); env.reset(seed=0)\n"
        "env.step('search[red shoes]'); peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "print(f'ready, with a first search, in {time.perf_counter() - start:.3f} s; {peak:.0f} MB with Python itself')"
    )
    result = subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True)
    print(f"in a fresh process: {result.stdout.strip()}")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WEBSHOP_DATA", "../shared/data/webshop"))
    folder = parser.parse_args().data
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    start = time.perf_counter()
    env = WebShopEnv(folder, nouns="rules", max_steps=None)
    print(f"shop ready in {time.perf_counter() - start:.3f} s (built now, unless the cache has it)")
    print_start(folder)
    with lzma.open(folder / "reference" / "transcripts.json.xz") as file:
        episodes = json.load(file)
    for label in ("every search new", "searches remembered"):
        speed, reset = play(env, episodes)
        ratio = speed / ORIGINAL_STEPS_PER_SECOND
        print(f"{label}: {speed:,.0f} steps/s, {ratio:.0f} times the original's 56; reset {reset:.0f} µs")
    env.reset(seed=0)
    env.step("search[red shoes]")
    print(f"snapshot and restore: {snapshot_microseconds(env):.0f} µs")
    before = peak_megabytes()
    crowd = [WebShopEnv(folder, nouns="rules") for _ in range(2000)]
    for seed, member in enumerate(crowd):
        member.reset(seed=seed)
    print(f"2,000 environments: {(peak_megabytes() - before) * 1024 / len(crowd):.1f} KB each")


if __name__ == "__main__":
    main()
