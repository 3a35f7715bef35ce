"""Episodes of mixed quality from real ALFWorld games, to screen judges with: experts, experts that err, chance.

    ALFWORLD_DATA=... python examples/record_mixed_episodes.py --episodes 240 --out episodes.jsonl

Every game is played by each player, so that the episodes of one game form a group; `info["player"]` says who played.
After an interruption the same command goes on where it stopped. `agentkit screen episodes.jsonl` is what comes next.
"""

# CI arguments: --episodes 10
# CI data: ALFWORLD_DATA

import argparse
from collections.abc import Callable
from pathlib import Path

import attrs
import gymnasium as gym
from tqdm import tqdm

import agentkit
from agentkit.actors import ExpertActor, HastyActor, MistakenActor, RandomActor
from agentkit.rollout import Actor, play_episode
from agentkit.trajectory import append_trajectory

# Seeded by the game, so that an episode does not depend on which were recorded before it.
PLAYERS: dict[str, Callable[[gym.Env, int], Actor]] = {
    "planner": lambda env, seed: ExpertActor("planner", env),
    "explorer": lambda env, seed: ExpertActor("explorer"),
    "planner-detours": lambda env, seed: MistakenActor(ExpertActor("planner", env), 0.3, seed),
    "explorer-detours": lambda env, seed: MistakenActor(ExpertActor("explorer"), 0.5, seed),
    "hasty": lambda env, seed: HastyActor(ExpertActor("explorer")),
    "random": lambda env, seed: RandomActor(seed),
}


def record(env: gym.Env, out: Path, count: int) -> None:
    """Play until ``out`` holds ``count`` episodes."""
    known = {(t.info.get("player"), t.seed) for t in agentkit.load_trajectories(out)} if out.exists() else set()
    wanted = [(player, seed) for seed in range(-(-count // len(PLAYERS))) for player in PLAYERS][:count]
    for player, seed in tqdm([one for one in wanted if one not in known], unit="episode"):
        episode = play_episode(env, PLAYERS[player](env, seed), seed=seed, group=f"game-{seed}")
        append_trajectory(out, attrs.evolve(episode, info={"player": player}))


def main() -> None:
    """Record, then say how good each player was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=240)
    parser.add_argument("--max-steps", type=int, default=30)
    parser.add_argument("--split", default="train")
    parser.add_argument("--out", type=Path, default=Path("episodes.jsonl"))
    options = parser.parse_args()
    env = gym.make("agentkit/ALFWorld-v0", split=options.split, max_steps=options.max_steps, oracle_roles=True)
    record(env, options.out, options.episodes)
    for player in PLAYERS:
        played = [t for t in agentkit.load_trajectories(options.out) if t.info.get("player") == player]
        steps = [step for t in played for step in t.steps]
        print(
            f"{player:16} {sum(t.won for t in played):3} of {len(played)} won, {len(steps) / len(played):4.1f} steps, "
            f"{sum(bool(s.milestones) for s in steps)} milestones, "
            f"{sum(s.state_changed is False for s in steps)} no-ops"
        )


if __name__ == "__main__":
    main()
