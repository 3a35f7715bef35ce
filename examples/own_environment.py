"""A judge around an environment that is not even text: FrozenLake, textualised, judged, and turned into advantages.

python examples/own_environment.py
"""

import gymnasium as gym

from agentkit import credit, rollout
from agentkit.actors import RandomActor
from agentkit.trajectory import Trajectory
from agentkit.wrappers import JudgeRewardWrapper, TextualizeWrapper


def careful(trajectory: Trajectory) -> list[float]:
    """One score a step: a move that leads nowhere is worth 0, one that moves 1."""
    return [0.0 if step.state_changed is False else 1.0 for step in trajectory.steps]


def main() -> None:
    """Play a group of four episodes and print what each step is credited with."""
    env = TextualizeWrapper(gym.make("FrozenLake-v1", is_slippery=False), goal="reach the goal without falling in")
    env = JudgeRewardWrapper(env, careful, weight=0.5)
    group = rollout(env, RandomActor(seed=0), num_episodes=4, seed=0, group_size=4)
    outcome = credit.outcome_advantages([t.total_reward for t in group])
    scores = credit.centered_step_scores([t.score_array("careful") for t in group], weight=0.5)
    for trajectory, advantages in zip(group, credit.combine({"outcome": outcome, "scores": scores}), strict=True):
        print(f"\nwon: {trajectory.won}")
        for step, advantage in zip(trajectory.steps, advantages, strict=True):
            print(f"  {step.action:<8} advantage {advantage:+.3f}")


if __name__ == "__main__":
    main()
