"""When is an intervention worthwhile? A causal ledger of a gate on real ALFWorld games, and a router learnt from it.

The actor is a scripted explorer with injected mistakes. The comparator is an oracle in the first steps of an episode
and answers at random later, as one might that was trained on early states only: some interventions rescue, others harm.
The ledger plays each state on with and without the intervention, a light router learns from some tasks and is judged on
others, first state by state, then in whole episodes.

python examples/causal_router.py --episodes 60 --out runs/router    # an interrupted run goes on with the same command
"""

# CI data: ALFWORLD_DATA
# CI arguments: --episodes 12 --held-out 3

import argparse
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
from tqdm import tqdm

import agentkit  # noqa: F401 - registers the environments
from agentkit.actors import AdvisedActor, ExpertActor, MistakenActor
from agentkit.causal import collect_ledger, cross_fit, effect_table, fit_router
from agentkit.comparing import Arm, causal_table, performance_table, play_arms, summarise_arms
from agentkit.comparison import Comparator, Comparison
from agentkit.judges import OracleComparator, RandomComparator
from agentkit.models.usage import UsageMeter
from agentkit.rollout import Actor
from agentkit.wrappers import ComparatorGateWrapper, InterventionRouterWrapper


class OutOfDepth:
    """Answers as one comparator does in the first steps of an episode, and as another one later."""

    def __init__(self, early: Comparator, late: Comparator, steps: int):
        self.early, self.late, self.steps = early, late, steps

    def __call__(self, comparisons: Sequence[Comparison]) -> Sequence[str | None]:
        return (self.early if len(comparisons[0].history) < self.steps else self.late)(comparisons)


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=60, help="episodes of the ledger (split train)")
    parser.add_argument("--held-out", type=int, default=60, help="episodes of the comparison (split valid_unseen)")
    parser.add_argument("--states", type=int, default=6, help="states of an episode that the ledger holds at most")
    parser.add_argument("--mistakes", type=float, default=0.45, help="the actor's rate of mistakes")
    parser.add_argument("--depth", type=int, default=8, help="steps before which the comparator is an oracle")
    parser.add_argument("--max-steps", type=int, default=25)
    parser.add_argument("--out", type=Path, default=Path("runs/router"))
    return parser.parse_args()


def main() -> None:
    """Collect, fit, and compare."""
    options = arguments()

    def make_actor(seed: int) -> Actor:
        return AdvisedActor(MistakenActor(ExpertActor("explorer"), options.mistakes, seed=seed), 0.5, seed=seed)

    def gate(env: gym.Env, seed: int) -> gym.Env:
        return ComparatorGateWrapper(env, OutOfDepth(OracleComparator(env), RandomComparator(seed), options.depth))

    train = gym.make("agentkit/ALFWorld-v0", split="train", max_steps=options.max_steps)
    with tqdm(total=options.episodes, unit="episode") as bar:
        episodes = collect_ledger(
            gate(train, 0),
            make_actor,
            options.episodes,
            states_per_episode=options.states,
            out=options.out / "ledger.jsonl",
            settings=f"mistakes {options.mistakes}, depth {options.depth}, {options.max_steps} steps",
            on_episode=lambda episode: bar.update(),
        )
    rows = [row for episode in episodes for row in episode.rows]
    print(f"{effect_table(rows, width=5)}\n\n{cross_fit(rows).table()}\n")
    router = fit_router(rows)
    router.save(options.out / "router.json")
    for name, rescue, harm in zip(router.features, router.rescue.weights, router.harm.weights, strict=True):
        print(f"{name:>16}  rescue {rescue:+.2f}  harm {harm:+.2f}")

    def gated(env: gym.Env, seed: int, meter: UsageMeter) -> gym.Env:
        return gate(env, seed)

    def routed(env: gym.Env, seed: int, meter: UsageMeter) -> gym.Env:
        return InterventionRouterWrapper(gate(env, seed), router)

    unseen = gym.make("agentkit/ALFWorld-v0", split="valid_unseen", max_steps=options.max_steps)
    arms = [Arm("original"), Arm("gate always", gated), Arm("gate routed", routed)]
    played = play_arms(unseen, lambda env, seed, meter: make_actor(seed), arms, options.held_out)
    results = summarise_arms(played)
    print(f"\n{performance_table(results)}\n\n{causal_table(results)}")


if __name__ == "__main__":
    main()
