"""Demonstrations for a supervised warm start: ALFWorld games, made locally, played by the two experts.

    python examples/expert_demonstrations.py

Needs `pip install "gym-agentkit[alfworld]"`. Writes demonstrations.jsonl beside the games.
"""

import tempfile
from pathlib import Path

import gymnasium as gym

import agentkit
from agentkit.actors import ExpertActor
from agentkit.envs.alfworld.generate import make_games


def main() -> None:
    """Make twelve games, let both experts play them and save their trajectories."""
    folder = Path(tempfile.mkdtemp(prefix="agentkit-games-"))
    make_games(folder, count=12, seed=0)
    env = gym.make("agentkit/ALFWorld-v0", data=str(folder), split="train", oracle_roles=True)
    demonstrations = []
    for kind in ("planner", "explorer"):
        evaluation = agentkit.evaluate(env, ExpertActor(kind, env), num_episodes=12, seed=0)
        print(f"{kind}\n{evaluation.table()}\n")
        demonstrations += evaluation.trajectories
    path = agentkit.save_trajectories(folder / "demonstrations.jsonl", demonstrations)
    print(f"{len(agentkit.load_trajectories(path))} demonstrations in {path}")


if __name__ == "__main__":
    main()
