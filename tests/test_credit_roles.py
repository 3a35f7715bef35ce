"""TRIAGE's advantage: what is whitened, by hand, as identities and against a slow loop."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import credit
from tests.references import credit as slow

ROLE_NAMES = [*credit.ROLE_CONSTANTS, None]
groups = st.lists(
    st.tuples(st.integers(-3, 3).map(float), st.lists(st.sampled_from(ROLE_NAMES), max_size=6)), min_size=1, max_size=5
)
D, E, N, R = credit.ROLE_CONSTANTS
OUTCOME = [1.0, -1.0]
ROLES = [[D, N], [R, None]]


def flat(arrays):
    return np.concatenate([np.zeros(0), *arrays])


def test_the_sum_is_whitened_by_hand():
    # A + 0.5 c: 1.5, 0.95, -1.25, -1: mean 0.05; deviations 1.45, 0.9, -1.3, -1.05; squares sum to 5.705.
    found = credit.role_advantages(OUTCOME, ROLES, weight=0.5)
    assert flat(found) == pytest.approx(np.array([1.45, 0.9, -1.3, -1.05]) / (math.sqrt(5.705 / 3) + 1e-4))


def test_the_roles_alone_are_whitened_by_hand():
    # c: 1, -0.1, -0.5 over the typed steps: mean 2/15, squares of the deviations sum to 1.26 - 3 (2/15)².
    spread = math.sqrt((1.26 - 3 * (2 / 15) ** 2) / 2) + 1e-4
    deviations = np.array([1, -0.1, -0.5]) - 2 / 15
    found = credit.role_credits(ROLES, weight=0.5, whitened=True)
    assert flat(found) == pytest.approx([*(0.5 * deviations / spread), 0.0])
    assert flat(credit.role_advantages(OUTCOME, ROLES, 0.5, whitened="roles")) == pytest.approx(
        flat(found) + np.repeat(OUTCOME, 2)
    )


def test_nothing_is_whitened_by_hand():
    assert flat(credit.role_advantages(OUTCOME, ROLES, weight=0.5, whitened="none")) == pytest.approx(
        [1.5, 0.95, -1.25, -1.0]
    )


@given(groups, st.floats(0, 2))
def test_the_sum_is_whitened_as_in_the_slow_loop(group, weight):
    outcome, roles = [a for a, _ in group], [names for _, names in group]
    plain = [
        [a + (0.0 if name is None else weight * credit.ROLE_CONSTANTS[name]) for name in names] for a, names in group
    ]
    found = credit.role_advantages(outcome, roles, weight)
    for values, expected in zip(found, slow.whiten(plain), strict=True):
        np.testing.assert_allclose(values, expected, atol=1e-6)


@given(groups, st.floats(0.1, 2))
def test_a_whitened_sum_has_mean_zero_and_deviation_one(group, weight):
    found = flat(credit.role_advantages([a for a, _ in group], [names for _, names in group], weight))
    assert found.sum() == pytest.approx(0.0, abs=1e-8)
    if found.size and np.ptp(found) > 1e-6:
        assert found.std(ddof=1) == pytest.approx(1.0, abs=0.02)


@given(groups, st.floats(-5, 5))
def test_a_constant_added_to_every_outcome_is_whitened_away(group, constant):
    outcome, roles = [a for a, _ in group], [names for _, names in group]
    moved = credit.role_advantages([a + constant for a in outcome], roles)
    np.testing.assert_allclose(flat(moved), flat(credit.role_advantages(outcome, roles)), atol=1e-6)


@given(groups)
def test_a_weight_of_zero_leaves_plain_grpo(group):
    outcome, roles = [a for a, _ in group], [names for _, names in group]
    spread = [np.full(len(names), a) for a, names in group]
    for whitened in ("roles", "none"):
        found = credit.role_advantages(outcome, roles, 0.0, whitened=whitened)
        np.testing.assert_array_equal(flat(found), flat(spread))
    np.testing.assert_array_equal(flat(credit.role_advantages(outcome, roles, 0.0)), flat(credit.whiten(spread)))


@given(groups, st.floats(0.1, 2))
def test_whitened_roles_have_mean_zero_and_the_weight_as_deviation(group, weight):
    roles = [names for _, names in group]
    found = credit.role_credits(roles, weight, whitened=True)
    typed = np.array([v for names, row in zip(roles, found, strict=True) for n, v in zip(names, row, strict=True) if n])
    untyped = [v for names, row in zip(roles, found, strict=True) for n, v in zip(names, row, strict=True) if not n]
    assert untyped == [0.0] * len(untyped)
    assert typed.sum() == pytest.approx(0.0, abs=1e-8)
    if typed.size > 1 and np.ptp(typed) > 0:
        assert typed.std(ddof=1) == pytest.approx(weight, rel=0.01)


def test_an_episode_without_an_outcome_has_its_roles_only():
    assert flat(credit.role_advantages([math.nan], [[D]], 0.5, whitened="none")).tolist() == [0.5]
    assert credit.role_advantages([], []) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], []), "outcome has 1 episodes and roles 0"),
        (([[1.0]], [[D]]), r"outcome must have shape \(n,\)"),
        (([1.0], [["decisve"]]), "'decisve'; known roles are decisive"),
        (([1.0], [[D]], 0.3, credit.ROLE_CONSTANTS, "batch"), "whitened must be 'sum', 'roles' or 'none', got 'batch'"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        credit.role_advantages(*arguments)
