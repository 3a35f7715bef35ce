"""Every vector wrapper does to each copy what its namesake does to one environment."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import agentkit.wrappers
from agentkit import make_vec
from agentkit.testing import check_vector_wrapper
from agentkit.testing.scripted_env import ENV_ID
from agentkit.wrappers import TextualizeWrapper
from tests.wrappers import judges


def short():
    """Episodes that are cut after two steps."""
    return TimeLimit(gym.make(ENV_ID), 2)


def frozen_lake():
    return TextualizeWrapper(gym.make("FrozenLake-v1", is_slippery=False))


def with_inner_judge():
    return agentkit.wrappers.JudgeRewardWrapper(gym.make(ENV_ID), judges.half, name="inner")


def with_gate():
    return agentkit.wrappers.ComparatorGateWrapper(gym.make(ENV_ID), judges.prefers_progress)


CASES = {
    "JudgeRewardWrapper": [
        {"judge": judges.milestones},
        {"judge": judges.PrefixJudge(), "weight": 2.0},
        {"judge": judges.LastOnly()},
        {"judge": judges.failing, "name": "down"},
        {"judge": "tests.wrappers.judges:half"},
        {"judge": judges.milestones, "base": short},
        {"judge": judges.half, "base": frozen_lake},
        {"judge": judges.milestones, "base": with_inner_judge},
        {"judge": judges.PrefixJudge(), "base": with_inner_judge},
        {"judge": judges.milestones, "base": with_gate},
        {"judge": judges.half, "timeout": 60.0},
    ],
    "RoleCreditWrapper": [
        {"judge": judges.by_milestone, "weight": 0.2},
        {"judge": judges.by_milestone, "constants": {"decisive": 1.0, "regression": -1.0}, "base": short},
        {"judge": "tests.wrappers.judges:by_milestone", "base": with_inner_judge},
        {"judge": judges.failing},
    ],
    "RecordTrajectoryWrapper": [{"path": "episodes.jsonl"}, {"path": "episodes.jsonl", "base": with_inner_judge}],
}


def test_every_vector_wrapper_has_cases_and_a_namesake():
    assert set(CASES) == set(agentkit.wrappers.vector.__all__)
    assert set(CASES) <= set(agentkit.wrappers.__all__)


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, arguments) for name, cases in CASES.items() for arguments in cases]
)
def test_check_vector_wrapper(name, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_vector_wrapper(getattr(agentkit.wrappers.vector, name), getattr(agentkit.wrappers, name), **arguments)


def test_a_masked_reset_reaches_gymnasiums_statistics_around_a_judge():
    """A vector environment takes the mask out of the options that it is given; wrappers further out still need it."""
    inside = make_vec(ENV_ID, 2, autoreset_mode=AutoresetMode.DISABLED, max_steps=3)
    vector = RecordEpisodeStatistics(agentkit.wrappers.vector.JudgeRewardWrapper(inside, judges.half))
    vector.reset(seed=1)
    vector.step(("look", "look"))
    vector.reset(options={"reset_mask": np.array([True, False])})
    vector.step(("look", "look"))
    _, _, _, truncations, infos = vector.step(("look", "look"))
    assert truncations.tolist() == [False, True]
    assert infos["episode"]["l"].tolist() == [0, 3]
    assert infos["step_scores"][1] == (0.5, 0.5, 0.5)
    assert infos["_step_scores"].tolist() == [False, True]
