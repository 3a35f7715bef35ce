"""How many steps each context shows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.judges.visibility import as_context, visible_steps

totals_and_steps = st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1)))


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("prefix", [0, 1, 2, 3, 4]),
        ("prefix+feedback", [1, 2, 3, 4, 5]),
        (0.25, [2, 3, 4, 4, 5]),  # of 4, 3, 2, 1, 0 steps that follow: 1, 0.75, 0.5, 0.25, 0
        (0.5, [3, 4, 4, 5, 5]),  # 2, 1.5, 1, 0.5, 0
        (0.75, [4, 4, 5, 5, 5]),  # 3, 2.25, 1.5, 0.75, 0
        ("hindsight", [5, 5, 5, 5, 5]),
    ],
)
def test_by_hand(context, expected):
    assert [visible_steps(context, t, 5) for t in range(5)] == expected


@pytest.mark.parametrize(
    ("share", "expected"), [(0.25, [1, 2, 3, 4, 5]), (0.5, [3, 3, 3, 4, 5]), (0.75, [4] * 4 + [5])]
)
def test_a_share_of_the_whole_trajectory_by_hand(share, expected):
    assert [visible_steps(share, t, 5, fraction_of="trajectory") for t in range(5)] == expected


def test_a_half_is_rounded_up_though_the_product_is_a_little_less_in_binary():
    assert 0.7 * 45 < 31.5
    assert visible_steps(0.7, 0, 46) == 1 + 32


@given(totals_and_steps, st.fractions(0, 1, max_denominator=100).filter(lambda f: 0 < f < 1))
def test_a_share_is_rounded_half_up_in_decimals(total_and_step, share):
    total, t = total_and_step
    future, whole = share * (total - t - 1), share * total
    half_up = [math.floor(number + type(share)(1, 2)) for number in (future, whole)]
    assert visible_steps(float(share), t, total) == t + 1 + half_up[0]
    assert visible_steps(float(share), t, total, "trajectory") == max(t + 1, half_up[1])


@given(totals_and_steps, st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.sampled_from(["future", "trajectory"]))
def test_contexts_are_ordered(total_and_step, a, b, fraction_of):
    total, t = total_and_step
    contexts = ["prefix", "prefix+feedback", min(a, b), max(a, b), "hindsight"]
    seen = [visible_steps(context, t, total, fraction_of) for context in contexts]
    assert seen == sorted(seen)
    assert seen[1] == seen[0] + 1
    assert seen[-1] == total


@pytest.mark.parametrize("value", [0, 1, 1.5, -0.1, math.nan, True, "future", "0.5", None, b"prefix", [0.5]])
def test_a_bad_context_is_named_with_the_good_ones(value):
    with pytest.raises(
        ValueError, match=r"context must be one of 'prefix', 'prefix\+feedback', 'hindsight', or a share"
    ):
        as_context(value)


def test_a_share_may_be_a_numpy_number():
    assert as_context(np.float32(0.5)) == 0.5
    assert type(as_context(np.float64(0.25))) is float
