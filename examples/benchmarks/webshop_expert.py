"""Success and mean reward of WebShop's scripted expert over the test goals.

python examples/benchmarks/webshop_expert.py --data ../shared/data/webshop --goals 500
"""

# CI arguments: --goals 20
# CI data: WEBSHOP_DATA

import argparse
import os

from agentkit.envs.webshop import WebShopEnv


def main() -> None:
    """Play every goal once, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("WEBSHOP_DATA", "../shared/data/webshop"))
    parser.add_argument("--goals", type=int, default=500)
    parser.add_argument("--human", action="store_true", help="the goals that people wrote")
    arguments = parser.parse_args()
    env = WebShopEnv(arguments.data, human_goals=arguments.human)
    goals = min(arguments.goals, len(env.goals))
    won, total, steps = 0, 0.0, 0
    for seed in range(goals):
        _, info = env.reset(seed=seed)
        ended, reward = False, 0.0
        while not ended:
            _, reward, terminated, truncated, info = env.step(env.expert_action())
            ended = terminated or truncated
            steps += 1
        won, total = won + info["won"], total + reward
    print(
        f"expert on {goals} test goals (nouns by {env.catalogue.noun_source}): success {won / goals:.1%}, "
        f"mean reward {total / goals:.4f}, {steps / goals:.1f} steps an episode"
    )


if __name__ == "__main__":
    main()
