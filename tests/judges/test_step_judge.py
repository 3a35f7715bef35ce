"""What `StepJudge` shows and asks, in every context, and what becomes of the answers."""

import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.decisions import Decision, Verdict
from agentkit.judges import StepJudge
from agentkit.judges.visibility import CONTEXTS, visible_steps
from agentkit.testing import ScriptedModel, check_judge
from agentkit.verdicts import call_judge_all
from tests.judges.episodes import ACTIONS, episode, played, with_feedback

ALL_CONTEXTS = (*CONTEXTS, 0.25, 0.5, 0.75)
contexts = st.sampled_from(ALL_CONTEXTS)


def asks(context="hindsight", **settings):
    return StepJudge(ScriptedModel(), context=context, **settings).queries


def test_every_action_is_scored_in_one_batch():
    model = ScriptedModel({"step 4:": 0.9, "": 0.2})
    verdicts = StepJudge(model)(episode())
    assert [v.score for v in verdicts] == pytest.approx([0.2, 0.2, 0.2, 0.9, 0.2])
    assert model.calls == [5]


def test_several_trajectories_are_scored_in_one_batch():
    model = ScriptedModel(lambda query: 0.1 * len(query.context.split("Step ")) / 10)
    judge = StepJudge(model, context="prefix")
    trajectories = [episode(), episode(ACTIONS[:2], won=False), episode([]), episode(ACTIONS[2:])]
    columns = judge.judge_all(trajectories)
    assert model.calls == [10]
    assert columns == [judge(trajectory) for trajectory in trajectories]
    assert list(map(len, columns)) == [5, 2, 0, 3]
    last = judge.score_last_all([trajectories[0], trajectories[3]])
    assert last == [columns[0][-1], columns[3][-1]]


def test_nothing_is_asked_about_nothing():
    model = ScriptedModel()
    assert StepJudge(model).judge_all([]) == []
    assert StepJudge(model)(episode([])) == []
    assert model.calls == []


def test_a_trajectory_that_breaks_the_model_costs_the_others_nothing():
    def fragile(queries):
        if any("poison" in query.context for query in queries):
            raise RuntimeError("out of memory")
        return ScriptedModel({"": 0.5})(queries)

    bad = with_feedback(episode(), 2, "poison")
    first, second, third = call_judge_all(StepJudge(fragile), [episode(), bad, episode(ACTIONS[:2])])
    assert [v.score for v in first + third] == [0.5] * 7
    assert [v.unscored for v in second] == ["RuntimeError: out of memory"] * 5


@given(played(), st.data(), st.sampled_from(["progress", "value"]))
def test_a_prefix_query_does_not_change_when_the_future_does(trajectory, data, question):
    t = data.draw(st.integers(0, len(trajectory) - 1))
    future = data.draw(played())
    changed = attrs.evolve(
        trajectory,
        steps=(*trajectory.steps[:t], attrs.evolve(trajectory.steps[t], feedback="something else"), *future.steps),
        won=not trajectory.won,
        terminated=not trajectory.terminated,
        final_observation="another end",
    )
    ask = asks("prefix", question=question)
    assert ask(changed)[t] == ask(trajectory)[t]


@given(played(), st.data())
def test_a_prefix_score_does_not_change_when_the_future_does(trajectory, data):
    t = data.draw(st.integers(0, len(trajectory) - 1))
    judge = StepJudge(ScriptedModel(lambda query: hash((query.context, query.question)) % 97 / 97), context="prefix")
    cut = attrs.evolve(trajectory, steps=trajectory.steps[: t + 1])
    assert judge(trajectory)[: t + 1] == judge(cut)
    assert judge.score_last(cut) == judge(trajectory)[t]


@given(played(), st.data(), contexts, st.sampled_from(["future", "trajectory"]))
def test_a_context_sees_exactly_its_share(trajectory, data, context, fraction_of):
    """Changing any step within the share changes the query; changing what lies beyond it does not."""
    total = len(trajectory)
    t, changed = data.draw(st.integers(0, total - 1)), data.draw(st.integers(0, total - 1))
    ask = asks(context, fraction_of=fraction_of)
    before, after = ask(trajectory)[t], ask(with_feedback(trajectory, changed, "a change that no text holds"))[t]
    seen = visible_steps(context, t, total, fraction_of)
    assert (before != after) == (changed < seen)


@pytest.mark.parametrize("context", ALL_CONTEXTS)
def test_as_many_steps_are_listed_as_are_seen(context):
    queries = asks(context)(episode())
    for t, query in enumerate(queries):
        lines = [line for line in query.context.splitlines() if line.startswith("Step ")]
        assert lines == [f"Step {n}: {ACTIONS[n - 1]}" for n in range(1, visible_steps(context, t, 5) + 1)]


@pytest.mark.parametrize(("fraction_of", "shown"), [("future", [3, 4, 4, 5, 5]), ("trajectory", [3, 3, 3, 4, 5])])
def test_what_a_share_is_of_can_be_chosen(fraction_of, shown):
    queries = asks(0.5, fraction_of=fraction_of)(episode())
    assert [query.context.count("\nStep ") for query in queries] == shown


def test_prefix_hides_what_the_action_led_to_and_plus_feedback_shows_it():
    assert "seen 3" not in asks("prefix")(episode())[2].context
    shown = asks("prefix+feedback")(episode())[2].context
    assert "seen 3" in shown
    assert "seen 4" not in shown


@given(played(), contexts)
def test_braces_in_what_happened_are_text(trajectory, context):
    for t, query in enumerate(asks(context)(trajectory)):
        assert query.context.startswith(f"Goal: {trajectory.goal}\n\nStart: {trajectory.steps[0].observation}")
        assert query.question.text.startswith(f"Consider step {t + 1}: {trajectory.steps[t].action}\n")
        shown = visible_steps(context, t, len(trajectory))
        assert all(f"{s.action}\nResult: {s.feedback}" in query.context for s in trajectory.steps[:shown])


@given(played(min_steps=2), contexts)
def test_the_context_of_each_query_begins_as_the_one_before(trajectory, context):
    """A local readout encodes a shared beginning once; hindsight queries differ in the question alone."""
    texts = [query.context for query in asks(context)(trajectory)]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(texts))
    if context == "hindsight":
        assert len(set(texts)) == 1


@given(played(), contexts)
def test_the_focus_is_a_passage_of_the_context_that_holds_the_step(trajectory, context):
    for t, query in enumerate(asks(context)(trajectory)):
        if not query.focus:
            assert (context, t) == ("prefix", 0)
            continue
        assert query.focus[0] in query.context
        number = t if context == "prefix" else t + 1
        assert query.focus[0].startswith(f"Step {number}: ")


def test_an_own_question_is_filled_in():
    query = asks(question="Was '{action}' (step {n}) wise, given: {goal}?")(episode())[0]
    assert query.question.text == "Was 'look' (step 1) wise, given: put a hot mug on the desk?"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"question": "Was {act} good?"},
            r"question has the unknown placeholder \{act\}; known placeholders are \{n\}",
        ),
        (
            {"question": "progres"},
            r"neither 'progress' nor 'value' \(did you mean 'progress'\?\), .* use \{action\} or",
        ),
        ({"question": "Did it help?"}, r"nor does it say which action; use \{action\} or \{n\}"),
        ({"question": "Did step {n} help?", "context": "prefix"}, r"nor does it say which action; use \{action\}$"),
        ({"context": "future"}, "context must be one of"),
        ({"fraction_of": "past"}, "fraction_of"),
    ],
)
def test_a_judge_that_could_not_ask_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        StepJudge(ScriptedModel(), **settings)


def test_a_question_must_be_text():
    with pytest.raises(TypeError, match="question must be a str, got int"):
        StepJudge(ScriptedModel(), question=3)  # pyright: ignore[reportArgumentType]


def test_an_unanswered_question_is_unscored_with_the_reason():
    model = ScriptedModel(lambda query: None if "look" in query.question.text else 1.0)
    verdicts = StepJudge(model)(episode())
    assert verdicts[0] == Verdict.no_score("the script gives no answer")
    assert [v.score for v in verdicts[1:]] == [1.0] * 4


def test_score_last_needs_a_step():
    with pytest.raises(ValueError, match="trajectory 1 has no steps"):
        StepJudge(ScriptedModel(), context="prefix").score_last_all([episode(), episode([])])


def test_a_model_that_loses_answers_is_an_error():
    with pytest.raises(ValueError, match="1 decisions for 5 queries"):
        StepJudge(lambda queries: [Decision(queries[0].question, (1.0, 0.0))])(episode())


def test_the_default_name_says_context_and_question():
    names = [
        StepJudge(ScriptedModel(), context=c, question=q).name for c, q in [("hindsight", "value"), (0.5, "progress")]
    ]
    assert names == ["hindsight-value", "0.5-progress"]
    assert StepJudge(ScriptedModel(), question="Was {action} wise?").name == "hindsight"
    assert StepJudge(ScriptedModel(), name="mine").name == "mine"


@pytest.mark.parametrize("context", ALL_CONTEXTS)
def test_it_keeps_the_contract_of_judges(context):
    check_judge(StepJudge(ScriptedModel(lambda query: len(query.context) % 7 / 7), context=context))


@pytest.mark.parametrize("context", ALL_CONTEXTS)
def test_a_local_readout_encodes_what_queries_share_once(tiny, context):
    from agentkit.models import ConstrainedReadout

    readout = ConstrainedReadout(*tiny)
    long = episode([f"go to the place with the number {t}" for t in range(30)])
    alone = sum(decision.usage.input_tokens for decision in readout(asks(context)(long)[-1:]))
    readout.scorer.forget()
    readout.scorer.tokens_computed = 0
    StepJudge(readout, context=context)(long)
    # The longest query, and of each of the 30 its own question of about 40 tokens.
    assert readout.scorer.tokens_computed < alone + 30 * 60


def test_a_real_model_judges_in_every_context(smol):
    from agentkit.models import ConstrainedReadout

    readout = ConstrainedReadout(*smol)
    columns = [StepJudge(readout, context=context)(episode(ACTIONS[:3])) for context in ("prefix", 0.5, "hindsight")]
    assert all(v.score is not None and 0 < v.score < 1 for column in columns for v in column)
    assert len({v.score for v in columns[2]}) == 3
    # The first steps of the two last contexts show the same two steps, the last steps all three.
    assert columns[1][2].score == pytest.approx(columns[2][2].score, abs=1e-5)
