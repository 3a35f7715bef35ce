"""A judge of your own, in a plain loop: no rollout, no trainer, and an environment that is not text.

A judge is any function from a trajectory to one score a step. Here it looks back on a finished episode of FrozenLake;
a tabular learner that is written out below learns from its scores, and once more without them.

python examples/own_judge.py
"""

import argparse
from collections import defaultdict

import gymnasium as gym
import numpy as np

from agentkit.trajectory import Trajectory
from agentkit.wrappers import JudgeRewardWrapper, TextualizeWrapper

GAMMA, LEARNING_RATE, EXPLORATION = 0.95, 0.2, 0.3


def progress(trajectory: Trajectory) -> list[float]:
    """What the agent saw for the first time in this episode was worth the step, unless it was a hole."""
    places = [trajectory.steps[0].observation, *(step.feedback for step in trajectory.steps)]
    scores = [float(place not in places[: t + 1]) for t, place in enumerate(places[1:])]
    fell = trajectory.terminated and not trajectory.won
    return [*scores[:-1], 0.0] if fell else scores


def learn(env: gym.Env, episodes: int, seed: int) -> int:
    """Monte-Carlo control with a table of values; how many of the last 50 episodes were won."""
    rng = np.random.default_rng(seed)
    values: defaultdict[tuple[str, str], float] = defaultdict(float)
    wins = []
    for _ in range(episodes):
        observation, info = env.reset(seed=seed)
        steps, ended = [], False
        while not ended:
            actions = info["admissible_actions"]
            greedy = max(actions, key=lambda action: (values[observation, action], rng.random()))
            action = str(rng.choice(actions)) if rng.random() < EXPLORATION else greedy
            steps.append((observation, action))
            observation, _, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
        wins.append(info["won"])
        future = 0.0
        # One reward a step, the judge's scores included, came with the end of the episode.
        for step, reward in zip(reversed(steps), reversed(info["shaped_rewards"]), strict=True):
            future = reward + GAMMA * future
            values[step] += LEARNING_RATE * (future - values[step])
    return sum(wins[-50:])


def main() -> None:
    """Learn with the judge and with a weight of 0, which leaves its scores out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=150)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    for weight in (0.0, 0.1):
        env = TextualizeWrapper(gym.make("FrozenLake-v1", is_slippery=False))
        env = JudgeRewardWrapper(env, progress, weight=weight)
        wins = [learn(env, options.episodes, seed) for seed in range(options.seeds)]
        print(f"weight {weight:g}: won {wins} of the last 50 episodes, mean {np.mean(wins):.1f}")


if __name__ == "__main__":
    main()
