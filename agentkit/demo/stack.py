"""The stack around the demo's environment, part by part."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import agentkit  # noqa: F401 - registers the environments
from agentkit import credit
from agentkit.decisions import DecisionModel
from agentkit.demo.settings import DemoFolder, DemoSettings
from agentkit.judges import OracleJudge, PairwiseComparator, RoleJudge, StepJudge
from agentkit.trajectory import Trajectory
from agentkit.wrappers import ComparatorGateWrapper, JudgeRewardWrapper, RoleCreditWrapper

LAMBDA, ROLE_LAMBDA = 0.5, 0.3


def make_env(folder: DemoFolder, settings: DemoSettings) -> gym.Env:
    """The bare environment on the games that were made; it also tells each step's true role."""
    return gym.make(
        "agentkit/ALFWorld-v0", data=str(folder.games), split="train", max_steps=settings.turns, oracle_roles=True
    )


def judge_wrappers(model: DecisionModel) -> list[Callable[[gym.Env], gym.Env]]:
    """The model as hindsight judge of progress and, to compare with, the environment's ground truth."""
    judge = StepJudge(model, context="hindsight", question="progress", name="model")
    return [
        lambda env: JudgeRewardWrapper(env, judge, weight=LAMBDA),
        lambda env: JudgeRewardWrapper(env, OracleJudge(), weight=LAMBDA),
    ]


def full_stack(env: gym.Env, model: DecisionModel) -> gym.Env:
    """Gate, roles and judges around an environment, all asked of one model."""
    env = ComparatorGateWrapper(env, PairwiseComparator(model, history=2), k=2, r=1)
    env = RoleCreditWrapper(env, RoleJudge(model, window=2), weight=ROLE_LAMBDA)
    for wrapper in judge_wrappers(model):
        env = wrapper(env)
    return env


def with_advantages(group: list[Trajectory], judge: str) -> list[Trajectory]:
    """A group's episodes with A = A_outcome + λ (s - s̄) + λ_role c written into every step."""
    terms: dict[str, Any] = {
        "outcome": credit.outcome_advantages([t.total_reward for t in group]),
        "scores": credit.centered_step_scores([t.score_array(judge) for t in group], LAMBDA),
        "roles": credit.role_credits([[s.role for s in t.steps] for t in group], ROLE_LAMBDA),
    }
    totals = credit.combine(terms)
    return [t.with_steps(advantage=map(float, total)) for t, total in zip(group, totals, strict=True)]


def agreement(trajectories: list[Trajectory], one: str, other: str) -> float | None:
    """Pearson correlation of two judges' scores over all steps that both scored; None where it does not exist."""
    pairs = np.concatenate([np.stack([t.score_array(one), t.score_array(other)]) for t in trajectories], axis=1)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    if pairs.shape[1] < 2 or min(np.ptp(pairs, axis=1)) == 0:
        return None
    return float(np.corrcoef(pairs)[0, 1])
