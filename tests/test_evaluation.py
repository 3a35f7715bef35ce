import pytest

from agentkit import Trajectory, evaluate
from agentkit.evaluation import Evaluation, summarise
from agentkit.testing import ScriptedEnv
from agentkit.trajectory import Step


def episode(task_type, won, rewards):
    steps = [Step(observation="o", action="a", reward=r) for r in rewards]
    return Trajectory(goal="g", steps=steps, won=won, task_type=task_type)


EPISODES = [episode("heat", True, [0, 1]), episode("heat", False, [0, 0, 0, 0]), episode("cool", True, [1])]


def test_success_by_task_type_with_counts():
    result = Evaluation(trajectories=EPISODES)
    heat = result.by_task_type["heat"]
    assert (heat.won, heat.episodes, heat.success, heat.mean_steps, heat.mean_reward) == (1, 2, 0.5, 3.0, 0.5)
    assert list(result.by_task_type) == ["cool", "heat"]
    assert result.total.success == pytest.approx(2 / 3)


def test_table():
    assert Evaluation(trajectories=EPISODES).table().splitlines() == [
        "task type   won    of  success   reward  steps",
        "cool          1     1   100.0%    1.000    1.0",
        "heat          1     2    50.0%    0.500    3.0",
        "all           2     3    66.7%    0.667    2.3",
    ]


def test_evaluate_plays_and_reports_each_episode():
    seen = []
    result = evaluate(ScriptedEnv(max_steps=3), lambda observation, info: "look", 2, seed=4, on_episode=seen.append)
    assert [t.seed for t in result.trajectories] == [4, 5]
    assert tuple(seen) == result.trajectories
    assert result.total.success == 0.0
    assert list(result.by_task_type) == ["scripted"]


def test_nothing_to_summarise():
    with pytest.raises(ValueError, match="trajectories is empty"):
        summarise([])
