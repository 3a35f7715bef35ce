"""What judges are shown, what they answer, and what happens when the model does not."""

import pytest

from agentkit.comparison import Comparison
from agentkit.decisions import Decision, Verdict
from agentkit.judges import OracleJudge, PairwiseComparator, RoleJudge, StepJudge
from agentkit.testing import ScriptedModel
from agentkit.trajectory import Step, Trajectory

ACTIONS = ["look", "take mug 1", "go to microwave 1", "heat mug 1", "move mug 1 to desk 1"]


def episode(actions=ACTIONS, won=True):
    steps = [
        Step(observation=f"seen {t}", action=a, reward=float(won and t == len(actions) - 1), feedback=f"seen {t + 1}")
        for t, a in enumerate(actions)
    ]
    return Trajectory(goal="put a hot mug on the desk", steps=steps, terminated=won, won=won)


def test_step_judge_scores_every_action_in_one_batch():
    model = ScriptedModel({"step 4:": 0.9, "": 0.2})
    verdicts = StepJudge(model)(episode())
    assert [v.score for v in verdicts] == pytest.approx([0.2, 0.2, 0.2, 0.9, 0.2])
    assert model.calls == [5]


def test_hindsight_prompt_snapshot():
    query = StepJudge(ScriptedModel()).queries(episode(["look", "take mug 1"]))[1]
    assert query.context == (
        "Goal: put a hot mug on the desk\n\nStart: seen 0\n\n"
        "Step 1: look\nResult: seen 1\nStep 2: take mug 1\nResult: seen 2"
    )
    assert query.question.text == (
        "Consider step 2: take mug 1\nDid this action help achieve the goal? Answer yes or no."
    )
    assert query.question.options == ("yes", "no")


def test_prefix_prompt_snapshot():
    query = StepJudge(ScriptedModel(), context="prefix", question="value").queries(episode(["look", "take mug 1"]))[1]
    assert query.context == "Goal: put a hot mug on the desk\n\nStart: seen 0\n\nStep 1: look\nResult: seen 1"
    assert query.question.text == (
        "Consider step 2: take mug 1\nWill the task succeed after this action? Answer yes or no."
    )


def test_a_prefix_query_does_not_change_with_the_future():
    judge = StepJudge(ScriptedModel(), context="prefix")
    other = episode([*ACTIONS[:3], "cool mug 1", "look", "look"], won=False)
    assert judge.queries(episode())[:3] == judge.queries(other)[:3]


def test_hindsight_queries_share_one_context():
    contexts = {q.context for q in StepJudge(ScriptedModel()).queries(episode())}
    assert len(contexts) == 1


def test_an_own_question_is_filled_in():
    query = StepJudge(ScriptedModel(), question="Was '{action}' (step {n}) wise, given: {goal}?").queries(episode())[0]
    assert query.question.text == "Was 'look' (step 1) wise, given: put a hot mug on the desk?"


def test_an_unanswered_question_is_unscored_with_the_reason():
    model = ScriptedModel(lambda query: None if "look" in query.question.text else 1.0)
    verdicts = StepJudge(model)(episode())
    assert verdicts[0].score is None
    assert verdicts[0].unscored
    assert [v.score for v in verdicts[1:]] == [1.0] * 4


def test_score_last_is_the_last_of_all():
    judge = StepJudge(ScriptedModel({"step 4:": 0.9, "": 0.2}), context="prefix")
    cut = episode(ACTIONS[:4], won=False)
    assert judge.score_last(cut) == judge(cut)[-1] == Verdict(0.9)


def test_a_model_that_loses_answers_is_an_error():
    with pytest.raises(ValueError, match="1 decisions for 5 queries"):
        StepJudge(lambda queries: [Decision(queries[0].question, (1.0, 0.0))])(episode())


def test_unknown_context_is_an_error():
    with pytest.raises(ValueError, match="context"):
        StepJudge(ScriptedModel(), context="future")


def test_role_judge_sees_the_window_and_not_the_outcome():
    model = ScriptedModel({"step 4:": "decisive", "": "no-progress"})
    roles = RoleJudge(model, window=1)(episode())
    assert roles == ["no-progress", "no-progress", "no-progress", "decisive", "no-progress"]
    third = model.queries[2].context
    assert "Step 2: take mug 1" in third
    assert "Step 4: heat mug 1" in third
    assert "Step 1" not in third
    assert "Step 5" not in third


def test_role_judge_hides_the_observation_that_ends_a_won_episode():
    won, lost = ScriptedModel(), ScriptedModel()
    RoleJudge(won)(episode())
    RoleJudge(lost)(episode(won=False))
    assert not any("seen 5" in q.context for q in won.queries)
    assert any("seen 5" in q.context for q in lost.queries)
    assert not any("won" in q.context or "reward" in q.context.lower() for q in won.queries)


def test_role_judge_abstains_below_its_threshold_and_without_an_answer():
    model = ScriptedModel({"step 4:": (0.4, 0.3, 0.2, 0.1), "step 1:": None, "": (0.9, 0.1, 0.0, 0.0)})
    assert RoleJudge(model, threshold=0.5)(episode()) == [None, "decisive", "decisive", None, "decisive"]


def test_comparator_prompt_snapshot_and_answers():
    model = ScriptedModel({"Action A: look": "B", "Action B: look": None})
    comparator = PairwiseComparator(model, history=1)
    past = (("go to desk 1", "You are at desk 1."), ("take mug 1", "You take the mug."))
    pair = Comparison("heat a mug", past, "You hold a mug.", "look", "go to microwave 1")
    mirrored = Comparison("heat a mug", past, "You hold a mug.", "go to microwave 1", "look")
    assert comparator([pair, mirrored]) == ["B", "T"]
    assert model.queries[0].context == (
        "Goal: heat a mug\nAction: take mug 1\nResult: You take the mug.\nCurrent observation: You hold a mug."
    )
    assert model.queries[0].question.text == (
        "Action A: look\nAction B: go to microwave 1\nWhich action is better now? Answer A, B or T."
    )
    assert model.queries[0].question.options == ("A", "B", "T")


def test_oracle_judge_reads_the_ground_truth():
    steps = [
        Step(observation="", action="a", reward=0, state_changed=True, milestones=("take",)),
        Step(observation="", action="b", reward=0, state_changed=True),
        Step(observation="", action="c", reward=0, state_changed=False),
        Step(observation="", action="d", reward=0),
    ]
    verdicts = OracleJudge()(Trajectory(goal="", steps=steps))
    assert [v.score for v in verdicts] == [1.0, 0.5, 0.0, None]
    assert "does not say" in (verdicts[3].unscored or "")


def test_a_real_model_judges_a_real_form_of_episode(smol):
    from agentkit.models import ConstrainedReadout

    readout = ConstrainedReadout(*smol)
    verdicts = StepJudge(readout)(episode())
    assert all(v.score is not None and 0 < v.score < 1 for v in verdicts)
    assert len({v.score for v in verdicts}) > 1
    assert set(RoleJudge(readout)(episode())) <= {"decisive", "exploration", "no-progress", "regression"}
