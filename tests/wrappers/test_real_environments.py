"""The published checks, around real ALFWorld games and the real WebShop."""

import gymnasium as gym
import pytest

import agentkit.wrappers
from agentkit.testing import check_vector_wrapper, check_wrapper
from agentkit.wrappers import vector

ORACLE = "agentkit.judges:OracleJudge()"


def oracle_roles(trajectory):
    """The environment's own roles, which are kept with the steps."""
    return [step.info["oracle_role"] for step in trajectory.steps]


CASES = {
    "JudgeRewardWrapper": {"judge": ORACLE},
    "RoleCreditWrapper": {"judge": oracle_roles},
    "RecordTrajectoryWrapper": {"path": "episodes.jsonl"},
}


@pytest.fixture
def alfworld(alfworld_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"data": str(alfworld_data), "split": "valid_seen", "max_steps": 6, "oracle_roles": True}
    return lambda: gym.make("agentkit/ALFWorld-v0", **settings)


@pytest.fixture
def webshop(webshop_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"data": str(webshop_data), "num_products": 1000, "max_steps": 5}
    return lambda: gym.make("agentkit/WebShop-v0", **settings)


@pytest.mark.parametrize("name", CASES)
def test_around_a_game(name, alfworld):
    check_wrapper(getattr(agentkit.wrappers, name), base=alfworld, **CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_around_a_vector_of_games(name, alfworld):
    check_vector_wrapper(getattr(vector, name), getattr(agentkit.wrappers, name), base=alfworld, **CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_around_a_vector_of_shops(name, webshop):
    check_vector_wrapper(getattr(vector, name), getattr(agentkit.wrappers, name), base=webshop, **CASES[name])
