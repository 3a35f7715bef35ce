"""δ by hand, and what makes it the part that outcomes do not imply."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import credit
from agentkit.judges import gain_condition, missed_credit
from agentkit.judges.prompts import ROLES

roles = st.lists(st.sampled_from(ROLES), min_size=1, max_size=5)
groups = st.lists(st.tuples(st.floats(-2, 2).map(lambda x: round(x, 2)), roles), min_size=1, max_size=6)


def test_by_hand():
    # c = 1, 0.5 at A = 1; c = -0.5, -0.1 at A = -1: the fit is c ≈ 0.225 + 0.525 A, the means of the two episodes.
    delta = missed_credit([1.0, -1.0], [["decisive", "exploration"], ["regression", "no-progress"]])
    assert delta[0] == pytest.approx([0.25, -0.25])
    assert delta[1] == pytest.approx([-0.2, 0.2])


def test_the_other_readings_by_hand():
    arguments = ([1.0, -1.0], [["decisive", None], ["regression"]])
    as_advantage = missed_credit(*arguments, implied="advantage")
    np.testing.assert_allclose(as_advantage[0], [0.0, math.nan])
    np.testing.assert_allclose(as_advantage[1], [0.5])
    nothing = missed_credit(*arguments, implied="none")
    np.testing.assert_allclose(nothing[0], [1.0, math.nan])
    np.testing.assert_allclose(nothing[1], [-0.5])


@pytest.mark.parametrize("implied", ["fitted", "advantage", "none"])
def test_steps_without_a_role_or_an_outcome_are_not_audited(implied):
    delta = missed_credit([math.nan, 1.0, 0.0], [["decisive"], ["regression", None], []], implied=implied)
    assert [np.isnan(d).tolist() for d in delta] == [[True], [False, True], []]


def test_equal_advantages_imply_the_mean_only():
    delta = missed_credit([0.0, 0.0], [["decisive"], ["exploration"]])
    assert np.concatenate(delta) == pytest.approx([0.25, -0.25])


@given(groups)
def test_the_fitted_rest_has_mean_zero_and_no_correlation_with_the_outcome(group):
    advantages = [a for a, _ in group]
    delta = missed_credit(advantages, [names for _, names in group])
    flat = np.concatenate(delta)
    spread = np.concatenate([np.full(len(d), a) for d, a in zip(delta, advantages, strict=True)])
    assert flat.sum() == pytest.approx(0, abs=1e-9)
    assert flat @ spread == pytest.approx(0, abs=1e-9)


@given(groups, st.sampled_from([0.1, 10.0, -1.0]))
def test_the_scale_of_the_advantages_does_not_matter_when_fitted(group, scale):
    advantages, names = [a for a, _ in group], [n for _, n in group]
    scaled = missed_credit([scale * a for a in advantages], names)
    for one, other in zip(missed_credit(advantages, names), scaled, strict=True):
        assert one == pytest.approx(other, abs=1e-9)


def test_a_judge_that_echoes_the_outcome_gains_nothing():
    """It agrees with the oracle (most steps of won episodes are decisive), and yet adds nothing to the outcome."""
    true = [["decisive", "decisive", "exploration"], ["regression", "no-progress"]]
    echo = [["decisive"] * 3, ["regression"] * 2]
    fitted = gain_condition(missed_credit([1.0, -1.0], true), echo, resamples=0)
    assert fitted.covariance == 0.0
    assert not fitted.holds
    assert gain_condition(missed_credit([1.0, -1.0], true, implied="none"), echo, resamples=0).holds


@given(groups)
def test_the_oracle_itself_never_loses(group):
    true = [names for _, names in group]
    found = gain_condition(missed_credit([a for a, _ in group], true), true, resamples=0)
    # Cov(δ, c) = Var(δ), for c is δ and a part that is uncorrelated with δ.
    assert found.covariance == pytest.approx(found.outcome_error, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], []), r"outcome has shape \(1,\), expected \(0,\)"),
        (([[1.0]], [["decisive"]]), r"outcome has shape \(1, 1\)"),
        (([1.0], [["decisve"]]), r"true_roles\[0\] has 'decisve'; known roles are decisive"),
        (([1.0], [["decisive"]], credit.ROLE_CONSTANTS, "all"), "implied must be .*, got 'all'"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        missed_credit(*arguments)
