"""Recorded episodes of mixed quality."""

import gymnasium as gym
import pytest

from agentkit.actors import ExpertActor, MistakenActor, RandomActor
from agentkit.rollout import play_episode


@pytest.fixture(scope="session")
def real_episodes(alfworld_data):
    """120 episodes of real ALFWorld games, by experts, experts that err, and chance."""
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_seen", max_steps=20)
    episodes = []
    for seed in range(30):
        erring = MistakenActor(ExpertActor("explorer"), 0.5, seed)
        for actor in (ExpertActor("planner", env), ExpertActor("explorer"), erring, RandomActor(seed)):
            episodes.append(play_episode(env, actor, seed=seed))
    return episodes
