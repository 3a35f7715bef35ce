"""The gain condition by hand, as an identity, and against a simulation whose truth is known."""

import logging
import math
import re

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.judges import gain_condition

DELTA = [[1.0, -1.0], [0.0, 2.0]]
CREDIT = [[1.0, -0.5], [0.5, -0.1]]

numbers = st.floats(-3, 3).map(lambda x: round(x, 3))
paired = st.lists(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5), min_size=1, max_size=5)


def check(delta, credit, weight=0.3, **settings):
    return gain_condition(delta, credit, weight, **{"resamples": 0, **settings})


def test_by_hand():
    # δ = 1, -1, 0, 2 with mean 0.5; c = 1, -0.5, 0.5, -0.1 with mean 0.225.
    found = check(DELTA, CREDIT, weight=0.2)
    # Σδc = 1 + 0.5 + 0 - 0.2 = 1.3; Cov = 1.3/4 - 0.5 * 0.225; Σc² = 1.51; Var c = 1.51/4 - 0.225²; Σδ² = 6.
    assert found.covariance == pytest.approx(0.2125)
    assert found.credit_variance == pytest.approx(0.326875)
    assert found.outcome_error == pytest.approx(1.25)
    assert found.bound == pytest.approx(2 * 0.2125 / 0.326875)
    assert found.best_weight == pytest.approx(0.2125 / 0.326875)
    assert found.error_change == pytest.approx(0.04 * 0.326875 - 0.4 * 0.2125)
    assert found.holds
    assert (found.steps, found.episodes, found.abstentions, found.unaudited) == (4, 2, 0, 0)


def test_by_hand_without_centring():
    found = check(DELTA, CREDIT, weight=0.2, centered=False)
    assert found.covariance == pytest.approx(1.3 / 4)
    assert found.credit_variance == pytest.approx(1.51 / 4)
    assert found.outcome_error == pytest.approx(6 / 4)
    assert found.bound == pytest.approx(2 * 1.3 / 1.51)


@given(paired, st.floats(0, 3))
def test_the_predicted_change_is_the_change(episodes, weight):
    """E[(δ - λc)²] - E[δ²], and the same of variances, computed directly."""
    delta = [[d for d, _ in steps] for steps in episodes]
    credit = [[c for _, c in steps] for steps in episodes]
    d, c = np.concatenate(delta), np.concatenate(credit)
    plain = np.mean((d - weight * c) ** 2) - np.mean(d**2)
    assert check(delta, credit, weight, centered=False).error_change == pytest.approx(plain, abs=1e-9)
    around_mean = np.var(d - weight * c) - np.var(d)
    assert check(delta, credit, weight).error_change == pytest.approx(around_mean, abs=1e-9)


@given(paired, st.floats(0.001, 3))
def test_the_condition_holds_exactly_when_the_error_falls(episodes, weight):
    found = check([[d for d, _ in s] for s in episodes], [[c for _, c in s] for s in episodes], weight)
    if abs(found.error_change) > 1e-9:
        assert found.holds == (found.error_change < 0)


@given(paired, numbers, numbers)
def test_constants_change_nothing_when_centred(episodes, a, b):
    delta, credit = ([[pair[i] for pair in steps] for steps in episodes] for i in (0, 1))
    found = check(delta, credit)
    moved = check([[d + a for d in s] for s in delta], [[c + b for c in s] for s in credit])
    for name in ("covariance", "credit_variance", "outcome_error", "error_change"):
        assert getattr(moved, name) == pytest.approx(getattr(found, name), abs=1e-9)


@given(paired)
def test_twice_the_constants_halve_the_bound(episodes):
    delta, credit = ([[pair[i] for pair in steps] for steps in episodes] for i in (0, 1))
    found, doubled = check(delta, credit), check(delta, [[2 * c for c in s] for s in credit])
    assert doubled.bound == pytest.approx(found.bound / 2, abs=1e-9)


def test_the_best_weight_lies_in_the_middle_and_is_best():
    found = check(DELTA, CREDIT)
    changes = [check(DELTA, CREDIT, weight).error_change for weight in np.linspace(0, found.bound, 21)]
    assert np.argmin(changes) == 10
    assert changes[0] == 0.0
    assert changes[-1] == pytest.approx(0.0, abs=1e-12)


def simulate(flip, episodes=4000, seed=0):
    """δ = c(true role) + noise; the judge names another of the three roles with probability ``flip``."""
    rng = np.random.default_rng(seed)
    constants = np.array([1.0, -0.1, -0.5])
    true = rng.integers(3, size=(episodes, 5))
    judged = np.where(rng.random(true.shape) < flip, (true + rng.integers(1, 3, true.shape)) % 3, true)
    return list(constants[true] + rng.normal(0, 0.5, true.shape)), list(constants[judged])


@pytest.mark.parametrize("flip", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_monte_carlo(flip):
    """Cov(δ, c) = (1 - 1.5 flip) Var(c): a wrong role is any of the two others, drawn evenly."""
    variance = np.var([1.0, -0.1, -0.5])
    expected = (1 - 1.5 * flip) * variance
    found = gain_condition(*simulate(flip), weight=0.3, resamples=400)
    low, high = found.covariance_interval
    assert low - 0.005 < expected < high + 0.005
    assert high - low < 0.05
    assert found.covariance == pytest.approx(expected, abs=0.02)
    assert found.error_change == pytest.approx(0.09 * variance - 0.6 * expected, abs=0.015)
    assert found.holds == (2 * (1 - 1.5 * flip) > 0.3)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    truth = np.var([1.0, -0.1, -0.5]) * (1 - 1.5 * 0.3)
    intervals = [
        gain_condition(*simulate(0.3, episodes=40, seed=seed), resamples=200, level=0.9).covariance_interval
        for seed in range(200)
    ]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert 0.82 < covered < 0.96


def test_the_bootstrap_draws_whole_episodes():
    """Twenty copies of each step in an episode carry no more evidence than one."""
    rng = np.random.default_rng(1)
    delta, credit = rng.normal(size=(2, 30))
    alone = gain_condition([[d] for d in delta], [[c] for c in credit]).covariance_interval
    repeated = gain_condition([[d] * 20 for d in delta], [[c] * 20 for c in credit]).covariance_interval
    assert repeated == pytest.approx(alone)


def test_the_seed_decides():
    delta, credit = simulate(0.3, episodes=20)
    assert gain_condition(delta, credit, seed=1) == gain_condition(delta, credit, seed=1)
    assert gain_condition(delta, credit, seed=1) != gain_condition(delta, credit, seed=2)


def test_a_constant_credit_has_no_variance_and_helps_nothing():
    """Σc²/n - (Σc/n)² of six times 0.03 is -1e-19 in floating point."""
    found = check([[1.0, -1.0, 2.0, 0.0, 1.0, 3.0]], [[0.03] * 6])
    assert found.credit_variance == 0.0
    assert (found.covariance, found.bound, found.holds) == (0.0, 0.0, False)


def test_roles_stand_for_their_constants():
    roles = [["decisive", "regression"], ["exploration", None]]
    found = check(DELTA, roles)
    assert found == check(DELTA, [[1.0, -0.5], [0.5, math.nan]])
    assert found.abstentions == 1
    assert check(DELTA, [["good", "bad"], ["bad", "good"]], constants={"good": 2, "bad": 1}).covariance == 0.5


def test_abstentions_count_as_no_credit_and_unaudited_steps_not_at_all():
    nan = math.nan
    found = check([[1.0, -1.0, nan], [2.0, 0.0], [nan]], [[1.0, nan, -0.5], [0.5, -0.1], [1.0]])
    same = check([[1.0, -1.0], [2.0, 0.0]], [[1.0, 0.0], [0.5, -0.1]])
    assert (found.abstentions, found.unaudited, found.steps, found.episodes) == (1, 2, 4, 2)
    assert attrs.evolve(found, abstentions=0, unaudited=0) == attrs.evolve(same)


@pytest.mark.parametrize(
    ("credit", "weight", "message"),
    [
        ([[-1.0, 0.5], [0.0, -0.1]], 0.3, "is not positive: these roles move the advantage away"),
        ([[0.5, 0.5], [0.5, 0.5]], 0.3, r"Cov\(δ, c\) is 0: these roles say nothing of what the outcome misses"),
        (CREDIT, 1.4, "λ = 1.4 is not below its bound 1.3; use about 0.65"),
        (CREDIT, 0.3, "the interval of Cov.* holds 0: 2 episodes are too few to tell"),
    ],
)
def test_what_speaks_against_it_is_said_and_logged(credit, weight, message, caplog):
    with caplog.at_level(logging.WARNING, logger="agentkit.judges"):
        found = gain_condition(DELTA, credit, weight)
    matching = [warning for warning in found.warnings if re.search(message, warning)]
    assert len(matching) == 1
    assert [record.getMessage() for record in caplog.records] == [f"gain condition: {w}" for w in found.warnings]
    assert f"warning: {matching[0]}" in found.table()


def test_nothing_is_said_when_nothing_speaks_against_it(caplog):
    found = gain_condition(*simulate(0.1, episodes=100))
    assert found.warnings == ()
    assert not caplog.records


def test_table():
    assert check(DELTA, CREDIT, weight=0.2).table().splitlines() == [
        "quantity                                  value  95 % interval",
        "Cov(δ, c)                                0.2125",
        "Var(c)                                   0.3269",
        "Var(δ): error of the outcome advantage   1.2500",
        "bound on λ                                1.300",
        "best λ                                    0.650",
        "change of the error at λ = 0.2          -0.0719",
        "  in percent                             -5.8 %",
        "4 steps of 2 episodes, 0 abstentions, 0 not audited",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [[1.0, 2.0]]), r"missed has shapes \[\(1,\)\] and judged \[\(2,\)\]"),
        (([[1.0]], []), "give one entry of each a step"),
        (([[math.nan]], [[1.0]]), "missed holds no number"),
        (([[1.0]], [["decisve"]]), r"judged\[0\] has 'decisve'; known roles are decisive"),
        (([], []), "missed holds no number"),
        (([[1.0]], [[1.0]], -0.1), "weight must be a finite number of at least 0, got -0.1"),
        (([[1.0]], [[1.0]], math.nan), "weight must be a finite number"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        gain_condition(*arguments)


@pytest.mark.parametrize(("name", "value"), [("resamples", -1), ("level", 1.0), ("level", 0)])
def test_bad_settings_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} must be .*, got {value}"):
        gain_condition(DELTA, CREDIT, **{name: value})
