"""Comparators and critics: what the model is asked, in which order it does not matter, and what no answer means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.comparison import Comparison
from agentkit.judges import AbsoluteCritic, PairwiseComparator, RandomComparator, WrongComparator
from agentkit.testing import ScriptedModel
from agentkit.wrappers import ComparatorGateWrapper

PAST = (("go to desk 1", "You are at desk 1."), ("take mug 1", "You take the mug."))


def pair(a="look", b="go to microwave 1", actions=(), observation="You hold a mug."):
    return Comparison("heat a mug", PAST, observation, a, b, actions)


def test_the_comparators_prompt():
    query = PairwiseComparator(ScriptedModel(), history=1).query(pair(actions=("look", "go to microwave 1")))
    assert query.system == "You compare two actions of an agent in a text environment."
    assert query.context == (
        "Goal: heat a mug\nAction: take mug 1\nResult: You take the mug.\nCurrent observation: You hold a mug.\n"
        "Admissible actions: look, go to microwave 1"
    )
    assert query.question.text == (
        "Action A: look\nAction B: go to microwave 1\nWhich action is better now? Answer A, B or T (tie)."
    )
    assert query.question.options == ("A", "B", "T")


def test_without_ties_only_a_and_b_are_offered():
    query = PairwiseComparator(ScriptedModel(), ties=False).query(pair())
    assert query.question.options == ("A", "B")
    assert query.question.text.endswith("Which action is better now? Answer A or B.")


def test_questions_about_one_state_begin_alike_and_go_in_one_batch():
    model = ScriptedModel()
    PairwiseComparator(model)([pair("a", "b"), pair("b", "a"), pair("a", "c")])
    assert model.calls == [3]
    assert len({query.context for query in model.queries}) == 1


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_the_history_is_as_long_as_asked_for(kept):
    context = PairwiseComparator(ScriptedModel(), history=kept).query(pair()).context
    assert [f"Action: {action}" in context for action, _ in PAST] == [kept >= 2, kept >= 1]


def test_what_the_model_does_not_answer_is_none_and_no_tie():
    model = ScriptedModel({"Action A: look": "B", "Action B: look": None})
    assert PairwiseComparator(model)([pair(), pair("go to microwave 1", "look")]) == ["B", None]


def test_a_model_that_loses_answers_is_an_error():
    with pytest.raises(ValueError, match="0 decisions for 1 comparisons"):
        PairwiseComparator(lambda queries: [])([pair()])
    with pytest.raises(ValueError, match="0 decisions for 2 queries"):
        AbsoluteCritic(lambda queries: [])([pair()])


def test_nothing_to_compare_asks_nothing():
    model = ScriptedModel()
    assert PairwiseComparator(model)([]) == AbsoluteCritic(model)([]) == []
    assert model.calls == []


def test_the_gate_lets_the_proposal_through_where_there_is_no_answer_and_counts_it():
    from agentkit.testing import ScriptedEnv

    env = ComparatorGateWrapper(ScriptedEnv(), PairwiseComparator(ScriptedModel({"": None})), k=1)
    env.reset(seed=0)
    _, _, _, _, info = env.step("look")
    assert (info["gate"]["withheld"], info["gate"]["executed"], info["gate"]["failed"]) == (False, "look", True)
    assert env.totals["unanswered"] == 2


def critic(values, **options):
    return AbsoluteCritic(ScriptedModel({f"Next action: {a}\n": v for a, v in values.items()}), **options)


def test_the_critics_prompt():
    query = AbsoluteCritic(ScriptedModel(), history=0).query(pair(), "look")
    assert query.context == "Goal: heat a mug\nCurrent observation: You hold a mug."
    assert query.question.text == (
        "Next action: look\nWill the agent reach the goal if it does this now? Answer yes or no."
    )
    assert query.question.options == ("yes", "no")


def test_the_critic_prefers_the_higher_value_in_either_order():
    q = critic({"look": 0.2, "take": 0.7, "wait": 0.65})
    assert q([pair("look", "take"), pair("take", "look"), pair("take", "wait")]) == ["B", "A", "A"]
    assert q([pair("look", "look")]) == ["T"]


def test_values_within_the_margin_are_a_tie():
    q = critic({"look": 0.25, "take": 0.75, "wait": 0.5}, margin=0.25)
    assert q([pair("take", "wait"), pair("take", "look")]) == ["T", "A"]


def test_an_action_of_one_state_is_asked_about_once():
    q = critic({"look": 0.2, "take": 0.7, "wait": 0.1})
    model = q.model
    assert isinstance(model, ScriptedModel)
    values = q.values([pair("look", "take"), pair("take", "look"), pair("look", "wait")])
    assert [(a.score, b.score) for a, b in values] == [(0.2, 0.7), (0.7, 0.2), (0.2, 0.1)]
    assert model.calls == [3]
    q.values([pair("look", "take"), pair("look", "take", observation="elsewhere")])
    assert model.calls == [3, 4]


def test_an_unscored_action_is_neither_better_nor_worse():
    q = critic({"look": None, "take": 0.7})
    assert q([pair("look", "take"), pair("take", "take")]) == [None, "T"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PairwiseComparator(ScriptedModel(), history=-1), "history"),
        (lambda: AbsoluteCritic(ScriptedModel(), margin=1.5), "margin"),
        (lambda: RandomComparator(options=("A", "C")), "options"),
        (lambda: RandomComparator(options=()), "options"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@given(st.integers(0, 5), st.lists(st.sampled_from(["look", "take", "wait"]), min_size=1, max_size=4))
def test_the_random_comparator_answers_the_same_whenever_it_is_asked(seed, actions):
    pairs = [pair(a, "go") for a in actions]
    together = RandomComparator(seed)(pairs)
    assert together == [RandomComparator(seed)([p])[0] for p in pairs]
    assert set(together) <= {"A", "B", "T"}


def test_random_answers_are_uniform_and_the_two_orders_independent():
    pairs = [pair(f"a{i}", "b") for i in range(3000)]
    swapped = [pair("b", f"a{i}") for i in range(3000)]
    first, second = RandomComparator(3)(pairs), RandomComparator(3)(swapped)
    for answer in "ABT":
        assert first.count(answer) / 3000 == pytest.approx(1 / 3, abs=0.03)
    both = sum(x == "B" and y == "A" for x, y in zip(first, second, strict=True))
    assert both / 3000 == pytest.approx(1 / 9, abs=0.02)
    assert set(RandomComparator(3, options=("A", "B"))(pairs)) == {"A", "B"}


def test_the_wrong_comparator_swaps_the_winners_only():
    assert WrongComparator(lambda comparisons: ["A", "B", "T", None])([pair()] * 4) == ["B", "A", "T", None]


def test_a_real_model_compares_and_values(smol):
    from agentkit.models import ConstrainedReadout

    readout = ConstrainedReadout(*smol)
    decisions = PairwiseComparator(readout).decide([pair(), pair("go to microwave 1", "look")])
    assert all(d.choice in ("A", "B", "T") and d.label_mass is not None for d in decisions)
    (a, b), (c, d) = AbsoluteCritic(readout).values([pair(), pair("go to microwave 1", "look")])
    assert a == d
    assert b == c
    assert a.score != b.score
