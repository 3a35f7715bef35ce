import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import credit
from tests.references import credit as slow

NAN = math.nan
# Whole numbers: equal returns are then equal in both implementations, and no rounding decides a comparison.
numbers = st.integers(-50, 50).map(float)
maybe_unscored = st.one_of(st.just(NAN), numbers)
episodes = st.lists(st.lists(maybe_unscored, min_size=0, max_size=6), min_size=1, max_size=5)


def assert_episodes_close(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


class TestOutcomeAdvantages:
    def test_hand_computed(self):
        # mean 0.5, sample std of (1, 0, 1, 0) is sqrt(1/3) = 0.57735
        expected = np.array([0.5, -0.5, 0.5, -0.5]) / (math.sqrt(1 / 3) + 1e-4)
        np.testing.assert_allclose(credit.outcome_advantages([1, 0, 1, 0]), expected)

    def test_is_trls_formula(self):
        returns = np.array([0.0, 1.0, 0.25, 10.0])
        expected = (returns - returns.mean()) / (returns.std(ddof=1) + 1e-4)
        np.testing.assert_allclose(credit.outcome_advantages(returns), expected)

    def test_dr_grpo_only_centres(self):
        np.testing.assert_array_equal(credit.outcome_advantages([3.0, 1.0], scale="none"), [1.0, -1.0])

    def test_batch_scale_divides_every_group_by_the_same_number(self):
        returns, groups = [1.0, 0.0, 10.0, 0.0], ["a", "a", "b", "b"]
        scaled = credit.outcome_advantages(returns, scale="batch", groups=groups)
        plain = credit.outcome_advantages(returns, scale="none", groups=groups)
        np.testing.assert_allclose(scaled, plain / (np.std(returns, ddof=1) + 1e-4))

    def test_an_unscored_episode_is_outside_the_mean_and_gets_exactly_zero(self):
        with_unscored = credit.outcome_advantages([1.0, NAN, 0.0])
        assert with_unscored[1] == 0.0
        np.testing.assert_array_equal(with_unscored[[0, 2]], credit.outcome_advantages([1.0, 0.0]))

    @pytest.mark.parametrize("returns", [[0.1] * 3, [NAN, NAN], [7.0], []])
    def test_groups_without_variance_get_exactly_zero(self, returns):
        np.testing.assert_array_equal(credit.outcome_advantages(returns), np.zeros(len(returns)))

    @given(
        st.lists(st.tuples(maybe_unscored, st.sampled_from("abc")), max_size=12),
        st.sampled_from(["group", "none", "batch"]),
    )
    def test_is_the_slow_loop(self, rows, scale):
        returns, groups = [r for r, _ in rows], [g for _, g in rows]
        found = credit.outcome_advantages(returns, scale=scale, groups=groups)
        np.testing.assert_allclose(found, slow.outcome_advantages(returns, scale, groups), atol=1e-9)

    @given(st.lists(numbers, min_size=2, max_size=8), numbers)
    def test_a_constant_added_to_all_returns_changes_nothing(self, returns, constant):
        shifted = credit.outcome_advantages(np.add(returns, constant))
        np.testing.assert_allclose(shifted, credit.outcome_advantages(returns), atol=1e-9)

    def test_an_episodes_length_gives_it_no_bonus(self):
        # Statistics per trajectory: the return alone counts, however many steps it took.
        advantages = credit.combine({"outcome": credit.outcome_advantages([1.0, 0.0], scale="none")}, lengths=[1, 50])
        assert advantages[0].tolist() == [0.5]
        assert advantages[1].tolist() == [-0.5] * 50

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([[1.0]],), r"returns must have shape \(n,\), got \(1, 1\)"),
            (([math.inf],), "returns must be finite or NaN"),
            (([1.0], "std"), "scale must be 'group', 'none' or 'batch', got 'std'"),
            (([1.0, 2.0], "group", ["a"]), "groups has 1 labels for 2 returns"),
        ],
    )
    def test_bad_input(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            credit.outcome_advantages(*arguments)


class TestCenteredStepScores:
    def test_hand_computed(self):
        # scored steps 1.0, 0.5, 0.0, mean 0.5, weight 0.5
        found = credit.centered_step_scores([[1.0, 0.5], [0.0, NAN]])
        assert [a.tolist() for a in found] == [[0.25, 0.0], [-0.25, 0.0]]

    def test_baseline_of_episodes(self):
        # means 0.75 and 0.0, their mean 0.375
        found = credit.centered_step_scores([[1.0, 0.5], [0.0]], weight=1.0, baseline="episodes")
        assert [a.tolist() for a in found] == [[0.625, 0.125], [-0.375]]

    @given(episodes, st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from(["steps", "episodes"]))
    def test_is_the_slow_loop(self, scores, weight, baseline):
        found = credit.centered_step_scores(scores, weight, baseline)
        assert_episodes_close(found, slow.centered_step_scores(scores, weight, baseline))

    @given(episodes)
    def test_sums_to_zero_and_is_exactly_zero_where_unscored(self, scores):
        found = credit.centered_step_scores(scores)
        assert sum(map(np.sum, found)) == pytest.approx(0.0, abs=1e-9)
        for values, given_scores in zip(found, scores, strict=True):
            assert all(values[np.isnan(given_scores)] == 0.0)

    @given(episodes)
    def test_a_weight_of_zero_leaves_plain_grpo(self, scores):
        outcome = credit.outcome_advantages(np.arange(len(scores), dtype=float))
        lengths = [len(s) for s in scores]
        with_term = credit.combine({"outcome": outcome, "scores": credit.centered_step_scores(scores, 0.0)}, lengths)
        plain = credit.combine({"outcome": outcome}, lengths)
        for a, b in zip(with_term, plain, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_bad_input(self):
        with pytest.raises(ValueError, match=r"scores\[1\] must have shape"):
            credit.centered_step_scores([[0.5], [[0.5]]])
        with pytest.raises(ValueError, match="baseline must be 'steps' or 'episodes', got 'group'"):
            credit.centered_step_scores([[0.5]], baseline="group")  # pyright: ignore[reportArgumentType]


class TestRoleCredits:
    def test_triages_constants(self):
        found = credit.role_credits([["decisive", "exploration", "no-progress", "regression"], [None]], weight=0.3)
        np.testing.assert_allclose(found[0], [0.3, 0.15, -0.03, -0.15])
        assert found[1].tolist() == [0.0]

    def test_own_constants(self):
        found = credit.role_credits([["good"]], weight=2.0, constants={"good": 0.25})
        assert found[0].tolist() == [0.5]

    def test_unknown_role(self):
        with pytest.raises(ValueError, match=r"roles\[0\]\[1\] is 'decisve'; known roles are decisive, exploration"):
            credit.role_credits([["decisive", "decisve"]])


class TestWhiten:
    def test_hand_computed(self):
        # mean 1, sample std 1
        found = credit.whiten([[0.0, NAN], [1.0, 2.0]])
        np.testing.assert_allclose(np.concatenate(found), np.array([-1.0, 0.0, 0.0, 1.0]) / 1.0001)

    @given(episodes)
    def test_is_the_slow_loop(self, values):
        assert_episodes_close(credit.whiten(values), slow.whiten(values))


class TestDiscountedStepReturns:
    def test_hand_computed(self):
        np.testing.assert_allclose(credit.discounted_step_returns([1.0, NAN, 4.0], gamma=0.5), [2.0, 2.0, 4.0])

    @given(st.lists(maybe_unscored, max_size=8), st.sampled_from([0.0, 0.5, 0.95, 1.0]))
    def test_is_the_slow_loop(self, rewards, gamma):
        found = credit.discounted_step_returns(rewards, gamma)
        np.testing.assert_allclose(found, slow.discounted_step_returns(rewards, gamma), atol=1e-9)

    def test_bad_gamma(self):
        with pytest.raises(ValueError, match=r"gamma must be in \[0, 1\], got 1.5"):
            credit.discounted_step_returns([1.0], gamma=1.5)


class TestAnchorStateAdvantages:
    def test_hand_computed(self):
        # "hall" is met twice, with returns 1 and 0; "room" once only
        seen, rewards = [["hall", "room"], ["hall"]], [[0.0, 1.0], [0.0]]
        found = credit.anchor_state_advantages(seen, rewards, gamma=1.0, scale="none")
        assert [a.tolist() for a in found] == [[0.5, 0.0], [-0.5]]

    def test_reduces_to_grpo_when_every_episode_is_one_step_from_the_same_state(self):
        returns = [1.0, 0.0, 0.5]
        found = credit.anchor_state_advantages([["start"]] * 3, [[r] for r in returns])
        np.testing.assert_array_equal(np.concatenate(found), credit.outcome_advantages(returns))

    @given(
        st.lists(st.lists(st.tuples(st.sampled_from("abc"), numbers), max_size=5), min_size=1, max_size=4),
        st.sampled_from(["group", "none"]),
    )
    def test_is_the_slow_loop(self, rows, scale):
        observations = [[o for o, _ in row] for row in rows]
        rewards = [[r for _, r in row] for row in rows]
        found = credit.anchor_state_advantages(observations, rewards, gamma=0.5, scale=scale)
        assert_episodes_close(found, slow.anchor_state_advantages(observations, rewards, 0.5, scale))

    def test_lengths_must_agree(self):
        with pytest.raises(ValueError, match="episode 1 has 1 observations and 2 rewards"):
            credit.anchor_state_advantages([["a"], ["b"]], [[1.0], [1.0, 2.0]])


class TestCombine:
    def test_sums_terms_and_unscored_adds_exactly_zero(self):
        found = credit.combine({"outcome": [1.0, NAN], "scores": [[0.5, NAN], [0.25]]})
        assert [a.tolist() for a in found] == [[1.5, 1.0], [0.25]]

    def test_the_input_is_left_as_it_was(self):
        scores = [np.array([0.5, NAN])]
        credit.combine({"a": scores, "b": scores})
        np.testing.assert_array_equal(scores[0], [0.5, NAN])

    @pytest.mark.parametrize(
        ("terms", "lengths", "message"),
        [
            ({}, None, "terms is empty"),
            ({"outcome": [1.0]}, None, "no term gives the number of steps"),
            ({"outcome": [1.0], "scores": [[1.0], [2.0]]}, None, "term 'scores' has 2 episodes, expected 1"),
            ({"a": [[1.0]], "b": [[1.0, 2.0]]}, None, "term 'b' has 2 steps in episode 0, expected 1"),
            ({"a": [[1.0]]}, [2], "term 'a' has 1 steps in episode 0, expected 2"),
        ],
    )
    def test_bad_input(self, terms, lengths, message):
        with pytest.raises(ValueError, match=message):
            credit.combine(terms, lengths)


class TestBroadcastToTokens:
    def test_observation_tokens_get_none(self):
        found = credit.broadcast_to_tokens([0.5, NAN, -1.0], [-1, 0, 0, -1, 1, -1, 2])
        assert found.tolist() == [0.0, 0.5, 0.5, 0.0, 0.0, 0.0, -1.0]

    @given(st.lists(maybe_unscored, min_size=1, max_size=5), st.data())
    def test_is_the_slow_loop(self, values, data):
        ids = data.draw(st.lists(st.integers(-1, len(values) - 1), max_size=12))
        found = credit.broadcast_to_tokens(values, np.array(ids, dtype=np.int64))
        np.testing.assert_array_equal(found, slow.broadcast_to_tokens(values, ids))

    @pytest.mark.parametrize(
        ("ids", "message"),
        [
            ([2], r"step_ids must be in -1 ... 1, got 2 ... 2"),
            ([-2], r"step_ids must be in -1 ... 1, got -2 ... -2"),
            ([0.0], "step_ids must be integers"),
            ([[0]], r"step_ids must be integers of shape \(L,\)"),
        ],
    )
    def test_bad_input(self, ids, message):
        with pytest.raises(ValueError, match=message):
            credit.broadcast_to_tokens([0.1, 0.2], ids)


def test_a_tokens_advantage_of_two_episodes_of_unequal_lengths():
    """Won in 1 step against lost in 3, one of them unscored; every number by hand."""
    outcome = credit.outcome_advantages([1.0, 0.0])
    scores = credit.centered_step_scores([[0.9], [0.2, NAN, 0.4]], weight=0.5)
    steps = credit.combine({"outcome": outcome, "scores": scores})
    high = 0.5 / (math.sqrt(0.5) + 1e-4)  # mean 1/2, sample std sqrt(1/2)
    # mean of the three scored steps: (0.9 + 0.2 + 0.4) / 3 = 0.5
    np.testing.assert_allclose(steps[0], [high + 0.2])
    np.testing.assert_allclose(steps[1], [-high - 0.15, -high, -high - 0.05])

    tokens = credit.broadcast_to_tokens(steps[1], [-1, -1, 0, 0, -1, 1, -1, 2, 2, 2])
    expected = [0, 0, -high - 0.15, -high - 0.15, 0, -high, 0, -high - 0.05, -high - 0.05, -high - 0.05]
    np.testing.assert_allclose(tokens, expected)


def test_unscored_share():
    assert credit.unscored_share([[0.5, NAN], [NAN, NAN]]) == 0.75
    assert math.isnan(credit.unscored_share([[], []]))
