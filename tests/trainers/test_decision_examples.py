"""Decision examples: what is refused, what a file gives back, and splits that keep tasks apart."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.decisions import Query, Question, Verdict
from agentkit.judges import OracleJudge, StepJudge
from agentkit.trainers import (
    DecisionExample,
    decider_examples,
    judge_examples,
    load_examples,
    outcome_examples,
    role_examples,
    save_examples,
    split_by_group,
)
from agentkit.trainers.decisions.metrics import decision_metrics
from agentkit.trajectory import Step, Trajectory, save_trajectories

DOORS = Question("Which door?", "choice", ("left", "right", "back"))


def example(target="left", group="", context="A hall."):
    return DecisionExample(Query(context, DOORS), target, group)


def test_a_hard_label_is_the_distribution_that_is_certain_of_it():
    assert example("right").probabilities == (0.0, 1.0, 0.0)
    assert example((0.2, 0.3, 0.5)).probabilities == (0.2, 0.3, 0.5)


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("up", ValueError, "'up' is none of the options"),
        ((0.5, 0.5), ValueError, "2 probabilities for the 3 options"),
        ((0.5, 0.5, 0.5), ValueError, "sum to 1"),
        ((1.5, -0.5, 0.0), ValueError, "sum to 1"),
        ((float("nan"), 0.5, 0.5), ValueError, "sum to 1"),
        (3, TypeError, "an option or one probability"),
    ],
)
def test_a_target_that_is_no_distribution_is_refused(target, error, message):
    with pytest.raises(error, match=message):
        example(target)


@pytest.mark.parametrize("options", [("only",), ("twice", "twice")])
def test_a_question_that_leaves_no_choice_is_refused(options):
    with pytest.raises(ValueError, match="at least two different options"):
        DecisionExample(Query("", Question("?", "choice", options)), options[0])


texts = st.text(max_size=20)
distributions = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any).map(lambda n: [i / sum(n) for i in n])


@given(texts, texts, st.one_of(st.sampled_from(DOORS.options), distributions))
def test_a_file_gives_back_what_was_saved(tmp_path_factory, context, group, target):
    path = tmp_path_factory.mktemp("examples") / "examples.jsonl"
    kept = [example(target, group, context), DecisionExample(Query(context, Question("Good?"), "Be brief."), "no")]
    assert load_examples(save_examples(path, kept)) == kept


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "line 2: an example is a JSON object"),
        ("{", "line 2: "),
        ('{"query": {"context": 3, "question": {"text": "?"}}, "target": "yes"}', "expected a string, got 3"),
        ('{"query": {"context": "", "question": {"text": "?"}}, "target": "maybe"}', "'maybe' is none of the options"),
        ('{"query": {"context": "", "question": {"text": "?"}}, "target": "yes", "grup": ""}', "grup"),
        ('{"target": "yes"}', "query"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, message):
    path = tmp_path / "examples.jsonl"
    path.write_text('{"query": {"context": "", "question": {"text": "?"}}, "target": "yes"}\n' + line + "\n")
    with pytest.raises(ValueError, match=message) as caught:
        load_examples(path)
    assert str(path) in str(caught.value)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.floats(0.05, 0.95), st.integers(0, 5))
def test_a_split_keeps_every_example_and_no_task_on_both_sides(groups, share, seed):
    examples = [example("left", f"task {g}", str(i)) for i, g in enumerate(groups)]
    if len(set(groups)) < 2:
        with pytest.raises(ValueError, match="cannot be split by group"):
            split_by_group(examples, share, seed)
        return
    kept, held_out = split_by_group(examples, share, seed)
    assert sorted([*kept, *held_out], key=str) == sorted(examples, key=str)
    assert not {e.group for e in kept} & {e.group for e in held_out}
    assert kept
    assert held_out
    assert split_by_group(examples[::-1], share, seed)[1] == [e for e in examples[::-1] if e in held_out]


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_a_share_outside_the_open_interval_is_refused(share):
    with pytest.raises(ValueError, match="held_out must be a share"):
        split_by_group([example(), example(group="b")], share)


def episode(won=True, task="t"):
    steps = [
        Step(
            observation="hall",
            action="left",
            reward=0.0,
            admissible_actions=("left", "right", "left"),
            milestones=("found",),
            state_changed=True,
            scores={"j": Verdict(0.25)},
            role="decisive",
        ),
        Step(
            observation="room",
            action="look",
            reward=1.0,
            admissible_actions=("look",),
            scores={"j": Verdict.no_score("time-out")},
        ),
    ]
    return Trajectory(goal="get out", steps=steps, won=won, task_id=task, terminated=True)


JUDGE = StepJudge(None, context="prefix")  # pyright: ignore[reportArgumentType] - only its questions are used


def test_judge_examples_ask_the_judges_questions_and_take_scores_as_soft_labels():
    found = judge_examples([episode()], JUDGE, "j")
    assert [e.probabilities for e in found] == [(0.25, 0.75)]
    assert found[0].query == JUDGE.queries(episode())[0]
    assert found[0].group == "t"


def test_a_teacher_may_be_any_judge_and_its_unscored_steps_teach_nothing(caplog):
    found = judge_examples([episode()], JUDGE, OracleJudge())
    assert [e.probabilities for e in found] == [(1.0, 0.0)]
    assert "1 steps are unscored" in caplog.text


def test_value_examples_are_labelled_with_the_outcome():
    assert [e.probabilities for e in outcome_examples([episode(), episode(won=False)], JUDGE)] == [(1, 0)] * 2 + [
        (0, 1)
    ] * 2


def test_decider_examples_are_the_experts_choices_among_what_was_admissible(tmp_path):
    path = save_trajectories(tmp_path / "episodes.jsonl", [episode(), episode(won=False)])
    (found,) = decider_examples(path)
    assert found.query.question.options == ("left", "right")
    assert found.probabilities == (1.0, 0.0)
    assert "hall" in found.query.context
    assert len(decider_examples(path, only_won=False)) == 2


def test_role_examples_leave_untyped_steps_out(caplog):
    class Asks:
        def queries(self, trajectory):
            return [Query(s.action, Question("Role?", "choice", ("decisive", "regression"))) for s in trajectory.steps]

    (found,) = role_examples([episode()], Asks())
    assert found.probabilities == (1.0, 0.0)
    assert "1 steps have no role" in caplog.text


def test_metrics_by_hand():
    """Confidences .8 .6 .9; right 1 0 1; bins (.7,.8], (.5,.6], (.8,.9]: ECE = (.2 + .6 + .1) / 3."""
    metrics = decision_metrics([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9], None], [[1, 0], [0, 1], [0, 1], [1, 0]])
    assert (metrics.examples, metrics.unscored) == (3, 1)
    assert metrics.accuracy == pytest.approx(2 / 3)
    assert metrics.ece == pytest.approx(0.9 / 3)
    assert metrics.brier == pytest.approx((0.08 + 0.72 + 0.02) / 3)
    assert metrics.nll == pytest.approx(-(-0.22314355 - 0.91629073 - 0.10536052) / 3)


def test_soft_labels_are_met_when_answers_equal_them():
    metrics = decision_metrics([[0.7, 0.3]], [[0.7, 0.3]])
    assert (metrics.accuracy, metrics.brier, metrics.ece) == pytest.approx((0.7, 0.0, 0.0))


def test_metrics_of_nothing_are_an_error():
    with pytest.raises(ValueError, match="none of 1 questions was answered"):
        decision_metrics([None], [[1, 0]])


def test_saved_lines_are_readable_json(tmp_path):
    line = json.loads(save_examples(tmp_path / "e.jsonl", [example("back", "g")]).read_text("utf-8"))
    assert (line["target"], line["group"], line["query"]["question"]["text"]) == ("back", "g", "Which door?")
