"""The measures against hand-computed cases, slow re-implementations and identities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.judges.screening.measures import (
    MILESTONE,
    NO_OP,
    OTHER,
    UNKNOWN,
    auc,
    brier_score,
    calibration_error,
    flip_rate,
    kind_means,
    milestones_on_top,
    step_kinds,
)
from agentkit.trajectory import Step, Trajectory
from tests.references import screening as reference

# A coarse grid, so that ties are common; eighths are exact in binary.
grid = st.integers(0, 8).map(lambda eighths: eighths / 8)
labelled = st.lists(st.tuples(grid, st.booleans()), min_size=1, max_size=6)


def step(**fields):
    return Step(observation="", action="a", reward=0.0, **fields)


def test_the_kind_of_a_step_is_what_the_environment_says():
    steps = [
        step(milestones=("taken",), state_changed=True),
        step(state_changed=True),
        step(state_changed=False),
        step(),
        step(milestones=("found",)),
    ]
    assert step_kinds(Trajectory(goal="", steps=steps)).tolist() == [MILESTONE, OTHER, NO_OP, UNKNOWN, MILESTONE]


def test_means_by_kind_leave_out_unscored_and_unknown_steps():
    scores = np.array([0.8, np.nan, 0.2, 0.4, 1.0])
    kinds = np.array([MILESTONE, MILESTONE, OTHER, OTHER, UNKNOWN])
    np.testing.assert_allclose(kind_means(scores, kinds), [0.8, 0.3, np.nan])


@pytest.mark.parametrize(
    ("scores", "milestones", "share"),
    [
        ([0.9, 0.8, 0.1], [1, 1, 0], 1.0),
        ([0.1, 0.8, 0.9], [1, 0, 0], 0.0),
        ([0.5, 0.5, 0.5, 0.5], [1, 0, 0, 0], 0.25),
        ([0.9, 0.5, 0.5, 0.5], [0, 1, 1, 0], 1 / 3),  # one place is left for three tied steps, two of them milestones
        ([0.2, np.nan, 0.9], [1, 1, 0], 0.0),  # the unscored milestone is left out, so one place remains
    ],
)
def test_milestones_on_top_by_hand(scores, milestones, share):
    assert milestones_on_top(np.array(scores), np.array(milestones, dtype=bool)) == pytest.approx(share)


def test_without_a_scored_milestone_nothing_is_on_top():
    assert np.isnan(milestones_on_top(np.array([0.5, np.nan]), np.array([False, True])))


@given(labelled.filter(lambda pairs: any(m for _, m in pairs)))
def test_milestones_on_top_averages_over_all_ways_to_break_ties(pairs):
    scores, milestones = map(list, zip(*pairs, strict=True))
    expected = reference.milestones_on_top(scores, milestones)
    assert milestones_on_top(np.array(scores), np.array(milestones)) == pytest.approx(expected)


@given(labelled.filter(lambda pairs: any(m for _, m in pairs)))
def test_only_the_order_of_scores_decides_what_is_on_top(pairs):
    scores, milestones = map(np.array, zip(*pairs, strict=True))
    assert milestones_on_top(scores**3 / 2, milestones) == milestones_on_top(scores, milestones)


@given(labelled)
def test_equal_scores_put_as_many_milestones_on_top_as_chance(pairs):
    milestones = np.array([m for _, m in pairs])
    share = milestones_on_top(np.full(len(pairs), 0.3), milestones)
    assert np.isnan(share) if not milestones.any() else share == pytest.approx(milestones.mean())


@given(st.lists(grid, min_size=1, max_size=8), st.lists(grid, min_size=1, max_size=8))
def test_auc_counts_pairs_and_is_one_less_its_mirror(positive, negative):
    found = auc(np.array(positive), np.array(negative))
    assert found == pytest.approx(reference.auc(positive, negative))
    assert found + auc(np.array(negative), np.array(positive)) == pytest.approx(1.0)


def test_auc_needs_both_kinds_and_leaves_out_unscored_steps():
    assert np.isnan(auc(np.array([np.nan]), np.array([0.5])))
    assert auc(np.array([0.6, np.nan]), np.array([0.5])) == 1.0


@given(labelled, st.integers(1, 12))
def test_calibration_error_against_the_slow_one(pairs, bins):
    scores, labels = zip(*pairs, strict=True)
    found = calibration_error(np.array(scores), np.array(labels, dtype=float), bins)
    # A score on the edge of two bins may fall into either when the edge is no binary fraction.
    if bins in (1, 2, 4, 8):
        assert found == pytest.approx(reference.calibration_error(scores, labels, bins))
    assert 0.0 <= found <= 1.0


def test_calibration_by_hand():
    scores, labels = np.array([1.0, 0.75, 0.75, 0.0, np.nan]), np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    assert calibration_error(scores, labels, bins=2) == pytest.approx(abs(2.5 - 2.0) / 4)
    assert brier_score(scores, labels) == pytest.approx((0.0625 + 0.5625) / 4)


def test_a_sure_and_right_judge_is_calibrated():
    labels = np.array([1.0, 0.0, 1.0])
    assert calibration_error(labels, labels) == brier_score(labels, labels) == 0.0


def test_flips_count_answers_and_not_scores():
    scores = np.array([0.9, 0.6, 0.2, 0.8, np.nan])
    swapped = np.array([0.51, 0.5, 0.1, np.nan, 0.1])
    assert flip_rate(scores, swapped) == pytest.approx(1 / 3)


def test_nothing_scored_is_nan_and_not_zero():
    nothing, labels = np.array([np.nan]), np.array([1.0])
    for value in (brier_score(nothing, labels), calibration_error(nothing, labels), flip_rate(nothing, nothing)):
        assert np.isnan(value)
