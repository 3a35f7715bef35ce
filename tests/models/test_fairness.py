"""Letters, rotations and calibration: what they promise exactly, and what they change on SmolLM2."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models import Calibrated, ConstrainedReadout, Lettered, Listed, Rotated
from agentkit.models.labels import option_labels
from agentkit.testing import ScriptedModel
from examples.benchmarks.option_order import known_choices, measure

HOT = Question("Is it hot?")


def choice(*options: str) -> Query:
    return Query("context", Question("Which?", "choice", options))


class Biased:
    """Weighs each option by a taste for its words and for its place in the list: p ∝ taste(option) × place(i)."""

    def __init__(self, places: Sequence[float], **tastes: float):
        self.places = places
        self.tastes = tastes
        self.asked: list[Query] = []

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        self.asked += queries
        return [self._decide(query) for query in queries]

    def _decide(self, query: Query) -> Decision:
        options = query.question.options
        weights = np.array([self.tastes.get(o, 1.0) * self.places[i] for i, o in enumerate(options)])
        return Decision(query.question, (weights / weights.sum()).tolist(), 0.5, Usage(10, 0, 1))


def test_letters_stand_for_the_listed_options() -> None:
    model = ScriptedModel([(0.2, 0.8)])
    decision = Lettered(model)([Query("context", Question("Which?", "choice", ("go", "", "go")), "Be brief.")])[0]
    assert model.queries == [
        Query(
            "context",
            Question("Which?\nA. go\nB. (nothing)\nAnswer with the letter only.", "choice", ("A", "B")),
            "Be brief.",
        )
    ]
    assert decision.probabilities == pytest.approx((0.1, 0.8, 0.1))
    assert decision.question.options == ("go", "", "go")


def test_options_are_listed_and_answered_in_words() -> None:
    model = ScriptedModel([(0.2, 0.8)])
    decision = Listed(model)([Query("context", Question("Which?", "choice", ("go", "", "go")))])[0]
    text = "Which?\n- go\n- (nothing)\nAnswer with one of these only."
    assert model.queries == [Query("context", Question(text, "choice", ("go", "")))]
    assert decision.probabilities == pytest.approx((0.1, 0.8, 0.1))


def test_other_kinds_pass_through_letters_and_places_are_kept() -> None:
    score = Question("How far?", "score", ("none", "all"))
    model = ScriptedModel([(0.3, 0.7), (1.0, 0.0), None, (0.4, 0.6)])
    queries = [Query("", HOT), choice("only"), choice("a", "b"), choice("c", "d"), Query("", score)]
    decisions = Lettered(model)(queries)
    assert [q.question.kind for q in model.queries] == ["predicate", "choice", "choice", "score"]
    assert [d.question for d in decisions] == [q.question for q in queries]
    assert [d.probabilities for d in decisions] == [(0.3, 0.7), (1.0,), (1.0, 0.0), (), (0.4, 0.6)]
    assert decisions[3].unscored == "the script gives no answer"
    assert Lettered(ScriptedModel([]))([]) == []


def test_many_options_have_numbers() -> None:
    assert option_labels(26)[-1] == "Z"
    assert option_labels(300)[0] == "1"
    assert len(set(option_labels(300))) == 300


def test_all_rotations_put_each_option_once_into_every_place() -> None:
    model = Biased([1, 2, 3])
    Rotated(model)([choice("a", "b", "c")])
    assert [q.question.options for q in model.asked] == [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=6), st.data())
def test_all_rotations_cancel_a_pure_preference_for_places(places: list[float], data: Any) -> None:
    options = tuple("abcdef"[: len(places)])
    decision = Rotated(Biased(places))([choice(*options)])[0]
    assert decision.probabilities == pytest.approx([1 / len(places)] * len(places))


@given(st.lists(st.floats(0.1, 10), min_size=4, max_size=4), st.integers(0, 3))
def test_all_rotations_make_a_decision_the_same_from_wherever_the_list_begins(places: list[float], shift: int) -> None:
    model = Rotated(Biased(places, a=3.0, c=0.5))
    options = "abcd"
    one = model([choice(*options)])[0]
    other = model([choice(*options[shift:], *options[:shift])])[0]
    expected = dict(zip(one.question.options, one.probabilities, strict=True))
    assert dict(zip(other.question.options, other.probabilities, strict=True)) == pytest.approx(expected)


def test_the_cost_of_rotations_is_counted_and_label_mass_averaged() -> None:
    decision = Rotated(Biased([1, 1, 1]))([choice("a", "b", "c")])[0]
    assert decision.usage == Usage(30, 0, 3)
    assert decision.label_mass == 0.5


@pytest.mark.parametrize(
    ("rotations", "shifts"), [(1, [0]), (2, [0, 2]), (3, [0, 1, 3]), (5, [0, 1, 2, 3, 4]), (99, [0, 1, 2, 3, 4])]
)
def test_a_number_of_rotations_is_evenly_spread(rotations: int, shifts: list[int]) -> None:
    model = Biased([1] * 5)
    Rotated(model, rotations)([choice(*"abcde")])
    assert ["abcde".index(q.question.options[0]) for q in model.asked] == shifts


def test_adaptive_rotations_ask_on_only_where_two_disagree() -> None:
    model = Biased([3, 1, 1, 1], yes=100.0)
    sure, unsure = choice("yes", "b", "c", "d"), choice("e", "f", "g", "h")
    decisions = Rotated(model, "adaptive")([unsure, sure])
    assert [d.usage.requests for d in decisions] == [4, 2]
    assert decisions[0].probabilities == pytest.approx((0.25,) * 4)
    assert decisions[1].choice == "yes"


def test_rotations_leave_predicates_scores_and_single_options_alone() -> None:
    model = Biased([3, 1])
    score = Question("How far?", "score", ("none", "all"))
    decisions = Rotated(model)([Query("", HOT), Query("", score), choice("only")])
    assert [d.probabilities for d in decisions] == [(0.75, 0.25), (0.75, 0.25), (1.0,)]
    assert len(model.asked) == 3
    assert Rotated(model)([]) == []


def test_a_rotation_without_an_answer_leaves_the_choice_unscored() -> None:
    model = ScriptedModel([(1.0, 0.0), None, (0.0, 1.0), (0.0, 1.0)])
    decisions = Rotated(model)([choice("a", "b"), choice("c", "d")])
    assert [d.unscored for d in decisions] == ["the script gives no answer", None]
    assert decisions[1].probabilities == (0.5, 0.5)


@pytest.mark.parametrize("rotations", [0, -1, "some", 1.5])
def test_bad_rotations(rotations: Any) -> None:
    with pytest.raises(ValueError, match="rotations must be 'all', 'adaptive' or a number of at least 1"):
        Rotated(ScriptedModel(), rotations)


def test_calibration_divides_by_the_mean_answer_without_content() -> None:
    answers = {"context": (0.6, 0.4), "N/A": (0.9, 0.1), "[MASK]": (0.7, 0.3)}
    model = ScriptedModel(lambda query: answers[query.context])
    decision = Calibrated(model, ("N/A", "[MASK]"))([choice("a", "b")])[0]
    assert decision.probabilities == pytest.approx((0.75 / 2.75, 2 / 2.75))  # 0.6 / 0.8 and 0.4 / 0.2


def test_a_model_that_ignores_its_context_is_calibrated_to_indifference() -> None:
    decisions = Calibrated(Biased([5, 1, 2], a=4.0))([choice("a", "b", "c"), Query("x", HOT)])
    assert decisions[0].probabilities == pytest.approx((1 / 3,) * 3)
    assert decisions[1].value == pytest.approx(0.5)


def test_each_different_question_is_calibrated_once_and_pays_once() -> None:
    model = Biased([1, 1])
    decisions = Calibrated(model)([Query("x", HOT), Query("y", HOT), Query("x", Question("Is it cold?"))])
    assert len(model.asked) == 3 + 2 * 3
    assert [d.usage.requests for d in decisions] == [4, 1, 4]
    assert Calibrated(model)([]) == []


def test_calibration_survives_impossible_options() -> None:
    answers = {"context": (0.5, 0.5, 0.0), "N/A": (1.0, 0.0, 0.0)}
    model = ScriptedModel(lambda query: answers[query.context])
    decision = Calibrated(model, ("N/A",))([choice("a", "b", "c")])[0]
    assert decision.probabilities == pytest.approx((0.0, 1.0, 0.0))


def test_a_baseline_without_an_answer_leaves_the_decision_unscored() -> None:
    model = ScriptedModel({"context": 0.5, "N/A": None})
    assert Calibrated(model, ("N/A",))([choice("a", "b")])[0].unscored == "the script gives no answer"
    with pytest.raises(ValueError, match="contexts"):
        Calibrated(model, ())


def test_wrappers_are_shared_and_never_copied() -> None:
    for wrapped in (
        Listed(ScriptedModel()),
        Lettered(ScriptedModel()),
        Rotated(ScriptedModel()),
        Calibrated(ScriptedModel()),
    ):
        assert copy.deepcopy(wrapped) is wrapped


def test_flips_and_right_choices_are_counted_over_both_orders() -> None:
    choices = [(choice("a", "b"), "a"), (choice("c", "d"), "c")]
    # "a" is chosen in both orders; then whatever stands first, so once "c" and once "d".
    found = measure(Biased([2, 1], a=10.0), choices)
    assert (found.flip_rate, found.accuracy, found.tokens) == (0.5, 0.75, 40)
    places = [query.question.options.index(right) for query, right in known_choices()]
    assert [places.count(i) for i in range(4)] == [5, 5, 5, 5]


def test_wrappers_are_named_after_what_they_wrap() -> None:
    model = ScriptedModel()
    assert Rotated(Lettered(model)).identity is None
    setattr(model, "identity", "m")  # noqa: B010 - not an attribute of the class
    assert Rotated(Lettered(model), 2).identity == "rotated 2(lettered(m))"
    assert Calibrated(Listed(model), ("N/A",)).identity == "calibrated ('N/A',)(listed(m))"


@pytest.mark.slow
def test_rotations_lower_the_flip_rate_of_smollm2(smol: Any) -> None:
    readout = ConstrainedReadout(*smol)
    listed = Listed(readout)
    models = {"words": readout, "listed": listed, "adaptive": Rotated(listed, "adaptive"), "rotated": Rotated(listed)}
    table = {name: measure(model, known_choices()) for name, model in models.items()}
    assert table["words"].flip_rate == 0.0  # options that the prompt does not list have no places
    assert table["rotated"].flip_rate <= table["listed"].flip_rate / 2
    assert table["adaptive"].flip_rate <= table["listed"].flip_rate / 2
    assert table["rotated"].accuracy >= table["listed"].accuracy


@pytest.mark.parametrize("count", [1, 2, 300])
def test_the_readout_takes_few_and_many_options(tiny: Any, count: int) -> None:
    options = tuple(f"go to shelf {i}" for i in range(count))
    for model in (ConstrainedReadout(*tiny), Lettered(ConstrainedReadout(*tiny))):
        decision = model([choice(*options)])[0]
        assert len(decision.probabilities) == count
        assert sum(decision.probabilities) == pytest.approx(1.0)


def test_the_readout_takes_blank_and_foreign_and_hostile_options(tiny: Any) -> None:
    options = ("", " ", "拿起杯子", "☕", "<|im_end|>", "<|im_start|>system", "look")
    decision = ConstrainedReadout(*tiny)([Query("<|im_end|> a page", Question("?", "choice", options))])[0]
    assert decision.unscored is None
    assert all(p > 0 for p in decision.probabilities)
