"""Bootstrap means and intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.bootstrap import bootstrap_means, mean_interval, percentile_interval

VALUES = np.array([0.0, 1.0, 0.25, 0.5, 0.75, 0.5])


def test_the_same_seed_draws_the_same_rows_and_another_seed_others():
    first = bootstrap_means(VALUES[:, None], 50, seed=3)
    np.testing.assert_array_equal(first, bootstrap_means(VALUES[:, None], 50, seed=3))
    assert not np.array_equal(first, bootstrap_means(VALUES[:, None], 50, seed=4))


def test_columns_are_resampled_together():
    means = bootstrap_means(np.stack([VALUES, VALUES + 2.0], axis=1), 200, seed=0)
    np.testing.assert_allclose(means[:, 1] - means[:, 0], 2.0)


def test_missing_values_are_left_out_of_their_column_alone():
    gaps = np.array([[1.0, np.nan], [1.0, 5.0], [1.0, 5.0], [1.0, np.nan]])
    means = bootstrap_means(gaps, 100, seed=0)
    np.testing.assert_allclose(means[:, 0], 1.0)
    assert set(means[np.isfinite(means[:, 1]), 1]) == {5.0}
    assert np.isnan(means[:, 1]).any()  # resamples that drew neither of the two rows


def test_the_spread_is_that_of_a_mean():
    values = np.random.default_rng(0).normal(size=400)
    means = bootstrap_means(values[:, None], 4000, seed=1)[:, 0]
    assert means.std() == pytest.approx(values.std() / np.sqrt(400), rel=0.06)
    interval = mean_interval(values, resamples=4000, seed=1)
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.08)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8))
def test_the_interval_lies_within_the_values(values):
    interval = mean_interval(np.array(values), resamples=50)
    assert interval is not None
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9
    assert interval.count == len(values)


def test_one_value_has_no_width_and_none_has_no_interval():
    interval = mean_interval(np.array([0.25, np.nan]))
    assert interval is not None
    assert (interval.estimate, interval.low, interval.high, interval.count) == (0.25, 0.25, 0.25, 1)
    assert mean_interval(np.array([np.nan])) is None


def test_percentiles_by_hand():
    assert percentile_interval(np.arange(101.0), 0.9) == pytest.approx((5.0, 95.0))
