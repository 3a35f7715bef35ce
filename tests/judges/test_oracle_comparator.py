"""The oracle comparator on real games: it agrees with shortest plans, and leaves the game as it was."""

import gymnasium as gym
import pytest

from agentkit import rollout
from agentkit.actors import ExpertActor
from agentkit.comparison import Comparison
from agentkit.envs.alfworld.planner import plan_length
from agentkit.judges import OracleComparator, RandomComparator, WrongComparator
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import ComparatorGateWrapper


@pytest.fixture
def env(alfworld_data):
    return gym.make("agentkit/ALFWorld-v0", data=alfworld_data, split="valid_seen", max_steps=20)


def comparison(info, a, b):
    return Comparison(info["goal"], (), "", a, b, info["admissible_actions"])


def test_it_prefers_the_action_that_leaves_fewer_steps_and_disturbs_nothing(env):
    oracle, expert = OracleComparator(env), ExpertActor("planner", env)
    observation, info = env.reset(seed=0)
    engine = env.unwrapped.engine
    while not info["won"]:
        best, state = expert(observation, info), engine.state
        left = plan_length(engine.world, state)
        answers = oracle([comparison(info, best, a) for a in info["admissible_actions"]])
        snapshot = engine.snapshot()
        for action, answer in zip(info["admissible_actions"], answers, strict=True):
            engine.step(action)
            after = plan_length(engine.world, engine.state)
            assert answer == ("T" if after == left - 1 else "A")
            engine.restore(snapshot)
        assert engine.state == state
        observation, _, _, _, info = env.step(best)


def test_swapping_the_actions_mirrors_the_answer(env):
    _, info = env.reset(seed=1)
    oracle, actions = OracleComparator(env), info["admissible_actions"]
    pairs = [(a, b) for a in actions for b in actions]
    answers = oracle([comparison(info, a, b) for a, b in pairs])
    mirrored = WrongComparator(oracle)([comparison(info, b, a) for a, b in pairs])
    assert answers == mirrored
    assert set(answers) == {"A", "B", "T"}


def test_a_larger_margin_makes_more_ties(env):
    _, info = env.reset(seed=1)
    pairs = [comparison(info, "look", a) for a in info["admissible_actions"]]
    strict, lenient = OracleComparator(env)(pairs), OracleComparator(env, margin=2)(pairs)
    assert "B" in strict
    assert set(lenient) == {"T"}


def test_it_refuses_states_that_it_is_not_in(env):
    _, info = env.reset(seed=0)
    oracle, old = OracleComparator(env), comparison(info, "look", "inventory")
    env.step(next(action for action in info["admissible_actions"] if action.startswith("go to")))
    with pytest.raises(ValueError, match="only the state that its environment is in"):
        oracle([old])


def test_bad_arguments_are_named(env):
    with pytest.raises(TypeError, match="plans in an ALFWorldEnv, got ScriptedEnv"):
        OracleComparator(ScriptedEnv())
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        OracleComparator(env, margin=0)


def test_in_a_forced_gate_it_saves_a_random_actor_and_its_opposite_does_not(env):
    from agentkit.actors import RandomActor

    def success(comparator):
        gate = ComparatorGateWrapper(env, comparator, k=12, mode="forced")
        return sum(t.won for t in rollout(gate, RandomActor(0), 6, seed=0))

    oracle = OracleComparator(env)
    assert success(oracle) >= 5
    assert success(RandomComparator(0)) <= 2
    assert success(WrongComparator(oracle)) == 0
