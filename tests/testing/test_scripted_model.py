import pickle

import pytest

from agentkit import Decision, Query, Question
from agentkit.testing import BAD_MODELS, ScriptedModel

HELPED = Question("Did it help?")
FRUIT = Question("Which fruit?", "choice", ("apple", "pear", "plum"))
LEVELS = Question("How well?", "score", ("badly", "well"))


def ask(model, *questions, context=""):
    return model([Query(context, question) for question in questions])


def test_without_a_script_every_option_is_equally_likely():
    assert ask(ScriptedModel(), FRUIT)[0].probabilities == pytest.approx((1 / 3,) * 3)


def test_a_function():
    model = ScriptedModel(lambda query: 0.75 if "gem" in query.context else "no")
    assert ask(model, HELPED, context="a gem")[0].value == 0.75
    assert ask(model, HELPED)[0].value == 0.0


def test_a_mapping_takes_the_first_key_that_occurs_and_the_empty_one_for_the_rest():
    model = ScriptedModel({"fruit": "pear", "Which": "plum", "": 0.5})
    assert [d.choice for d in ask(model, FRUIT, HELPED)] == ["pear", "yes"]
    with pytest.raises(LookupError, match=r"no key of the script \['fruit'\] occurs in the query"):
        ask(ScriptedModel({"fruit": "pear"}), HELPED)


def test_a_list_is_used_up():
    model = ScriptedModel(["apple", 0.25, None, (0.0, 0.0, 1.0)])
    assert [d.choice for d in ask(model, FRUIT, HELPED)] == ["apple", "no"]
    unscored, plum = ask(model, HELPED, FRUIT)
    assert unscored.unscored == "the script gives no answer"
    assert plum.choice == "plum"
    with pytest.raises(LookupError, match="the script has 4 answers, but one more was asked: 'Did it help"):
        ask(model, HELPED)


def test_a_number_is_the_value_of_the_decision():
    assert ask(ScriptedModel(lambda q: 0.2), HELPED, LEVELS)[0].value == pytest.approx(0.2)
    assert ask(ScriptedModel(lambda q: 0.2), LEVELS)[0].value == pytest.approx(0.2)


def test_decisions_pass_and_exceptions_are_raised():
    decision = Decision(HELPED, (0.1, 0.9), label_mass=0.5)
    assert ask(ScriptedModel([decision]), HELPED) == [decision]
    with pytest.raises(TimeoutError, match="too slow"):
        ask(ScriptedModel([TimeoutError("too slow")]), HELPED)


def test_it_remembers_what_it_was_asked():
    model = ScriptedModel()
    ask(model, HELPED, FRUIT)
    ask(model, HELPED)
    assert model.calls == [2, 1]
    assert [q.question for q in model.queries] == [HELPED, FRUIT, HELPED]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("banana", "the script answers 'banana', but the options are"),
        (0.5, "the script answers 0.5, a number, but there are 3 options"),
        ((0.5, 0.5), "2 probabilities for 3 options"),
    ],
)
def test_answers_that_do_not_fit(answer, message):
    with pytest.raises(ValueError, match=message):
        ask(ScriptedModel([answer]), FRUIT)


def test_it_pickles():
    copy = pickle.loads(pickle.dumps(ScriptedModel({"": "yes"})))
    assert ask(copy, HELPED)[0].choice == "yes"


@pytest.mark.parametrize("model", BAD_MODELS.values(), ids=BAD_MODELS)
def test_bad_models_pickle(model):
    assert pickle.loads(pickle.dumps(model)) == model
