"""A judge of your own in a Stable-Baselines3 run: PPO learns from its scores as the steps are taken.

PPO wants numbers and a reward at once. So FrozenLake is put into words for the judge, a judge that needs no later steps
(``context = "prefix"``) scores each move, and two of Gymnasium's own wrappers turn words back into numbers. The same
run without the judge follows.

pip install gym-agentkit stable-baselines3
python examples/stable_baselines3_judge.py
"""
# CI arguments: --timesteps 512

import argparse
import statistics

import gymnasium as gym
from gymnasium.wrappers import TransformAction, TransformObservation

from agentkit.trajectory import Trajectory
from agentkit.wrappers import JudgeRewardWrapper, TextualizeWrapper

try:
    import torch
    from stable_baselines3 import PPO
except ModuleNotFoundError as error:
    raise SystemExit("this example needs Stable-Baselines3; run: pip install stable-baselines3") from error

SIZE = 8
ACTIONS = ("left", "down", "right", "up")


def steps_to_go(place: str) -> int:
    """How far a place, such as "row 2 column 5", is from the goal in the last row and column."""
    _, row, _, column = place.split()
    return 2 * (SIZE - 1) - int(row) - int(column)


class Nearer:
    """A move is worth something when the agent was never so near to the goal before in this episode."""

    context = "prefix"
    name = "nearer"

    def __call__(self, trajectory: Trajectory) -> list[float]:
        """One score a step."""
        places = [trajectory.steps[0].observation, *(step.feedback for step in trajectory.steps)]
        left = [steps_to_go(place) for place in places]
        return [float(left[t] < min(left[:t])) for t in range(1, len(left))]


def describe(cell: int) -> str:
    """A cell of the lake in words."""
    row, column = divmod(int(cell), SIZE)
    return f"row {row} column {column}"


def number(place: str) -> int:
    """The cell that these words describe."""
    _, row, _, column = place.split()
    return SIZE * int(row) + int(column)


def make_env(weight: float) -> gym.Env:
    """FrozenLake for Stable-Baselines3, with the judge's scores in its rewards."""
    env: gym.Env = gym.make("FrozenLake-v1", map_name=f"{SIZE}x{SIZE}", is_slippery=False)
    env = TextualizeWrapper(env, describe=describe, actions=ACTIONS)
    env = JudgeRewardWrapper(env, Nearer(), weight=weight)
    env = TransformAction(env, lambda action: ACTIONS[int(action)], gym.spaces.Discrete(len(ACTIONS)))
    return TransformObservation(env, number, gym.spaces.Discrete(SIZE * SIZE))


def goal_reached(model: PPO, env: gym.Env) -> bool:
    """Does the trained policy, at its most probable actions, get there?"""
    observation, info = env.reset()
    ended = False
    while not ended:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
    return info["won"]


def main() -> None:
    """Train with and without the judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timesteps", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)  # for a network so small, more of them only get in each other's way
    for weight in (0.1, 0.0):
        env = make_env(weight)
        settings = {"n_steps": 256, "n_epochs": 8, "learning_rate": 1e-3, "ent_coef": 0.01, "gamma": 0.98}
        model = PPO("MlpPolicy", env, seed=options.seed, device="cpu", **settings)
        model.learn(options.timesteps)
        lengths = statistics.mean(episode["l"] for episode in model.ep_info_buffer or ())
        print(f"weight {weight:g}: goal reached: {goal_reached(model, env)}, steps an episode: {lengths:.1f}")


if __name__ == "__main__":
    main()
