"""What is logged about a batch, by hand."""

import numpy as np
import pytest

pytest.importorskip("torch")

from agentkit.decisions import Verdict
from agentkit.trainers.credit.metrics import batch_metrics
from agentkit.trainers.robustness.guarding import EnvFailureError, mark_failed
from agentkit.trajectory import Step, Trajectory


def episode(rewards, *, won=False, terminated=True, verdict=None, role=None, invalid=0):
    steps = [
        Step(
            observation="",
            action="a",
            reward=r,
            role=role,
            scores={} if verdict is None else {"j": verdict},
            info={"invalid_action": True} if t < invalid else {},
        )
        for t, r in enumerate(rewards)
    ]
    return Trajectory(goal="", steps=steps, won=won, terminated=terminated)


def arrays(*rows):
    return [np.array(row, dtype=np.float64) for row in rows]


def test_episodes_by_hand():
    groups = [
        [episode([0.0, 1.0], won=True, invalid=1), episode([0.0, 0.0], terminated=False)],
        [episode([0.0]), episode([0.0, 0.0, 0.0], invalid=1)],
    ]
    assert batch_metrics(groups, {}) == {
        "episodes/dropped": 0.0,
        "episodes/success": 0.25,
        "episodes/steps": 2.0,
        "episodes/truncated": 0.25,
        "episodes/invalid_actions": 0.25,
        "frac_reward_zero_std": 0.5,
    }


def test_terms_by_hand():
    """The second group has no credit at all; of the first, only one term and one episode have any."""
    groups = [[episode([0.0]), episode([0.0, 0.0])], [episode([0.0])]]
    terms = {"outcome": arrays([0.0], [0.0, 0.0], [0.0]), "roles": arrays([0.0], [1.0, -1.0], [0.0])}
    metrics = batch_metrics(groups, terms)
    assert metrics["credit/zero_groups"] == 0.5
    assert metrics["credit/outcome/std"] == 0.0
    assert metrics["credit/roles/mean"] == 0.0
    assert metrics["credit/roles/std"] == pytest.approx(np.sqrt(0.5))


def test_answers_by_hand():
    groups = [
        [episode([0.0, 0.0], verdict=Verdict(0.5), role="decisive"), episode([0.0], verdict=Verdict.no_score("late"))]
    ]
    metrics = batch_metrics(groups, {})
    assert metrics["credit/unscored"] == metrics["credit/unscored/j"] == pytest.approx(1 / 3)
    assert metrics["credit/untyped"] == pytest.approx(1 / 3)


def test_dropped_episodes_are_counted_and_count_nowhere_else():
    failed = mark_failed(episode([5.0], won=True, invalid=1), EnvFailureError("hung", "step"))
    metrics = batch_metrics(
        [[episode([0.0], won=True), failed], [failed, failed]], {"outcome": arrays([0], [0], [0], [0])}
    )
    assert metrics["episodes/dropped"] == 0.75
    assert metrics["episodes/success"] == 1.0
    assert metrics["episodes/invalid_actions"] == 0.0
    assert metrics["frac_reward_zero_std"] == 1.0


def test_no_number_is_made_up_where_there_is_nothing_to_count():
    failed = mark_failed(episode([]), EnvFailureError("hung", "step"))
    assert batch_metrics([[failed]], {}) == {"episodes/dropped": 1.0}
    assert batch_metrics([], {}) == {}
    assert set(batch_metrics([[episode([])]], {})) == {
        "episodes/dropped",
        "episodes/success",
        "episodes/steps",
        "episodes/truncated",
        "episodes/invalid_actions",
        "frac_reward_zero_std",
    }
