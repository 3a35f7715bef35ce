"""Every wrapper passes the published checks."""

import gymnasium as gym
import pytest

import agentkit.wrappers
from agentkit.testing import ScriptedEnv, check_text_env, check_wrapper
from agentkit.testing.scripted_env import ENV_ID
from agentkit.wrappers import ComparatorGateWrapper
from tests.wrappers import judges


def frozen_lake():
    return gym.make("FrozenLake-v1", is_slippery=False)


CASES = {
    "JudgeRewardWrapper": [
        {"judge": judges.milestones},
        {"judge": judges.PrefixJudge(), "weight": 2.0},
        {"judge": judges.failing, "name": "down"},
        {"judge": "tests.wrappers.judges:half"},
        {"judge": judges.half, "timeout": 60.0},
    ],
    "RoleCreditWrapper": [
        {"judge": judges.by_milestone, "weight": 0.2},
        {"judge": judges.by_milestone, "constants": {"decisive": 1.0, "regression": -1.0}},
        {"judge": "tests.wrappers.judges:by_milestone"},
        {"judge": judges.by_milestone, "timeout": 60.0},
    ],
    "ComparatorGateWrapper": [
        {"comparator": judges.prefers_progress},
        {"comparator": judges.prefers_progress, "candidates": judges.reversed_admissible, "k": 2, "rounds": 2},
        {"comparator": judges.prefers_progress, "mode": "forced", "budget": 1},
        {
            "comparator": "tests.wrappers.judges:prefers_progress",
            "candidates": "tests.wrappers.judges:reversed_admissible",
        },
    ],
    "InterventionRouterWrapper": [
        {"router": judges.early},
        {"router": "tests.wrappers.judges:early"},
        {"router": judges.failing_router},
    ],
    "RecordTrajectoryWrapper": [{"path": "episodes.jsonl"}],
    "ReplaySnapshot": [{}],
    "TextualizeWrapper": [
        {},
        {"describe": "builtins:str", "actions": ["west", "south", "east", "north"], "goal": "get over"},
        {"actions": {"go down": 1, "go right": 2}},
    ],
}


def gated():
    """A gate with a spec, for the router around it."""
    return ComparatorGateWrapper(gym.make(ENV_ID), judges.prefers_progress)


BASES = {"TextualizeWrapper": frozen_lake, "InterventionRouterWrapper": gated}


def test_every_wrapper_has_cases():
    assert set(CASES) == set(agentkit.wrappers.__all__)


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, arguments) for name, cases in CASES.items() for arguments in cases]
)
def test_check_wrapper(name, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrapper = getattr(agentkit.wrappers, name)
    if name in BASES:
        check_wrapper(wrapper, base=BASES[name], **arguments)
    else:
        check_wrapper(wrapper, **arguments)


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, arguments) for name, cases in CASES.items() for arguments in cases]
)
def test_the_wrapped_environment_is_a_text_environment(name, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = BASES.get(name, ScriptedEnv)()
    # A gate that withholds an action the first time lets it pass the second time.
    gate = name in ("ComparatorGateWrapper", "InterventionRouterWrapper")
    check_text_env(getattr(agentkit.wrappers, name)(base, **arguments), stochastic=gate)
