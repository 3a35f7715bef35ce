"""Questions with their options in the other order."""

import pytest
from hypothesis import given

from agentkit.decisions import Decision, Query, Question
from agentkit.judges.screening.option_order import OptionsReversed, swap_words
from agentkit.judges.step_judge import StepJudge
from agentkit.testing import ScriptedModel, sample_trajectories
from tests.strategies import queries as any_query


def test_a_predicate_is_turned_in_its_options_and_its_words():
    model = ScriptedModel(lambda query: (0.25, 0.75))
    query = Query("context", Question("Did it help? Answer yes or no."), "Answer with one word, yes or no.")
    decision = OptionsReversed(model)([query])[0]
    assert model.queries == [
        Query(
            "context",
            Question("Did it help? Answer no or yes.", options=("no", "yes")),
            "Answer with one word, no or yes.",
        )
    ]
    assert decision == Decision(query.question, (0.75, 0.25))
    assert decision.value == 0.75


def test_the_words_of_step_judges_are_turned():
    trajectory = sample_trajectories()[0]
    model = ScriptedModel()
    StepJudge(OptionsReversed(model))(trajectory)
    assert len(trajectory) > 0
    for query in model.queries:
        assert "no or yes" in query.question.text
        assert "yes or no" not in query.question.text + query.system


@given(any_query)
def test_a_model_that_reads_content_alone_answers_the_same(query):
    def by_content(asked):
        weights = [1 + len(option) for option in asked.question.options]
        return [weight / sum(weights) for weight in weights]

    plain, turned = ScriptedModel(by_content), OptionsReversed(ScriptedModel(by_content))
    assert turned([query])[0].probabilities == pytest.approx(plain([query])[0].probabilities)
    assert turned([query])[0].question == query.question


def test_levels_of_a_score_are_ordered_and_stay():
    model = ScriptedModel()
    query = Query("", Question("How much?", "score", ("low", "high")))
    OptionsReversed(model)([query])
    assert model.queries == [query]


def test_no_answer_stays_no_answer():
    decision = OptionsReversed(ScriptedModel(lambda query: None))([Query("", Question("Did it help?"))])[0]
    assert decision.unscored
    assert decision.probabilities == ()


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("Yes or no?", "no or Yes?"),
        ("yes/no", "no/yes"),
        ("yes, or no", "no, or yes"),
        ("eyes or nobody", "eyes or nobody"),
        ("say yes, then no", "say yes, then no"),
    ],
)
def test_only_an_alternative_is_swapped(text, turned):
    assert swap_words(text, "yes", "no") == turned
