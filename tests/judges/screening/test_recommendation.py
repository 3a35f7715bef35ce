"""When a query is recommended, and when the evidence is too thin."""

import numpy as np
import pytest

from agentkit.judges.screening.recommendation import recommend

RNG = np.random.default_rng(0)
BASE = RNG.normal(0.3, 0.1, size=60)


def test_a_query_whose_gap_is_above_all_others_is_recommended():
    found = recommend({"progress": BASE, "value": BASE - 0.25 + RNG.normal(0, 0.02, size=60)})
    assert (found.query, found.leading, found.grounds) == ("progress", "progress", "clear")
    assert "Train with progress" in found.text


def test_pairs_decide_and_not_the_overlap_of_intervals():
    # Episodes differ a lot, and both queries with them: their intervals overlap, but one is better in every episode.
    hard = RNG.normal(0.3, 0.3, size=60)
    found = recommend({"a": hard, "b": hard - 0.02})
    assert found.query == "a"


def test_queries_that_cannot_be_told_apart_are_named_and_none_is_recommended():
    noise = RNG.normal(0, 0.1, size=60)
    found = recommend({"a": BASE, "b": BASE + noise - noise.mean() - 0.001, "worse": BASE - 0.3})
    assert (found.query, found.leading, found.grounds, found.rivals) == (None, "a", "tie", ("b",))
    assert "Too thin to tell" in found.text


@pytest.mark.parametrize(("count", "grounds"), [(19, "thin"), (20, "clear")])
def test_a_few_trajectories_are_no_evidence(count, grounds):
    values = np.concatenate([BASE[:count], np.full(100, np.nan)])
    found = recommend({"progress": values, "value": values - 0.2})
    assert found.grounds == grounds
    assert (f"only {count} trajectories" in found.text) == (grounds == "thin")


def test_a_gap_that_may_be_zero_is_not_recommended():
    around_zero = RNG.normal(0, 0.2, size=60)
    found = recommend({"value": around_zero - around_zero.mean() + 0.01})
    assert (found.query, found.leading, found.grounds) == (None, "value", "no gap")


def test_queries_without_a_common_trajectory_cannot_be_compared():
    first, second = np.full(60, np.nan), np.full(60, np.nan)
    first[:30], second[30:] = BASE[:30], BASE[:30] - 0.1
    found = recommend({"a": first, "b": second})
    assert (found.grounds, found.rivals) == ("tie", ("b",))


@pytest.mark.parametrize("gaps", [{}, {"a": np.full(5, np.nan)}])
def test_without_any_gap_there_is_nothing_to_choose(gaps):
    found = recommend(gaps)
    assert (found.query, found.leading, found.grounds) == (None, None, "nothing to choose")


def test_the_same_seed_recommends_the_same():
    gaps = {"a": BASE, "b": BASE + RNG.normal(0, 0.1, size=60)}
    assert recommend(gaps, seed=5) == recommend(gaps, seed=5)
