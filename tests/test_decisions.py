import json
import math
import pickle
import re

import cattrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import Decision, Query, Question, Verdict
from agentkit.decisions import Usage, softmax
from tests import strategies


def through_json(value):
    text = json.dumps(cattrs.unstructure(value), allow_nan=False)
    return cattrs.structure(json.loads(text), type(value))


@given(strategies.questions | strategies.queries | strategies.usages | strategies.decisions() | strategies.verdicts)
def test_every_type_survives_json_and_pickling(value):
    assert through_json(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


class TestQuestion:
    def test_a_predicate_has_yes_first(self):
        assert Question("Did it help?").options == ("yes", "no")

    def test_lists_become_tuples_so_that_questions_can_be_keys(self):
        assert hash(Question("?", "choice", ["a", "b"])) == hash(Question("?", "choice", ("a", "b")))

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            (("?", "ranking", ("a",)), ValueError, "'kind' must be in"),
            (("?", "choice"), ValueError, "a choice question needs at least one option, got none"),
            (("?", "score", ("low",)), ValueError, "a score question needs at least two ordered levels"),
            (("?", "predicate", ("yes", "no", "maybe")), ValueError, "a predicate has two options"),
            (("?", "choice", (1, 2)), TypeError, r"options must be strings, got \(1, 2\)"),
        ],
    )
    def test_bad_input(self, arguments, error, message):
        with pytest.raises(error, match=message):
            Question(*arguments)


class TestDecision:
    yes_no = Question("Did it help?")
    levels = Question("How well?", "score", ("badly", "so so", "well"))

    def test_choice_is_the_most_probable_option_the_first_of_equals(self):
        assert Decision(self.yes_no, (0.3, 0.7)).choice == "no"
        assert Decision(self.yes_no, (0.5, 0.5)).choice == "yes"

    def test_value_of_a_predicate_is_the_probability_of_yes(self):
        assert Decision(self.yes_no, (0.3, 0.7)).value == 0.3

    def test_value_of_a_score_is_the_expected_level_over_the_highest(self):
        # 0 * 0.2 + 1 * 0.2 + 2 * 0.6 = 1.4 of 2
        assert Decision(self.levels, (0.2, 0.2, 0.6)).value == pytest.approx(0.7)

    def test_rounding_does_not_leave_the_unit_interval(self):
        assert Decision(self.yes_no, (1.0000001, -0.0000001)).value == 1.0

    def test_unscored_has_no_value_and_is_never_zero(self):
        decision = Decision(self.yes_no, unscored="refusal")
        assert decision.choice is None
        assert decision.verdict() == Verdict.no_score("refusal")
        with pytest.raises(ValueError, match="the decision is unscored: refusal"):
            _ = decision.value

    def test_a_choice_has_no_value(self):
        with pytest.raises(ValueError, match="a choice has no value"):
            _ = Decision(Question("?", "choice", ("a", "b")), (0.5, 0.5)).value

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"probabilities": (1.0,)}, "1 probabilities for 2 options"),
            ({}, "0 probabilities for 2 options"),
            ({"probabilities": (0.9, 0.9)}, "probabilities must sum to 1, got 1.8"),
            ({"probabilities": (math.nan, 1.0)}, "probabilities must be finite numbers in [0, 1], got (nan, 1.0)"),
            ({"probabilities": (1.5, -0.5)}, "probabilities must be finite numbers in [0, 1], got (1.5, -0.5)"),
            ({"probabilities": (0.5, 0.5), "unscored": "timeout"}, "an unscored decision has no probabilities"),
        ],
    )
    def test_bad_input(self, arguments, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            Decision(self.yes_no, **arguments)

    @given(strategies.decisions())
    def test_values_are_in_the_unit_interval(self, decision):
        if decision.unscored is None and decision.question.kind != "choice":
            assert 0.0 <= decision.value <= 1.0
            assert decision.verdict() == Verdict(decision.value)


class TestVerdict:
    @pytest.mark.parametrize("score", [-0.1, 1.1, math.nan, math.inf])
    def test_scores_are_in_the_unit_interval(self, score):
        with pytest.raises(ValueError, match=r"a score must be in \[0, 1\]"):
            Verdict(score)

    def test_it_is_a_score_or_a_reason(self):
        with pytest.raises(ValueError, match="either a score or a reason"):
            Verdict()
        with pytest.raises(ValueError, match="either a score or a reason"):
            Verdict(0.5, "timeout")
        with pytest.raises(ValueError, match="say why"):
            Verdict.no_score("")

    def test_a_score_of_zero_is_not_unscored(self):
        assert Verdict(0.0).score == 0.0
        assert Verdict(0.0).unscored is None


def test_usage_adds_up():
    assert Usage(1, 2, 3) + Usage(10, 20, 30) == Usage(11, 22, 33)


class TestSoftmax:
    def test_hand_computed(self):
        np.testing.assert_allclose(softmax([math.log(1), math.log(3), -math.inf]), [0.25, 0.75, 0.0])

    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.floats(-1e6, 1e6))
    def test_sums_to_one_however_large_the_logits(self, logits, shift):
        assert softmax(np.add(logits, shift)).sum() == pytest.approx(1.0)


def test_queries_can_be_keys():
    assert len({Query("c", Question("q")), Query("c", Question("q"))}) == 1
