"""Intervals and McNemar's test, against the textbook and against what they must be."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.causal import bootstrap_interval, mcnemar_exact, wilson_interval


class TestWilson:
    # Newcombe, Statistics in Medicine 17 (1998), Table I, method 3.
    @pytest.mark.parametrize(
        ("successes", "trials", "low", "high"),
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
    )
    def test_against_published_values(self, successes, trials, low, high):
        assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)

    @given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
    def test_it_holds_the_share_and_mirrors(self, case):
        successes, trials = case
        low, high = wilson_interval(successes, trials)
        assert 0 <= low <= successes / trials + 1e-12
        assert successes / trials - 1e-12 <= high <= 1
        mirrored = wilson_interval(trials - successes, trials)
        assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high))

    def test_nothing_is_known_without_trials(self):
        assert wilson_interval(0, 0) == (0.0, 1.0)

    @pytest.mark.parametrize(("successes", "trials"), [(3, 2), (-1, 2)])
    def test_impossible_counts(self, successes, trials):
        with pytest.raises(ValueError, match="successes must be in"):
            wilson_interval(successes, trials)

    def test_level(self):
        assert wilson_interval(5, 10, 0.5)[0] > wilson_interval(5, 10, 0.99)[0]
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            wilson_interval(5, 10, 1.0)


class TestMcNemar:
    @pytest.mark.parametrize(
        ("rescued", "harmed", "p"),
        [(5, 0, 2 / 32), (0, 5, 2 / 32), (3, 1, 2 * 5 / 16), (1, 1, 1.0), (10, 2, 158 / 4096)],
    )
    def test_by_hand(self, rescued, harmed, p):
        assert mcnemar_exact(rescued, harmed) == pytest.approx(p)

    @given(st.integers(0, 60), st.integers(0, 60))
    def test_it_is_a_symmetric_probability(self, rescued, harmed):
        p = mcnemar_exact(rescued, harmed)
        assert 0 < p <= 1
        assert p == mcnemar_exact(harmed, rescued)

    def test_many_pairs_do_not_overflow(self):
        assert mcnemar_exact(2000, 1000) < 1e-60

    def test_negative_counts(self):
        with pytest.raises(ValueError, match="counts must be at least 0"):
            mcnemar_exact(-1, 2)


class TestBootstrap:
    def test_one_cluster_leaves_nothing_to_draw(self):
        assert bootstrap_interval([0, 1, 1], ["a", "a", "a"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))

    def test_independent_values_have_about_the_normal_interval(self):
        values = np.random.default_rng(0).normal(size=400)
        low, high = bootstrap_interval(values.tolist(), list(range(400)))
        half = 1.96 * values.std() / math.sqrt(400)
        assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.015)

    def test_copies_within_a_cluster_are_no_evidence(self):
        values = np.random.default_rng(1).integers(2, size=40).astype(float)
        narrow = bootstrap_interval(np.repeat(values, 10).tolist(), list(range(400)))
        honest = bootstrap_interval(np.repeat(values, 10).tolist(), np.repeat(np.arange(40), 10).tolist())
        once = bootstrap_interval(values.tolist(), list(range(40)))
        assert honest == pytest.approx(once)
        assert honest[1] - honest[0] > 2 * (narrow[1] - narrow[0])

    def test_bad_input(self):
        with pytest.raises(ValueError, match="need one cluster for each"):
            bootstrap_interval([1.0], [])
        with pytest.raises(ValueError, match="need one cluster for each of at least 1 value"):
            bootstrap_interval([], [])
