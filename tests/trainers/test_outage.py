"""A judge that stops answering: asked again with pauses, then left out, or the run stops."""

import pytest

from agentkit import rollout
from agentkit.decisions import Verdict
from agentkit.judges import StepJudge
from agentkit.testing import ScriptedEnv
from agentkit.trainers.credit.terms import StepScores, evaluate_term
from agentkit.trainers.robustness.guarding import EnvFailureError, mark_failed
from agentkit.trainers.robustness.outage import JudgeOutageError, OutageGuard, OutagePolicy, judges_of
from agentkit.wrappers import JudgeRewardWrapper, RoleCreditWrapper
from tests.models.misbehaving_server import MisbehavingServer, answers, status
from tests.models.test_failures import GOOD, make_openai, make_system_one

ACTIONS = ("take key", "unlock chest", "take gem")


class Flaky:
    """A judge that fails its first ``failures`` questions, then scores every step 0.8."""

    name = "flaky"

    def __init__(self, failures, answer=0.8):
        self.failures, self.answer, self.asked = failures, answer, 0

    def __call__(self, trajectory):
        self.asked += 1
        if self.asked <= self.failures:
            raise ConnectionError("the server is gone")
        return [self.answer] * len(trajectory)


class Script:
    """Plays the three actions that win."""

    def reset(self):
        self.actions = iter(ACTIONS)

    def __call__(self, observation, info):
        return next(self.actions)


def play(judge, episodes=2, wrapper=JudgeRewardWrapper):
    env = wrapper(ScriptedEnv(), judge, weight=0.5)
    return rollout(env, Script(), episodes, seed=0), judges_of(env)


def guard(rule="pause-then-outcome", **kwargs):
    pauses = []
    policy = OutagePolicy(rule=rule, first_pause=1.0, longest_pause=4.0, **{"wait": 10.0, **kwargs})
    return OutageGuard(policy, sleep=pauses.append), pauses


def scores(trajectories):
    return [[step.scores["flaky"].score for step in t.steps] for t in trajectories]


def test_a_judge_that_answers_is_left_alone():
    judge = Flaky(0)
    played, judges = play(judge)
    keeper, pauses = guard()
    assert keeper.mend(played, judges) == played
    assert (judge.asked, pauses) == (2, [])


def test_unanswered_episodes_are_asked_about_again_after_pauses(caplog):
    """Two failures while playing; then the first question of each attempt fails twice more."""
    judge = Flaky(4)
    played, judges = play(judge)
    assert scores(played) == [[None] * 3] * 2
    keeper, pauses = guard()
    mended = keeper.mend(played, judges)
    assert scores(mended) == [[0.8] * 3] * 2
    assert pauses == [1.0, 2.0]
    assert judge.asked == 2 + 2 + 2  # while it is out, one question an attempt
    assert "judge 'flaky' is out (ConnectionError: the server is gone); asking again in 1 s" in caplog.text
    assert "answers again" in caplog.text


def test_late_answers_count_as_if_they_had_come_in_time():
    in_time, _ = play(Flaky(0))
    played, judges = play(Flaky(3))
    assert guard()[0].mend(played, judges) == in_time


def test_pauses_grow_and_are_bounded(caplog):
    """1 + 2 + 4 seconds; another 4 would be more than 10."""
    played, judges = play(Flaky(99))
    keeper, pauses = guard()
    mended = keeper.mend(played, judges)
    assert pauses == [1.0, 2.0, 4.0]
    assert scores(mended) == [[None] * 3] * 2
    assert keeper.outages == 1
    assert "this batch is trained on without its scores" in caplog.text


def test_without_its_judge_a_batch_teaches_by_its_outcome_alone():
    """Half of the episodes have scores, whose mean would shift with who was asked in time."""
    judge = Flaky(0)
    played, judges = play(judge)
    judge.failures = 10**9
    lost, _ = play(judge)
    keeper, _ = guard()
    mended = keeper.mend([played[0], lost[0]], judges)
    assert all(v.tolist() == [0.0] * 3 for v in evaluate_term(StepScores(), mended))
    assert [s.shaped_reward for t in mended for s in t.steps] == pytest.approx([0.0, 0.0, 1.0] * 2)
    assert mended[0].steps[0].scores["flaky"] == Verdict.no_score("the judge was out")


def test_a_judge_that_was_waited_for_in_vain_is_asked_once_a_batch():
    judge = Flaky(10**9)
    played, judges = play(judge)
    keeper, pauses = guard()
    keeper.mend(played, judges)
    pauses.clear()
    before = judge.asked
    keeper.mend(played, judges)
    assert pauses == []
    assert judge.asked == before + 1
    judge.failures = 0
    assert scores(keeper.mend(played, judges)) == [[0.8] * 3] * 2
    judge.failures, judge.asked = 1, 0
    keeper.mend(played, judges)
    assert pauses == [1.0]  # it had come back, so it is waited for again


def test_waiting_in_vain_survives_a_restart():
    judge = Flaky(10**9)
    played, judges = play(judge)
    first, _ = guard()
    first.mend(played, judges)
    second, pauses = guard()
    second.load_state_dict(first.state_dict())
    second.mend(played, judges)
    assert (pauses, second.outages) == ([], 2)


def test_the_run_stops_with_one_clear_error():
    played, judges = play(Flaky(99))
    keeper, pauses = guard("pause-then-stop")
    with pytest.raises(JudgeOutageError, match=r"judge 'flaky' left at least 50% .* \(ConnectionError.*resume_from"):
        keeper.mend(played, judges)
    assert pauses == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("rule", ["outcome", "stop"])
def test_rules_without_a_pause_ask_nothing_again(rule):
    judge = Flaky(99)
    played, judges = play(judge)
    keeper, pauses = guard(rule)
    if rule == "stop":
        with pytest.raises(JudgeOutageError):
            keeper.mend(played, judges)
    else:
        keeper.mend(played, judges)
    assert (judge.asked, pauses) == (2, [])


def test_below_the_share_failures_are_only_unscored():
    judge = Flaky(1)
    played, judges = play(judge, episodes=3)
    keeper, pauses = guard(share=0.5)
    assert keeper.mend(played, judges) == played
    assert (judge.asked, pauses) == (3, [])


def test_a_judge_that_abstains_is_not_out():
    judge = Flaky(0, answer=None)
    played, judges = play(judge)
    keeper, pauses = guard()
    assert keeper.mend(played, judges) == played
    assert pauses == []


def test_a_role_judge_that_types_nothing_is_out():
    judge = Flaky(3, answer="decisive")
    played, judges = play(judge, wrapper=RoleCreditWrapper)
    mended = guard()[0].mend(played, judges)
    assert [step.role for t in mended for step in t.steps] == ["decisive"] * 6
    assert [step.shaped_reward for step in mended[0].steps] == [0.5, 0.5, 1.5]


def test_episodes_that_nobody_asked_about_do_not_count():
    judge = Flaky(0)
    played, judges = play(judge)
    unseen = [mark_failed(t.with_steps(scores=[{}] * 3), EnvFailureError("hung", "step")) for t in played * 3]
    assert guard()[0].mend([*played, *unseen], judges) == [*played, *unseen]
    assert judge.asked == 2


def test_processes_decide_on_what_all_of_them_saw():
    """Here nothing is missing, but elsewhere everything is; the wait is the same everywhere."""
    judge = Flaky(0)
    played, judges = play(judge)
    pauses = []
    keeper = OutageGuard(
        OutagePolicy(first_pause=1.0, wait=3.0),
        total=lambda counts: (counts[0] + 90, counts[1] + 90),
        sleep=pauses.append,
    )
    mended = keeper.mend(played, judges)
    assert pauses == [1.0, 2.0]
    assert scores(mended) == [[None] * 3] * 2
    assert judge.asked == 2


def test_judges_of_a_stack_are_found_innermost_first():
    env = RoleCreditWrapper(JudgeRewardWrapper(ScriptedEnv(), Flaky(0)), Flaky(0))
    assert [(type(j).__name__, j.name) for j in judges_of(env)] == [("ScoreGrader", "flaky"), ("RoleGrader", "flaky")]


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"rule": "wait"}, "on_judge_outage"),
        ({"share": 0.0}, "judge_outage_share"),
        ({"wait": -1.0}, "judge_outage_wait"),
    ],
)
def test_bad_policies_are_named(bad, named):
    with pytest.raises(ValueError, match=named):
        OutagePolicy(**bad)


# Real clients of a real server


@pytest.mark.parametrize("service", ["openai", "typesafe_sdk"])
def test_a_decision_service_that_is_restarted_is_waited_for(service):
    """The server answers errors until the second pause; the client library is the vendor's own."""
    pytest.importorskip(service)
    make = {"openai": make_openai, "typesafe_sdk": make_system_one}[service]
    restarted = []

    def react(exchange):
        (answers(GOOD[make]) if restarted else status(503, "restarting"))(exchange)

    with MisbehavingServer(react) as server:
        judge = StepJudge(make(server.url))
        env = JudgeRewardWrapper(ScriptedEnv(), judge)
        played = rollout(env, Script(), 2, seed=0)
        assert all(s.scores[judge.name].score is None for t in played for s in t.steps)
        pauses = []

        def pause(seconds):
            pauses.append(seconds)
            restarted.extend([True] * (len(pauses) == 2))

        keeper = OutageGuard(OutagePolicy(first_pause=1.0), sleep=pause)
        mended = keeper.mend(played, judges_of(env))
    assert pauses == [1.0, 2.0]
    assert all(s.scores[judge.name].score == pytest.approx(0.75) for t in mended for s in t.steps)
