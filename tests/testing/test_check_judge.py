import math

import attrs
import pytest

from agentkit import Verdict
from agentkit.credit import ROLE_CONSTANTS
from agentkit.judges import OracleJudge, RoleJudge, StepJudge
from agentkit.testing import BAD_JUDGES, ScriptedModel, check_judge, sample_trajectories


@attrs.frozen
class LastStepOf:
    """A prefix judge: scores each step by its action alone, unless it is told to look ahead."""

    look_ahead: bool = False
    agree: bool = True
    context: str = "prefix"

    def __call__(self, trajectory):
        end = 1.0 if self.look_ahead and trajectory.won else 0.5
        return [end * len(step.action) / 50 for step in trajectory.steps]

    def score_last(self, trajectory):
        return self(trajectory)[-1] if self.agree else 1.0


@attrs.frozen
class Batched:
    """A judge with batches, which may lose or mix up answers."""

    lose: bool = False
    mix_up: bool = False
    last: float | None = None
    roles: bool = False

    def __call__(self, trajectory):
        return ["good"] * len(trajectory) if self.roles else [len(trajectory) / 10] * len(trajectory)

    def judge_all(self, trajectories):
        columns = [self(trajectory) for trajectory in trajectories]
        if self.mix_up:
            columns = [["bad" if self.roles else 0.0] * len(column) for column in columns]
        return columns[:-1] if self.lose else columns

    def score_last_all(self, trajectories):
        return [len(t) / 10 if self.last is None else self.last for t in trajectories]


class Meddling:
    def __call__(self, trajectory):
        for step in trajectory.steps:
            step.info["seen"] = True
        return [0.5] * len(trajectory)


@pytest.mark.parametrize(
    "judge",
    [
        lambda trajectory: [0.0] * len(trajectory),
        lambda trajectory: [None] * len(trajectory),
        lambda trajectory: (Verdict(1.0) for _ in trajectory.steps),
        LastStepOf(),
        LastStepOf(context="prefix+feedback"),
        Batched(),
        OracleJudge(),
        StepJudge(ScriptedModel(lambda query: 0.25)),
        StepJudge(ScriptedModel(lambda query: len(query.context) % 7 / 7), context="prefix"),
        StepJudge(ScriptedModel(lambda query: None)),
    ],
)
def test_judges_without_fault(judge):
    check_judge(judge)


def test_role_judges():
    check_judge(RoleJudge(ScriptedModel(lambda query: "exploration")), roles=ROLE_CONSTANTS)
    check_judge(lambda trajectory: [None] * len(trajectory), roles=["good"])
    with pytest.raises(AssertionError, match="step 0: 'bad' is none of good, nor None"):
        check_judge(lambda trajectory: ["bad"] * len(trajectory), roles=["good"])
    with pytest.raises(AssertionError, match=r"trajectory 0: judge_all says \['bad'\], but alone it is \['good'\]"):
        check_judge(Batched(mix_up=True, roles=True), roles=["good"])
    with pytest.raises(AssertionError, match="0 roles; return one a step"):
        check_judge(lambda trajectory: [], roles=["good"])


@pytest.mark.parametrize(
    ("judge", "sentence"),
    [
        ("StepJudge", r"a judge must be callable as judge\(trajectory\), got 'StepJudge'"),
        (BAD_JUDGES["times out"], "the judge raised TimeoutError"),
        (BAD_JUDGES["nan"], "step 0: score is NaN"),
        (BAD_JUDGES["percent"], r"score must be in \[0, 1\], got 85.0"),
        (BAD_JUDGES["one short"], r"trajectory 0 \(1 steps\).* returned 0 scores for 1 steps"),
        (BAD_JUDGES["words"], "got 'very helpful'"),
        (Meddling(), "the judge changed the trajectory that it judged"),
        (LastStepOf(look_ahead=True), "step 0: the score without and with the later steps differ: 0.08 and 0.16"),
        (LastStepOf(look_ahead=True, context="prefix+feedback"), "step 0: the score without and with the later steps"),
        (Batched(lose=True), "judge 'Batched': judge_all gave 3 answers for 4"),
        (Batched(mix_up=True), "trajectory 0: judge_all and the scores of it alone differ: 0.0 and 0.1"),
        (Batched(last=0.25), "trajectory 0: score_last_all and the last of all scores differ: 0.25 and 0.1"),
        (LastStepOf(agree=False), "score_last and the last of all scores differ: 1.0 and 0.04"),
    ],
)
def test_faults_are_named(judge, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_judge(judge)


def test_own_trajectories():
    with pytest.raises(AssertionError, match=r"trajectory 0 \(8 steps\)"):
        check_judge(lambda t: [math.nan] * len(t), [t for t in sample_trajectories() if len(t) == 8])


def test_the_samples_are_of_every_kind():
    samples = sample_trajectories()
    assert {t.won for t in samples} == {True, False}
    assert any(not step.state_changed for t in samples for step in t.steps)
    assert any(step.admissible_actions == () for t in samples for step in t.steps)
    assert min(map(len, samples)) == 1
