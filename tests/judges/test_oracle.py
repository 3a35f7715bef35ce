"""The oracles, and how their noise is drawn."""

import itertools

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.credit import ROLE_CONSTANTS
from agentkit.decisions import Verdict
from agentkit.judges import NoisyOracle, OracleJudge, OracleRoles
from agentkit.judges.prompts import ROLES
from agentkit.testing import check_judge
from agentkit.trajectory import Step, Trajectory
from tests.judges.episodes import played


def marked(count, seed=0):
    """An episode of milestones, no-ops and others in turn, and roles in turn."""
    steps = [
        Step(
            observation=f"seen {t}",
            action=f"act {t}",
            reward=0,
            feedback=f"seen {t + 1}",
            milestones=("one",) if t % 3 == 0 else (),
            state_changed=t % 3 != 1,
            role=ROLES[t % 4],
        )
        for t in range(count)
    ]
    return Trajectory(goal="", steps=steps, task_id=f"task {seed}")


def test_the_oracle_reads_the_ground_truth():
    steps = [
        Step(observation="", action="a", reward=0, state_changed=True, milestones=("take",)),
        Step(observation="", action="b", reward=0, state_changed=True),
        Step(observation="", action="c", reward=0, state_changed=False),
        Step(observation="", action="d", reward=0),
    ]
    trajectory = Trajectory(goal="", steps=steps)
    verdicts = OracleJudge()(trajectory)
    assert [v.score for v in verdicts] == [1.0, 0.5, 0.0, None]
    assert "does not say" in (verdicts[3].unscored or "")
    assert NoisyOracle(1.0)(trajectory)[3] == verdicts[3]


def test_without_noise_it_is_the_oracle():
    assert NoisyOracle(0.0)(marked(30)) == OracleJudge()(marked(30))
    assert OracleRoles()(marked(30)) == [step.role for step in marked(30).steps]


@pytest.mark.parametrize("noise", [0.3, 0.7, 1.0])
def test_the_gap_shrinks_by_the_noise(noise):
    verdicts = [v.score for v in NoisyOracle(noise, seed=2)(marked(6000))]
    scores = np.array(verdicts, dtype=float).reshape(-1, 3)
    assert scores[:, 0].mean() - scores[:, 1].mean() == pytest.approx(1 - noise, abs=0.04)
    assert (scores[:, 0] == 1.0).mean() == pytest.approx(1 - 2 / 3 * noise, abs=0.03)
    assert set(np.unique(scores)) == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("noise", [0.4, 1.0])
def test_noisy_roles_are_any_of_the_four(noise):
    true, judged = [step.role for step in marked(4000).steps], OracleRoles(noise, seed=2)(marked(4000))
    assert np.mean([a == b for a, b in zip(true, judged, strict=True)]) == pytest.approx(1 - 0.75 * noise, abs=0.03)
    assert set(judged) == set(ROLES)


def test_untyped_steps_stay_untyped():
    untyped = marked(50).with_steps(role=[None] * 50)
    assert OracleRoles(noise=1.0)(untyped) == [None] * 50


@pytest.mark.parametrize("judge", [NoisyOracle(0.5, seed=3), OracleRoles(0.5, seed=3)])
def test_a_step_has_the_same_draw_whenever_it_is_asked_about(judge):
    episodes = [marked(20, seed) for seed in range(4)]
    forth = [judge(trajectory) for trajectory in episodes]
    back = [judge(trajectory) for trajectory in reversed(episodes)]
    assert forth == back[::-1]
    assert attrs.evolve(judge)(episodes[0]) == forth[0]
    assert judge(attrs.evolve(episodes[0], steps=episodes[0].steps[:7])) == forth[0][:7]


@given(played(min_steps=2), st.data(), st.integers(0, 5))
def test_a_draw_does_not_depend_on_the_future(trajectory, data, seed):
    trajectory = trajectory.with_steps(state_changed=[True] * len(trajectory))
    t = data.draw(st.integers(0, len(trajectory) - 2))
    judge = NoisyOracle(0.5, seed=seed)
    changed = attrs.evolve(trajectory, steps=(*trajectory.steps[: t + 1], *marked(3).steps))
    assert judge(changed)[: t + 1] == judge(trajectory)[: t + 1]


def test_other_seeds_tasks_and_steps_have_other_draws():
    columns = [NoisyOracle(1.0, seed=seed)(marked(60, task)) for seed, task in itertools.product((0, 1), (0, 1))]
    same = [np.mean([a == b for a, b in zip(x, y, strict=True)]) for x, y in itertools.combinations(columns, 2)]
    assert max(same) < 0.6
    assert len(set(columns[0])) == 3


@pytest.mark.parametrize("kind", [NoisyOracle, OracleRoles])
@pytest.mark.parametrize("noise", [-0.1, 1.1])
def test_noise_is_a_share(kind, noise):
    with pytest.raises(ValueError, match="noise"):
        kind(noise)


def test_they_keep_the_contract_of_judges():
    check_judge(NoisyOracle(0.5))
    check_judge(OracleRoles(0.5), roles=ROLE_CONSTANTS)


def test_custom_scores_are_drawn_too():
    oracle = OracleJudge(milestone=0.9, other=0.4, no_op=0.1)
    assert set(NoisyOracle(1.0, oracle=oracle)(marked(100))) == {Verdict(0.9), Verdict(0.4), Verdict(0.1)}
