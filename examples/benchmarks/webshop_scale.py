"""WebShop with many products: build time, memory and query time on generated ones.

python examples/benchmarks/webshop_scale.py --products 100000
"""

# CI arguments: --products 500

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agentkit.envs.webshop import Catalogue, GeneratedSource
from agentkit.envs.webshop.nouns import RuleNouns
from agentkit.envs.webshop.store import open_store

QUERIES = (
    "machine wash short sleeve men's t-shirts navy blue x-large",
    "gluten free granola bars for travel",
    "noise cancelling headphones",
    "solid wood console table espresso 120 cm",
    "premium",
)


def peak_megabytes() -> float:
    """Peak resident memory of this process, in MB (Linux)."""
    # Not getrusage: a child process inherits its parent's peak there.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def use(products: int, cache: Path) -> None:
    """Open a built shop and print what opening and searching it take."""
    start = time.perf_counter()
    catalogue = Catalogue(GeneratedSource(products), RuleNouns(), cache=cache)
    print(f"open: {time.perf_counter() - start:.2f} s, {len(catalogue.goals(False)):,} synthetic goals")
    for attempt in ("first", "second"):
        start = time.perf_counter()
        for query in QUERIES:
            catalogue.search_hits(query, 50)
        print(f"{attempt} query: {(time.perf_counter() - start) / len(QUERIES) * 1e3:.2f} ms on average")
    print(f"peak memory when used: {peak_megabytes():.0f} MB, memory-mapped files included")


def main() -> None:
    """Build in this process, use in another one, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=100_000)
    parser.add_argument("--use", type=Path, help="cache folder of a shop that is built already")
    arguments = parser.parse_args()
    if arguments.use is not None:
        use(arguments.products, arguments.use)
        return
    with tempfile.TemporaryDirectory() as cache:
        start, processor = time.perf_counter(), time.process_time()
        folder = open_store(GeneratedSource(arguments.products), Path(cache))
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        print(f"build: {seconds:.1f} s ({processor:.1f} s of processor time), {size / 2**20:.0f} MB on disk")
        print(f"peak memory of the build: {peak_megabytes():.0f} MB")
        command = [sys.executable, __file__, "--products", str(arguments.products), "--use", cache]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
