"""Logistic regression: at the optimum the gradient vanishes, and a slow ascent ends in the same place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.causal.logistic import fit_logistic, sigmoid


def problem(seed, rows=60, features=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)) * rng.uniform(0.1, 5, size=features)
    y = (rng.random(rows) < sigmoid(x @ rng.normal(size=features) + rng.normal())).astype(float)
    y[:2] = 0, 1
    return x, y


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**16), st.sampled_from([1e-3, 1.0, 50.0]))
def test_the_gradient_vanishes_at_the_fit(seed, l2):
    x, y = problem(seed)
    fit = fit_logistic(x, y, l2)
    residual = fit.probability(x) - y
    assert x.T @ residual + l2 * np.array(fit.weights) == pytest.approx(np.zeros(3), abs=1e-6)
    assert residual.sum() == pytest.approx(0, abs=1e-6)


def test_gradient_descent_ends_in_the_same_place():
    x, y = problem(4)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    weights, bias = np.zeros(3), 0.0
    for _ in range(20_000):
        residual = 1 / (1 + np.exp(-(x @ weights + bias))) - y
        weights = weights - 0.01 * (x.T @ residual + 1.0 * weights)
        bias -= 0.01 * residual.sum()
    fit = fit_logistic(x, y, 1.0)
    assert (*fit.weights, fit.bias) == pytest.approx((*weights, bias), abs=1e-6)


def test_separable_data_stay_finite():
    fit = fit_logistic(np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([0, 0, 1, 1]), 1e-3)
    assert np.isfinite(fit.weights).all()
    assert fit.probability(np.array([[3.0]]))[0] > 0.99


@pytest.mark.parametrize(("label", "rate"), [(0, 0.5 / 5), (1, 4.5 / 5)])
def test_one_label_alone_gives_its_smoothed_rate(label, rate):
    fit = fit_logistic(np.ones((4, 2)), np.full(4, label))
    assert fit.weights == (0.0, 0.0)
    assert fit.probability(np.zeros((1, 2)))[0] == pytest.approx(rate)


def test_without_features_the_rate_is_fitted():
    fit = fit_logistic(np.zeros((4, 0)), np.array([1, 0, 0, 0]))
    assert fit.probability(np.zeros((1, 0)))[0] == pytest.approx(0.25)


def test_sigmoid_does_not_overflow():
    assert sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("x", "y", "l2", "message"),
    [
        (np.zeros((2, 1)), [0, 2], 1.0, "labels must be 0 or 1"),
        (np.zeros((2, 1)), [0], 1.0, "need x of shape"),
        (np.zeros((0, 1)), [], 1.0, "with N >= 1"),
        (np.zeros((2, 1)), [0, 1], 0.0, "l2 must be above 0"),
    ],
)
def test_bad_input(x, y, l2, message):
    with pytest.raises(ValueError, match=message):
        fit_logistic(x, np.array(y), l2)
