"""Confusion, F1 and agreement by hand, and on real ALFWorld episodes with the environment's own roles."""

import attrs
import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentkit  # registers the environments
from agentkit import credit
from agentkit.actors import ExpertActor, MistakenActor, RandomActor
from agentkit.judges import (
    OracleRoles,
    gain_condition,
    judge_roles,
    missed_credit,
    role_agreement,
    role_reliability,
)
from agentkit.judges.prompts import ROLES
from tests.judges.episodes import episode

D, E, N, R = ROLES
TRUE = [[D, E, R, N], [R, None, D]]
JUDGED = [[D, D, R, None], [N, E, D]]


TABLE = """\
true \\ judged  decisive  exploration  no-progress  regression  abstained  precision   recall      F1  F1 in successes
decisive              2            0            0           0          0     66.7 %  100.0 %  80.0 %           66.7 %
exploration           1            0            0           0          0          -    0.0 %   0.0 %            0.0 %
no-progress           0            0            0           0          1      0.0 %    0.0 %   0.0 %            0.0 %
regression            0            0            1           1          0    100.0 %   50.0 %  66.7 %          100.0 %
6 steps, 1 abstentions, 1 without a true role; accuracy 50.0 %, macro F1 36.7 %, \
F1 of regression inside successes 100.0 %"""


def recorded(columns, won):
    """Episodes whose steps have these roles."""
    return [
        episode([f"act {t}" for t in range(len(column))], success).with_steps(role=column)
        for column, success in zip(columns, won, strict=True)
    ]


def report():
    return role_reliability(recorded(TRUE, [True, False]), JUDGED)


def test_confusion_by_hand():
    assert report().confusion.tolist() == [
        [2, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 1, 1, 0],
    ]
    assert (report().steps, report().abstentions, report().untyped) == (6, 1, 1)
    assert report().accuracy == pytest.approx(3 / 6)


def test_f1_by_hand():
    # decisive: TP 2, FP 1, FN 0; exploration: FN 1; no-progress: FP 1, FN 1 (abstained); regression: TP 1, FN 1.
    expected = {D: 4 / 5, E: 0.0, N: 0.0, R: 2 / 3}
    assert report().f1 == pytest.approx(expected)
    assert report().macro_f1 == pytest.approx(np.mean(list(expected.values())))


def test_f1_inside_successes_by_hand():
    # The first episode only: decisive TP 1, FP 1; regression TP 1.
    assert report().f1_in_successes == pytest.approx({D: 2 / 3, E: 0.0, N: 0.0, R: 1.0})
    assert report().regression_in_successes == 1.0


def test_a_role_that_neither_has_has_no_f1():
    found = role_reliability(recorded([[D]], [True]), [[D]])
    assert np.isnan([found.f1[role] for role in (E, N, R)]).all()
    assert found.macro_f1 == 1.0
    assert np.isnan(found.regression_in_successes)


def test_nothing_typed_is_no_accuracy():
    found = role_reliability(recorded([[None]], [True]), [[D]])
    assert np.isnan(found.accuracy)
    assert found.untyped == 1
    assert "0 steps" in found.table()


def test_audited_roles_take_the_place_of_recorded_ones():
    trajectories = recorded(JUDGED, [True, False])
    found = role_reliability(trajectories, JUDGED, truth=TRUE)
    assert found.confusion.tolist() == report().confusion.tolist()


def test_table():
    assert report().table() == TABLE


def test_kappa_by_hand():
    # Cohen's own form: 35 of 50 agree; the margins are 25/25 and 30/20, so chance agrees on 0.5.
    first = [[D] * 25 + [R] * 25]
    second = [[D] * 20 + [R] * 5 + [D] * 10 + [R] * 15]
    found = role_agreement(first, second)
    assert found.raw == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.table() == "agreement 70.0 %, kappa 0.400 on 50 steps; abstentions 0 and 0"


def test_agreement_leaves_abstentions_out_and_counts_them():
    found = role_agreement([[D, None, None, R]], [[D, D, None, None]])
    assert (found.steps, found.abstentions, found.raw) == (1, (2, 2), 1.0)
    assert np.isnan(found.kappa)  # one role only: chance alone agrees always
    assert np.isnan(role_agreement([[None]], [[D]]).raw)


columns = st.lists(st.lists(st.sampled_from([*ROLES, None]), min_size=1, max_size=6), min_size=1, max_size=4)


@given(columns, st.randoms(use_true_random=False))
def test_agreement_is_symmetric_and_full_with_itself(first, random):
    second = [[random.choice([*ROLES, None]) for _ in column] for column in first]
    there, back = role_agreement(first, second), role_agreement(second, first)
    assert there.abstentions == back.abstentions[::-1]
    assert [there.raw, there.kappa] == pytest.approx([back.raw, back.kappa], nan_ok=True)
    assert role_agreement(first, first).raw in (1.0, pytest.approx(float("nan"), nan_ok=True))


@given(columns, st.randoms(use_true_random=False))
def test_f1_is_the_harmonic_mean_of_precision_and_recall(true, random):
    judged = [[random.choice([*ROLES, None]) for _ in column] for column in true]
    pairs = [pair for both in zip(true, judged, strict=True) for pair in zip(*both, strict=True) if pair[0] is not None]
    found = role_reliability(recorded(true, [True] * len(true)), judged)
    for role in ROLES:
        hits = sum(a == b == role for a, b in pairs)
        named, there = sum(b == role for _, b in pairs), sum(a == role for a, _ in pairs)
        if hits:
            precision, recall = hits / named, hits / there
            assert found.f1[role] == pytest.approx(2 * precision * recall / (precision + recall))
    assert found.f1 == pytest.approx(found.f1_in_successes, nan_ok=True)


@pytest.mark.parametrize(
    ("judged", "message"),
    [
        ([[D]], r"judged has \[1\] roles by episode, expected \[4, 3\]"),
        ([[D] * 4, [D] * 2], r"expected \[4, 3\]; give one a step"),
        ([["good"] * 4, [D] * 3], "unknown role 'good'; known roles are decisive"),
    ],
)
def test_bad_input_is_named(judged, message):
    with pytest.raises(ValueError, match=message):
        role_reliability(recorded(TRUE, [True, False]), judged)


@pytest.mark.parametrize("pair", [([["good"]], [[None]]), ([[None]], [["good"]])])
def test_an_unknown_role_is_named_also_beside_an_abstention(pair):
    with pytest.raises(ValueError, match="unknown role 'good'"):
        role_agreement(*pair)


def test_a_judge_that_fails_on_one_episode_abstains_there():
    def fragile(trajectory):
        if len(trajectory) == 2:
            raise RuntimeError("no answer")
        return [D] * len(trajectory)

    assert judge_roles(fragile, [episode(["a"]), episode(["a", "b"])]) == [[D], [None, None]]
    with pytest.raises(ValueError, match="the judge gave 1 roles for 2 steps"):
        judge_roles(lambda trajectory: [D], [episode(["a", "b"])])


@pytest.fixture(scope="module")
def mixed(alfworld_data):
    """Groups of four real ALFWorld episodes each, of mixed quality, with the environment's roles."""
    patch = pytest.MonkeyPatch()
    patch.setenv("ALFWORLD_DATA", str(alfworld_data))
    env = gym.make("agentkit/ALFWorld-v0", split="valid_unseen", max_steps=25, oracle_roles=True)
    trajectories = []
    for seed in range(5):
        erring = MistakenActor(ExpertActor("planner", env), 0.4, seed=seed)
        for actor in (ExpertActor("planner", env), erring, ExpertActor("explorer"), RandomActor(seed)):
            (played,) = agentkit.rollout(env, actor, seed=seed)
            trajectories.append(attrs.evolve(played, group=str(seed)))
    patch.undo()
    return trajectories


def gain(trajectories, judged):
    returns = [float(t.won) for t in trajectories]
    advantages = credit.outcome_advantages(returns, groups=[t.group for t in trajectories])
    missed = missed_credit(advantages, judge_roles(OracleRoles(), trajectories))
    return gain_condition(missed, judged, weight=0.3)


def test_on_real_episodes_more_noise_means_less_reliability_and_less_gain(mixed):
    true = judge_roles(OracleRoles(), mixed)
    judged = [judge_roles(OracleRoles(noise=noise, seed=3), mixed) for noise in (0.0, 0.3, 1.0)]
    reports = [role_reliability(mixed, columns) for columns in judged]
    assert reports[0].accuracy == 1.0
    assert reports[0].confusion_in_successes[3].sum() > 0  # there are regressions in won episodes to find
    assert [r.accuracy for r in reports] == sorted([r.accuracy for r in reports], reverse=True)
    kappas = [role_agreement(true, columns).kappa for columns in judged]
    assert kappas[0] == pytest.approx(1.0)
    assert kappas[1] == pytest.approx(0.7, abs=0.12)
    assert kappas[2] == pytest.approx(0.0, abs=0.12)
    covariances = [gain(mixed, columns).covariance for columns in judged]
    assert covariances == sorted(covariances, reverse=True)
    assert covariances[1] / covariances[0] == pytest.approx(0.7, abs=0.2)
    assert gain(mixed, judged[0]).warnings == ()
    assert gain(mixed, judged[0]).covariance_interval[0] > 0


def test_on_real_episodes_an_inverted_judge_is_warned_of(mixed):
    judged = [[ROLES[-1 - ROLES.index(step.role)] for step in trajectory.steps] for trajectory in mixed]
    found = gain(mixed, judged)
    assert found.covariance_interval[1] < 0
    assert found.error_change > 0
    assert "is not positive" in found.warnings[0]
