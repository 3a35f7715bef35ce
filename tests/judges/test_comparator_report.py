"""What the reports measure: by hand, and against slow loops."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.branches import BranchPair, preference
from agentkit.decisions import Decision
from agentkit.judges import AbsoluteCritic, PairwiseComparator, RandomComparator, comparator_report, critic_report
from agentkit.judges.critic_report import spearman
from agentkit.testing import ScriptedModel


def pair(a, b, return_a, return_b, task="t"):
    return BranchPair(
        goal="g",
        observation="o",
        a=a,
        b=b,
        return_a=return_a,
        return_b=return_b,
        label=preference(return_a, return_b),
        task_id=task,
    )


PAIRS = [pair("good", "bad", 1.0, 0.0), pair("bad", "fair", 0.0, 0.5), pair("good", "fine", 1.0, 1.0)]


def scripted(answers):
    """A comparator with one answer for each (a, b)."""
    return lambda comparisons: [answers[c.a, c.b] for c in comparisons]


def test_measures_by_hand():
    report = comparator_report(
        scripted(
            {
                ("good", "bad"): "A",
                ("bad", "good"): "B",  # consistent and right
                ("bad", "fair"): "A",
                ("fair", "bad"): "A",  # inconsistent, right in the second order only
                ("good", "fine"): "T",
                ("fine", "good"): None,
            }
        ),
        PAIRS,
        bins=2,
    )
    assert report.pairs == 3
    assert report.valid == pytest.approx(5 / 6)
    assert report.consistency == pytest.approx(1 / 2)
    assert report.position_bias == pytest.approx((3 - 1) / 5)
    assert report.accuracy == pytest.approx(4 / 5)
    assert report.untied_accuracy == pytest.approx(3 / 4)
    assert report.label_mass is None
    assert report.answers == {"A": {"A": 2}, "B": {"B": 1, "A": 1}, "T": {"T": 1, "none": 1}}
    assert [(b.low, b.high, b.answers, b.accuracy) for b in report.by_margin] == [
        (0.5, 0.5, 2, 0.5),
        (1.0, 1.0, 2, 1.0),
    ]


def test_an_oracle_of_the_labels_is_perfect_and_its_opposite_is_consistently_wrong():
    right = {(o.a, o.b): o.label for p in PAIRS for o in (p, p.swapped())}
    wrong = {key: {"A": "B", "B": "A", "T": "A"}[label] for key, label in right.items()}
    best, worst = comparator_report(scripted(right), PAIRS), comparator_report(scripted(wrong), PAIRS)
    assert (best.accuracy, best.untied_accuracy, best.consistency, best.position_bias) == (1, 1, 1, 0)
    assert (worst.accuracy, worst.untied_accuracy) == (0, 0)
    assert worst.consistency == pytest.approx(2 / 3)


def test_who_always_says_a_is_biased_and_never_consistent():
    report = comparator_report(lambda comparisons: ["A"] * len(comparisons), PAIRS)
    assert (report.position_bias, report.consistency, report.untied_accuracy) == (1, 0, 0.5)


def test_without_any_answer_nothing_is_claimed():
    report = comparator_report(lambda comparisons: [None] * len(comparisons), PAIRS)
    assert report.valid == 0
    assert report.accuracy is report.consistency is report.position_bias is None
    assert ["accuracy", "-"] in [line.split() for line in report.table().splitlines()]


def test_a_junk_answer_is_none():
    report = comparator_report(lambda comparisons: ["better: A"] * len(comparisons), PAIRS)
    assert report.valid == 0


@given(st.lists(st.sampled_from([0.0, 0.1, 0.1 + 1e-12, 0.4, 1.0]), min_size=1, max_size=9), st.integers(1, 5))
def test_bins_hold_every_untied_pair_once_in_order(margins, bins):
    pairs = [pair(f"a{i}", "b", m, 0.0) for i, m in enumerate(margins)]
    report = comparator_report(RandomComparator(0), pairs, bins=bins)
    assert sum(b.answers for b in report.by_margin) == 2 * sum(p.label != "T" for p in pairs)
    edges = [edge for b in report.by_margin for edge in (b.low, b.high)]
    assert edges == sorted(edges)
    assert len(report.by_margin) <= bins


def test_both_orders_go_in_one_batch_and_progress_is_told():
    sizes, seen = [], []

    def comparator(comparisons):
        sizes.append([(c.a, c.b) for c in comparisons])
        return ["T"] * len(comparisons)

    comparator_report(comparator, PAIRS, batch_size=2, progress=lambda done, total: seen.append((done, total)))
    assert sizes[0] == [("good", "bad"), ("bad", "good"), ("bad", "fair"), ("fair", "bad")]
    assert seen == [(2, 3), (3, 3)]


def test_the_label_mass_is_that_of_the_decisions_and_the_model_is_asked_once():
    calls = []

    def model(queries):
        calls.append(len(queries))
        return [Decision(q.question, (0.5, 0.25, 0.25), label_mass=0.75) for q in queries]

    report = comparator_report(PairwiseComparator(model), PAIRS)
    assert report.label_mass == 0.75
    assert calls == [6]


def critic(values):
    return AbsoluteCritic(ScriptedModel({f"Next action: {a}\n": v for a, v in values.items()}))


def test_critic_measures_by_hand():
    report = critic_report(critic({"good": 0.9, "bad": 0.4, "fair": 0.4, "fine": 0.8}), PAIRS)
    assert (report.actions, report.unscored) == (4, 0)
    assert report.ranking_accuracy == pytest.approx((1 + 0.5) / 2)
    # values good .9 fine .8 bad .4 fair .4 have ranks 3, 2, .5, .5; returns 1, 1, 0, .5 have 2.5, 2.5, 0, 1.
    assert report.spearman == pytest.approx(np.corrcoef([3, 2, 0.5, 0.5], [2.5, 2.5, 0, 1])[0, 1])
    losses = [-math.log(0.9), -math.log(0.8), -math.log(0.6), -(math.log(0.4) + math.log(0.6)) / 2]
    assert report.bce == pytest.approx(sum(losses) / 4)


def test_a_critic_without_answers_has_no_measures():
    report = critic_report(critic({"": None, "good": None, "bad": 0.1, "fair": None, "fine": None}), PAIRS)
    assert (report.actions, report.unscored) == (4, 3)
    assert report.ranking_accuracy is report.spearman is None
    assert report.bce == pytest.approx(-math.log(0.9))


def test_returns_outside_the_unit_interval_have_no_cross_entropy():
    report = critic_report(critic({"x": 0.3, "y": 0.6}), [pair("x", "y", 2.0, 5.0)])
    assert report.bce is None
    assert (report.ranking_accuracy, report.spearman) == (1.0, 1.0)


def slow_ranks(values):
    return [sum(other < v for other in values) + (sum(other == v for other in values) - 1) / 2 for v in values]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_spearman_is_the_correlation_of_counted_ranks(values):
    first, second = np.array(values, dtype=float).T
    ours = spearman(first, second)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        assert ours is None
    else:
        x, y = slow_ranks(first), slow_ranks(second)
        dx, dy = [v - sum(x) / len(x) for v in x], [v - sum(y) / len(y) for v in y]
        scale = math.sqrt(sum(v * v for v in dx) * sum(v * v for v in dy))
        assert ours == pytest.approx(sum(a * b for a, b in zip(dx, dy, strict=True)) / scale, abs=1e-9)


def test_the_tables_and_their_json():
    report = comparator_report(RandomComparator(0), PAIRS)
    assert json.loads(report.json())["pairs"] == 3
    assert report.table().splitlines()[0].split() == ["comparator", "value"]
    assert "margin of returns" in report.table()
    values = critic_report(critic({"good": 0.9, "bad": 0.4, "fair": 0.4, "fine": 0.8}), PAIRS)
    assert json.loads(values.json())["actions"] == 4
    assert ["ranking", "accuracy", "0.750"] in [line.split() for line in values.table().splitlines()]


@pytest.mark.parametrize("measure", [comparator_report, critic_report])
def test_bad_requests_are_named(measure):
    with pytest.raises(ValueError, match="there are no pairs"):
        measure(critic({}), [])
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        measure(critic({}), PAIRS, batch_size=0)


def test_a_comparator_that_loses_answers_is_an_error():
    with pytest.raises(ValueError, match="1 answers for 6 comparisons"):
        comparator_report(lambda comparisons: ["A"], PAIRS)
