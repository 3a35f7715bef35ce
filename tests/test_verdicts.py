"""Asking a judge about several trajectories at once; `as_verdicts` and `call_judge` are tested in test_episode.py."""

import attrs
import pytest

from agentkit import Step, Trajectory, Verdict
from agentkit.verdicts import Failure, answers_of, call_judge_all, call_judge_last


def episode(length):
    return Trajectory(goal="", steps=[Step(observation="", action=f"a{t}", reward=0.0) for t in range(length)])


THREE = (episode(1), episode(2), episode(3))


@attrs.define
class Batched:
    """Scores a step by its number, and notes how it was asked; it fails on episodes of some lengths."""

    fails_on: tuple[int, ...] = ()
    asked: list[str] = attrs.field(factory=list)
    name: str = "batched"

    def __call__(self, trajectory):
        self.asked.append(f"one of {len(trajectory)}")
        return self.scores(trajectory)

    def judge_all(self, trajectories):
        self.asked.append(f"all of {[len(t) for t in trajectories]}")
        return [self.scores(trajectory) for trajectory in trajectories]

    def score_last(self, trajectory):
        self.asked.append(f"last of {len(trajectory)}")
        return self.scores(trajectory)[-1]

    def score_last_all(self, trajectories):
        self.asked.append(f"last of all of {[len(t) for t in trajectories]}")
        return [self.scores(trajectory)[-1] for trajectory in trajectories]

    def scores(self, trajectory):
        if len(trajectory) in self.fails_on:
            raise TimeoutError("no answer in 30 s")
        return [0.1 * (t + 1) for t in range(len(trajectory))]


NO_ANSWER = Verdict.no_score("TimeoutError: no answer in 30 s")


class TestCallJudgeAll:
    def test_one_call_for_all(self):
        judge = Batched()
        assert [[v.score for v in column] for column in call_judge_all(judge, THREE)] == [
            [0.1],
            [0.1, 0.2],
            pytest.approx([0.1, 0.2, 0.3]),
        ]
        assert judge.asked == ["all of [1, 2, 3]"]

    def test_a_batch_that_fails_costs_only_the_trajectory_that_the_judge_cannot_cope_with(self, caplog):
        judge = Batched(fails_on=(2,))
        columns = call_judge_all(judge, THREE)
        assert columns[1] == (NO_ANSWER, NO_ANSWER)
        assert [len(columns[i]) for i in (0, 2)] == [1, 3]
        assert all(v.score is not None for i in (0, 2) for v in columns[i])
        assert judge.asked == ["all of [1, 2, 3]", "one of 1", "one of 2", "one of 3"]
        assert "judge 'batched' failed on a batch of 3, asked one by one: TimeoutError" in caplog.text
        assert "judge 'batched' failed on 2 steps, left unscored: TimeoutError: no answer in 30 s" in caplog.text

    def test_a_plain_function_is_asked_one_by_one(self):
        seen = []

        def judge(trajectory):
            seen.append(len(trajectory))
            if len(trajectory) == 1:
                raise ConnectionError("down")
            return [1.0] * len(trajectory)

        columns = call_judge_all(judge, THREE)
        assert seen == [1, 2, 3]
        assert columns == [(Verdict.no_score("ConnectionError: down"),), (Verdict(1.0),) * 2, (Verdict(1.0),) * 3]

    @pytest.mark.parametrize("count", [0, 1])
    def test_few_trajectories_need_no_batch(self, count):
        judge = Batched()
        assert len(call_judge_all(judge, THREE[:count])) == count
        assert judge.asked == ["one of 1"] * count

    def test_a_wrong_number_of_answers_is_a_defect(self):
        judge = Batched()
        with pytest.raises(ValueError, match="judge 'short' returned 2 answers for a batch of 3"):
            answers_of(Short(judge), THREE)

    def test_a_wrong_answer_names_the_judge(self):
        def judge(trajectory):
            return [0.5]

        with pytest.raises(ValueError, match="judge 'judge' returned 1 scores for 2 steps"):
            call_judge_all(judge, THREE)


@attrs.frozen
class Short:
    """Loses the last answer of a batch."""

    judge: Batched
    name: str = "short"

    def __call__(self, trajectory):
        return self.judge(trajectory)

    def judge_all(self, trajectories):
        return self.judge.judge_all(trajectories)[:-1]


class TestAnswersOf:
    def test_answers_are_not_checked(self):
        def roles(trajectory):
            return None if len(trajectory) == 2 else ["decisive"] * len(trajectory)

        assert answers_of(roles, THREE) == [["decisive"], None, ["decisive"] * 3]

    def test_failures_keep_their_reason(self):
        assert answers_of(Batched(fails_on=(1, 3)), THREE)[::2] == [Failure("TimeoutError: no answer in 30 s")] * 2


class TestCallJudgeLast:
    def test_one_call_for_the_last_steps_of_all(self):
        judge = Batched()
        assert [v.score for v in call_judge_last(judge, THREE)] == pytest.approx([0.1, 0.2, 0.3])
        assert judge.asked == ["last of all of [1, 2, 3]"]

    def test_failures_are_unscored(self):
        judge = Batched(fails_on=(2,))
        assert call_judge_last(judge, THREE)[1] == NO_ANSWER
        assert judge.asked[1:] == ["last of 1", "last of 2", "last of 3"]

    def test_a_judge_of_whole_trajectories(self):
        def judge(trajectory):
            return [0.25 * t for t in range(len(trajectory))]

        assert [v.score for v in call_judge_last(judge, THREE)] == [0.0, 0.25, 0.5]

    def test_a_wrong_score_is_a_defect(self):
        judge = Batched()
        with pytest.raises(ValueError, match=r"judge 'batched': score must be in \[0, 1\], got 1.1"):
            call_judge_last(judge, [episode(11)])
