"""Is a role judge good enough to train with? Its reliability and TRIAGE's gain condition, on real ALFWorld episodes.

    ALFWORLD_DATA=... python examples/role_reliability.py --games 20 --model smollm2

Each game is played by an expert, two that err and one that acts at random, which makes a group. The environment records
the true roles; oracles with a growing share of random roles, and the model, are compared with them.
"""

# CI arguments: --games 3
# CI data: ALFWORLD_DATA

import argparse
from collections.abc import Iterator

import gymnasium as gym
from tqdm import tqdm

from agentkit import Trajectory, credit
from agentkit.actors import ExpertActor, MistakenActor, RandomActor
from agentkit.judges import (
    OracleRoles,
    RoleJudge,
    gain_condition,
    judge_roles,
    missed_credit,
    role_agreement,
    role_reliability,
)
from agentkit.models import Cached, ConstrainedReadout, smollm2
from agentkit.models.readout import Scoring
from agentkit.rollout import play_episode


def play(games: int, split: str, max_steps: int) -> list[Trajectory]:
    """Four episodes of each game, with the environment's roles in their steps."""
    env = gym.make("agentkit/ALFWorld-v0", split=split, max_steps=max_steps, oracle_roles=True)
    episodes = []
    for seed in tqdm(range(games), unit="game"):
        players = (
            ExpertActor("planner", env),
            MistakenActor(ExpertActor("planner", env), 0.4, seed),
            MistakenActor(ExpertActor("explorer"), 0.4, seed),
            RandomActor(seed),
        )
        episodes += [play_episode(env, player, seed=seed, group=f"game-{seed}") for player in players]
    return episodes


def judges(model: str | None, device: str, scoring: Scoring) -> Iterator[OracleRoles | RoleJudge]:
    """The judges to compare; a model's answers are kept in the folder ``answers``."""
    for noise in (0.0, 0.3, 0.7, 1.0):
        yield OracleRoles(noise, name=f"oracle, {noise:.0%} of the roles at random")
    if model is not None:
        yield RoleJudge(Cached(readout(model, device, scoring), "answers"), name=model)


def readout(model: str, device: str, scoring: Scoring) -> ConstrainedReadout:
    """SmolLM2, or the model of a checkpoint folder."""
    if model != "smollm2":
        return ConstrainedReadout.from_pretrained(model, device=device, scoring=scoring)
    weights, tokenizer = smollm2()
    return ConstrainedReadout(weights.to(device), tokenizer, scoring=scoring)


def main() -> None:
    """Print reliability, agreement with the oracle and the gain condition of each judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--split", default="train")
    parser.add_argument("--max-steps", type=int, default=30)
    parser.add_argument("--weight", type=float, default=0.3, help="λ")
    parser.add_argument("--model", help="smollm2, or a checkpoint folder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scoring", default="sum", choices=("sum", "mean", "pmi"), help="of the model's options")
    options = parser.parse_args()
    episodes = play(options.games, options.split, options.max_steps)
    outcome = credit.outcome_advantages([float(t.won) for t in episodes], groups=[t.group for t in episodes])
    true = judge_roles(OracleRoles(), episodes)
    missed = missed_credit(outcome, true)
    print(f"{len(episodes)} episodes, {sum(t.won for t in episodes)} won, {sum(map(len, episodes))} steps")
    for judge in judges(options.model, options.device, options.scoring):
        # One episode at a time, so that the answers about it are kept when the work is interrupted.
        judged = [judge_roles(judge, [episode])[0] for episode in tqdm(episodes, unit="episode", leave=False)]
        print(f"\n== {judge.name}\n{role_reliability(episodes, judged).table()}")
        print(role_agreement(true, judged).table())
        print(gain_condition(missed, judged, options.weight).table())


if __name__ == "__main__":
    main()
