"""Credit terms: by hand, against slow references, and what must hold of every one of them."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.credit import STD_EPSILON, combine
from agentkit.decisions import Verdict
from agentkit.trainers.credit.terms import (
    AnchorState,
    DiscountedReturns,
    Outcome,
    RoleCredit,
    StepScores,
    TriageAdvantage,
    evaluate_term,
    evaluate_terms,
)
from agentkit.trainers.robustness.guarding import EnvFailureError, mark_failed
from agentkit.trajectory import Step, Trajectory
from tests.references.terms import (
    outcome_by_group,
    returns_against_padded,
    returns_against_survivors,
    sample_outcome,
)

SQRT_HALF = math.sqrt(0.5)


def episode(scores=(), roles=None, judge="judge", rewards=None, shaped=None, seen=None):
    size = len(scores) or len(rewards or ())
    scores = scores or [None] * size
    columns = zip(
        scores,
        roles or [None] * size,
        rewards or [0.0] * size,
        shaped or [None] * size,
        seen or [""] * size,
        strict=True,
    )
    steps = [
        Step(
            observation=o,
            action="a",
            reward=r,
            shaped_reward=s,
            role=role,
            scores={judge: Verdict.no_score("no answer") if v is None else Verdict(v)},
        )
        for v, role, r, s, o in columns
    ]
    return Trajectory(goal="", steps=steps)


def finishing(value, length):
    """An episode whose only reward comes with its last step."""
    return episode(rewards=[0.0] * (length - 1) + [float(value)])


def lost(trajectory):
    return mark_failed(trajectory, EnvFailureError("hung", "step took too long"))


# Outcome


def test_outcome_by_hand():
    """Returns 1 and 0 of 2 and 1 steps: ±0.5 over the standard deviation √½."""
    values = evaluate_term(Outcome(), [finishing(1, 2), finishing(0, 1)])
    high = 0.5 / (SQRT_HALF + STD_EPSILON)
    np.testing.assert_allclose(values[0], [high, high])
    np.testing.assert_allclose(values[1], [-high])


def test_outcome_with_statistics_over_steps_by_hand():
    """The samples are 1, 1, 1, 0: mean ¾, variance ¼."""
    values = evaluate_term(Outcome(statistics="sample"), [finishing(1, 3), finishing(0, 1)])
    np.testing.assert_allclose(values[0], [0.25 / (0.5 + STD_EPSILON)] * 3)
    np.testing.assert_allclose(values[1], [-0.75 / (0.5 + STD_EPSILON)])


def test_outcome_scaled_by_the_batch_is_centred_by_the_group():
    """Group means ½ and 5; the standard deviation is that of 1, 0, 10, 0."""
    groups = [[finishing(1, 1), finishing(0, 1)], [finishing(10, 1), finishing(0, 1)]]
    values = evaluate_terms([Outcome(scale="batch")], groups)["outcome"]
    spread = np.std([1, 0, 10, 0], ddof=1) + STD_EPSILON
    np.testing.assert_allclose(np.concatenate(values) * spread, [0.5, -0.5, 5, -5])


def test_the_return_is_that_of_raw_rewards():
    values = evaluate_term(Outcome(scale="none"), [episode(rewards=[1.0], shaped=[9.0]), episode(rewards=[0.0])])
    assert [v.tolist() for v in values] == [[0.5], [-0.5]]


returns_and_lengths = st.lists(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), min_size=1, max_size=4), min_size=1, max_size=3
)


@given(returns_and_lengths, st.sampled_from(["group", "none", "batch"]))
def test_outcome_matches_the_reference(batch, scale):
    groups = [[finishing(r, n) for r, n in group] for group in batch]
    returns = [[float(r) for r, _ in group] for group in batch]
    lengths = [[n for _, n in group] for group in batch]
    for statistics, expected in (
        ("trajectory", outcome_by_group(returns, scale)),
        ("sample", sample_outcome(returns, lengths, scale)),
    ):
        values = evaluate_terms([Outcome(scale, statistics)], groups)["outcome"]
        assert [len(v) for v in values] == [n for group in lengths for n in group]
        np.testing.assert_allclose([v[0] for v in values], expected, atol=1e-9)
        assert all(np.ptp(v) == 0 for v in values)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=5), st.integers(1, 4))
def test_statistics_agree_up_to_scale_where_lengths_do(returns, length):
    group = [finishing(r, length) for r in returns]
    by_episode = evaluate_term(Outcome("none", "trajectory"), group)
    by_step = evaluate_term(Outcome("none", "sample"), group)
    np.testing.assert_allclose(np.concatenate(by_episode), np.concatenate(by_step), atol=1e-9)


@pytest.mark.parametrize("bad", [{"scale": "std"}, {"statistics": "steps"}])
def test_unknown_options_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Outcome(**bad)


# Step scores


def test_step_scores_are_centred_within_the_group():
    values = evaluate_term(StepScores(weight=0.5), [episode([1.0, 0.5]), episode([0.0, None])])
    np.testing.assert_allclose(values[0], [0.25, 0.0])
    np.testing.assert_allclose(values[1], [-0.25, 0.0])
    assert values[1][1] == 0.0


def test_step_scores_against_the_mean_of_the_episodes_means():
    values = evaluate_term(StepScores(weight=1.0, baseline="episodes"), [episode([1.0, 1.0, 1.0]), episode([0.0])])
    assert [v.tolist() for v in values] == [[0.5] * 3, [-0.5]]


def test_step_scores_name_the_judge_that_is_missing():
    with pytest.raises(ValueError, match=r"no scores of judge 'oracle' in the group \(found \['judge'\]\)"):
        StepScores(judge="oracle")([episode([1.0])])


def test_a_group_that_nobody_judged_since_it_was_cut_is_unscored():
    group = [attrs.evolve(t.with_steps(scores=[{}] * len(t)), truncated=True) for t in (episode([0, 0]), episode([0]))]
    assert [v.tolist() for v in evaluate_term(StepScores(), group)] == [[0.0, 0.0], [0.0]]
    ended = [attrs.evolve(group[0], truncated=False, terminated=True), group[1]]
    with pytest.raises(ValueError, match=r"no scores of any judge in the group \(found \[\]\)"):
        evaluate_term(StepScores(), ended)


scored = st.lists(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=4), min_size=2, max_size=4)


@given(scored, st.floats(-2, 2))
def test_step_scores_sum_to_zero_and_leave_unscored_steps_alone(columns, weight):
    values = evaluate_term(StepScores(weight=weight), [episode(column) for column in columns])
    assert abs(sum(v.sum() for v in values)) < 1e-9
    for column, array in zip(columns, values, strict=True):
        assert all(value == 0.0 for score, value in zip(column, array, strict=True) if score is None)


@given(scored)
def test_weight_zero_is_plain_grpo(columns):
    group = [episode(column, rewards=[float(i)] * len(column)) for i, column in enumerate(columns)]
    terms = evaluate_terms([Outcome(), StepScores(weight=0.0)], [group])
    plain = evaluate_terms([Outcome()], [group])
    np.testing.assert_array_equal(np.concatenate(combine(terms)), np.concatenate(combine(plain)))


def test_a_group_with_one_outcome_still_learns_from_step_scores():
    terms = evaluate_terms([Outcome(), StepScores(weight=1.0)], [[episode([1.0, 0.0]), episode([0.5, 0.5])]])
    assert [v.tolist() for v in terms["outcome"]] == [[0.0, 0.0], [0.0, 0.0]]
    assert [v.tolist() for v in combine(terms)] == [[0.5, -0.5], [0.0, 0.0]]


# Roles


def test_role_credit_uses_the_fixed_constants():
    values = evaluate_term(RoleCredit(weight=0.3), [episode([0, 0, 0], ["decisive", None, "regression"])])
    np.testing.assert_allclose(values[0], [0.3, 0.0, -0.15])


def test_role_credit_whitened_over_the_batch_by_hand():
    """c = 1 and -0.5 in two groups: mean ¼, standard deviation 1.5/√2; the untyped step stays 0."""
    groups = [[episode([0, 0], ["decisive", None])], [episode([0], ["regression"])]]
    values = evaluate_terms([RoleCredit(weight=0.3, whiten="batch")], groups)["roles"]
    one = 0.3 * 0.75 / (1.5 * SQRT_HALF + STD_EPSILON)
    np.testing.assert_allclose(values[0], [one, 0.0])
    np.testing.assert_allclose(values[1], [-one])


def test_role_credit_whitened_by_group_has_nothing_to_tell_of_one_role():
    groups = [[episode([0], ["decisive"])], [episode([0], ["regression"])]]
    values = evaluate_terms([RoleCredit(whiten="group")], groups)["roles"]
    assert [v.tolist() for v in values] == [[0.0], [0.0]]


def test_triage_whitens_the_sum_over_the_batch():
    groups = [[episode([0], ["decisive"], rewards=[1.0]), episode([0, 0], ["regression", None], rewards=[0.0, 0.0])]]
    values = np.concatenate(evaluate_terms([TriageAdvantage(weight=0.3)], groups)["outcome"])
    high = 0.5 / (SQRT_HALF + STD_EPSILON)
    total = np.array([high + 0.3, -high - 0.15, -high])
    np.testing.assert_allclose(values, (total - total.mean()) / (total.std(ddof=1) + STD_EPSILON))


# Discounted returns


def test_discounted_returns_by_hand():
    """γ = ½: returns (0.5, 1) and (0.25); the baseline is the mean of 0.5 and 0.25."""
    group = [episode(rewards=[0.0, 1.0]), episode(rewards=[0.25])]
    values = evaluate_term(DiscountedReturns(weight=2.0, gamma=0.5), group)
    np.testing.assert_allclose(values[0], [0.25, 1.25])
    np.testing.assert_allclose(values[1], [-0.25])


def test_discounted_returns_are_of_the_shaped_rewards():
    group = [episode(rewards=[0.0], shaped=[1.0]), episode(rewards=[0.0])]
    assert [v.tolist() for v in evaluate_term(DiscountedReturns(), group)] == [[0.5], [-0.5]]
    assert [v.tolist() for v in evaluate_term(DiscountedReturns(rewards="raw"), group)] == [[0.0], [0.0]]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), min_size=1, max_size=4))
def test_undiscounted_returns_of_a_last_reward_are_the_outcome(batch):
    group = [finishing(r, n) for r, n in batch]
    expected = evaluate_term(Outcome(scale="none"), group)
    values = evaluate_term(DiscountedReturns(gamma=1.0), group)
    np.testing.assert_allclose(np.concatenate(values), np.concatenate(expected), atol=1e-12)


def test_length_alone_is_worth_nothing():
    """Two wins, one longer. A per-turn baseline in which ended episodes count 0 pays the longer one for its length."""
    rewards = [[1.0], [0.0, 0.0, 1.0]]
    assert returns_against_padded(rewards, 1.0) == [[0.0], [0.0, 0.5, 0.5]]
    values = evaluate_term(DiscountedReturns(gamma=1.0), [episode(rewards=r) for r in rewards])
    assert [v.tolist() for v in values] == [[0.0], [0.0, 0.0, 0.0]]


def test_a_failure_that_outlasts_the_others_is_blamed_to_its_end():
    """A per-turn baseline over the episodes still running excuses every step of a failure after the others ended."""
    rewards = [[1.0], [0.0, 0.0, 0.0]]
    assert returns_against_survivors(rewards, 1.0) == [[0.5], [-0.5, 0.0, 0.0]]
    values = evaluate_term(DiscountedReturns(gamma=1.0), [episode(rewards=r) for r in rewards])
    assert [v.tolist() for v in values] == [[0.5], [-0.5, -0.5, -0.5]]


@given(st.integers(-3, 3), st.lists(st.integers(-2, 2), min_size=1, max_size=4), st.integers(1, 6), st.integers(1, 6))
def test_credit_does_not_depend_on_when_another_episode_stopped(other, own, short, long):
    """γ = 1, so that the other's return is the same however long it took."""
    mine = episode(rewards=[float(r) for r in own])
    with_short = evaluate_term(DiscountedReturns(gamma=1.0), [mine, finishing(other, short)])
    with_long = evaluate_term(DiscountedReturns(gamma=1.0), [mine, finishing(other, long)])
    np.testing.assert_array_equal(with_short[0], with_long[0])


# Anchor states


def test_anchor_states_compare_what_was_done_in_the_same_place():
    """At "hall" the returns are 1 and 0; "attic" was seen once."""
    group = [
        episode(rewards=[1.0], seen=["hall"]),
        episode(rewards=[0.0, 0.0], seen=["hall", "attic"]),
    ]
    values = evaluate_term(AnchorState(weight=2.0), group)
    high = 2.0 * 0.5 / (SQRT_HALF + STD_EPSILON)
    np.testing.assert_allclose(values[0], [high])
    np.testing.assert_allclose(values[1], [-high, 0.0])


def test_gigpo_is_the_outcome_plus_weighted_anchor_states():
    group = [episode(rewards=[1.0], seen=["hall"]), episode(rewards=[0.0], seen=["hall"])]
    terms = evaluate_terms([Outcome("none"), AnchorState(weight=0.5, scale="none")], [group])
    assert [v.tolist() for v in combine(terms)] == [[0.75], [-0.75]]


def test_anchors_of_ones_own():
    group = [episode(rewards=[1.0], seen=["Hall, turn 1"]), episode(rewards=[0.0], seen=["Hall, turn 2"])]
    assert all((v == 0).all() for v in evaluate_term(AnchorState(), group))
    values = evaluate_term(AnchorState(scale="none", anchor=lambda step: step.observation[:4]), group)
    assert [v.tolist() for v in values] == [[0.5], [-0.5]]


# Any term


def test_nan_of_an_own_term_adds_exactly_zero():
    assert evaluate_term(lambda group: [np.array([math.nan, 1.0])], [episode([0, 0])])[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("values", [[np.zeros(3)], [np.zeros(2)] * 2, [np.array([math.inf, 0.0])]])
def test_a_term_of_the_wrong_form_is_named(values):
    def mine(group):
        return values

    with pytest.raises(ValueError, match="credit term 'mine'"):
        evaluate_term(mine, [episode([0, 0])])


def test_an_own_term_over_the_batch_sees_all_groups():
    def ranked(groups):
        count = sum(map(len, groups))
        return [[np.full(len(t), float(count)) for t in group] for group in groups]

    ranked.scope = "batch"
    groups = [[episode([0]), episode([0, 0])], [episode([0])]]
    assert [v.tolist() for v in evaluate_terms([ranked], groups)["ranked"]] == [[3.0], [3.0, 3.0], [3.0]]


def test_a_batch_term_that_forgets_a_group_is_named():
    def mine(groups):
        return []

    mine.scope = "batch"
    with pytest.raises(ValueError, match="'mine' gave 0 groups for 1"):
        evaluate_terms([mine], [[episode([0])]])


def test_an_unknown_scope_is_named():
    def mine(group):
        return []

    mine.scope = "world"
    with pytest.raises(ValueError, match="scope 'world'"):
        evaluate_terms([mine], [[episode([0])]])


def test_terms_must_have_different_names():
    with pytest.raises(ValueError, match="different names"):
        evaluate_terms([Outcome(), Outcome()], [[episode([0])]])


ALL_TERMS = [
    Outcome(),
    Outcome("batch", "sample"),
    StepScores(),
    RoleCredit(whiten="batch"),
    TriageAdvantage(),
    DiscountedReturns(),
    AnchorState(),
]


@pytest.mark.parametrize("term", ALL_TERMS, ids=lambda term: type(term).__name__)
def test_a_dropped_episode_counts_nowhere(term):
    group = [
        episode([1.0, 0.2], ["decisive", "regression"], rewards=[0.0, 1.0], seen=["a", "b"]),
        episode([0.4], ["exploration"], rewards=[0.0], seen=["a"]),
    ]
    failed = lost(episode([0.9, 0.9], ["regression"] * 2, rewards=[5.0, 5.0], seen=["a", "b"]))
    nothing = lost(Trajectory(goal="", steps=()))
    without = evaluate_terms([term], [group])
    with_failed = evaluate_terms([term], [[group[0], failed, group[1]], [nothing]])
    for name, values in without.items():
        found = with_failed[name]
        np.testing.assert_array_equal(found[0], values[0])
        np.testing.assert_array_equal(found[2], values[1])
        assert found[1].tolist() == [0.0, 0.0]
        assert found[3].size == 0


@settings(max_examples=30)
@given(scored, st.sampled_from(ALL_TERMS))
def test_every_term_gives_one_finite_value_a_step(columns, term):
    group = [episode(column, rewards=[float(i)] * len(column)) for i, column in enumerate(columns)]
    [values] = evaluate_terms([term], [group]).values()
    assert [v.shape for v in values] == [(len(column),) for column in columns]
    assert all(np.isfinite(v).all() for v in values)
