"""Counterfactual branches a second on ALFWorld, by the actor that goes on, against replay on the stock engine.

All rows branch the states of the same episodes (an explorer with 30 % injected mistakes), with K alternatives a state,
and differ in who plays on: the planner, the explorer, a random actor, or SmolLM2. On the fast engine a branch starts
from a snapshot; on the stock one (TextWorld, which can only go back by playing again) from a replay of the episode so
far, each observation checked. Both are timed in one run on the same branches. Games are loaded before the clock starts.

    python examples/benchmarks/branch_speed.py             # some minutes, nearly all of it the stock engine and SmolLM2
"""

# CI arguments: --episodes 1 --states 2 --stock-states 1 --k 1 --max-steps 5 --no-smollm2
# CI data: ALFWORLD_DATA

import argparse
import functools
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym

import agentkit  # noqa: F401 - registers the environments
from agentkit.actors import ConstrainedReadoutActor, ExpertActor, MistakenActor, RandomActor
from agentkit.tables import text_table
from agentkit.trainers import collect_branches
from agentkit.wrappers import ReplaySnapshot

MISTAKES = 0.3


class Row(NamedTuple):
    """What one collection took."""

    engine: str
    continuation: str
    branches: int
    actions: int
    seconds: float


def base_actor(env: gym.Env, seed: int) -> MistakenActor:
    """Plays the episodes whose states are branched."""
    return MistakenActor(ExpertActor("explorer"), MISTAKES, seed)


def continuations() -> dict[str, Callable[[gym.Env, int], Any]]:
    """The scripted actors that go on after a branch."""
    return {
        "planner": lambda env, seed: ExpertActor("planner", env),
        "explorer": lambda env, seed: ExpertActor("explorer"),
        "random": lambda env, seed: RandomActor(seed),
    }


def smollm2_continuation() -> Callable[[gym.Env, int], Any]:
    """SmolLM2 chooses among the admissible actions; all branches share the model."""
    from agentkit.models import ConstrainedReadout, smollm2

    model = ConstrainedReadout(*smollm2())
    return lambda env, seed: ConstrainedReadoutActor(model, seed=seed)


class Counting(gym.Wrapper):
    """Counts the actions that an environment executes."""

    def __init__(self, env: gym.Env, count: list[int]):
        super().__init__(env)
        self._count = count

    def step(self, action: Any):
        """Step, and count."""
        self._count[0] += 1
        return self.env.step(action)

    def snapshot(self) -> Any:
        """That of the environment inside."""
        return self.env.get_wrapper_attr("snapshot")()

    def restore(self, snapshot: Any) -> Any:
        """That of the environment inside."""
        return self.env.get_wrapper_attr("restore")(snapshot)


class Bench:
    """Environments whose games are loaded, and the collections that are timed in them."""

    def __init__(self, make_env: Callable[[], gym.Env], engine: str, episodes: int, num_envs: int = 1):
        self._engine, self._count = engine, [0]
        self._envs = [Counting(make_env(), self._count) for _ in range(num_envs)]
        for env in self._envs:
            for seed in range(episodes):
                env.reset(seed=seed)
        self._episodes = episodes

    def collect(self, name: str, make_continuation: Any, **options: Any) -> Row:
        """Collect, and time it."""
        self._count[0], done = 0, [0]
        started = time.perf_counter()
        collect_branches(
            iter(self._envs).__next__,
            base_actor,
            self._episodes,
            make_continuation=make_continuation,
            num_envs=len(self._envs),
            on_progress=lambda progress: done.__setitem__(0, progress.continuations),
            **options,
        )
        return Row(self._engine, name, done[0], self._count[0], time.perf_counter() - started)


def table(rows: list[Row]) -> str:
    """Branches and actions a second."""
    header = ["engine", "continuation", "branches", "seconds", "branches/s", "env actions/s"]
    return text_table(header, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    rates = f"{row.branches / row.seconds:,.3g}", f"{row.actions / row.seconds:,.0f}"
    return [row.engine, row.continuation, str(row.branches), f"{row.seconds:.2f}", *rates]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", default=os.environ.get("ALFWORLD_DATA"), help="default: ALFWORLD_DATA")
    parser.add_argument("--split", default="valid_unseen")
    parser.add_argument("--episodes", type=int, default=20, help="on the fast engine")
    parser.add_argument("--states", type=int, default=10, help="of each episode, on the fast engine")
    parser.add_argument("--stock-states", type=int, default=2, help="of one episode, on the stock engine")
    parser.add_argument("--smollm2-states", type=int, default=1, help="of one episode, with SmolLM2")
    parser.add_argument("--num-envs", type=int, default=16, help="branches side by side, with SmolLM2")
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--max-steps", type=int, default=30)
    parser.add_argument("--no-smollm2", dest="smollm2", action="store_false")
    options = parser.parse_args()
    if options.data is None:
        parser.error("set ALFWORLD_DATA or give --data: the folder that holds json_2.1.1")
    make = functools.partial(
        gym.make, "agentkit/ALFWorld-v0", data=options.data, split=options.split, max_steps=options.max_steps
    )
    fast = Bench(make, "fast", options.episodes)
    same = Bench(make, "fast, same as stock", 1)
    # One for all rows: TextWorld's native planner does not survive many engines in one process.
    stock = Bench(lambda: ReplaySnapshot(make(engine="textworld")), "stock, replay", 1)
    rows = []
    for name, continuation in continuations().items():
        rows.append(fast.collect(name, continuation, k=options.k, states_per_episode=options.states))
        for bench in (same, stock):
            rows.append(bench.collect(name, continuation, k=options.k, states_per_episode=options.stock_states))
    if options.smollm2:
        continuation = smollm2_continuation()
        few = {"k": options.k, "states_per_episode": options.smollm2_states}
        rows.append(same.collect("SmolLM2, one by one", continuation, **few))
        together = Bench(make, "fast", 1, options.num_envs)
        rows.append(together.collect("SmolLM2, together", continuation, **few))
    print(table(rows))
    for quick, slow in zip(rows[1:9:3], rows[2:9:3], strict=True):
        print(f"{quick.continuation}: {slow.seconds / quick.seconds:,.0f} x faster than replay on the stock engine")


if __name__ == "__main__":
    main()
