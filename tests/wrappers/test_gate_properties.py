"""Whatever the comparator, the candidates, the settings and the actor do, the gate keeps its promises."""

from typing import Any

import gymnasium as gym
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.testing import ScriptedEnv
from agentkit.wrappers import ComparatorGateWrapper

ACTIONS = ("look", "take key", "drop key", "unlock chest", "lock chest", "take gem", "sing")
GEM = ("take key", "unlock chest", "take gem")


class Counting(gym.Wrapper):
    """Notes the actions that reach the environment."""

    def __init__(self, env: gym.Env):
        super().__init__(env)
        self.executed: list[str] = []

    def step(self, action: Any):
        self.executed.append(action)
        return self.env.step(action)


class Unreliable:
    """Answers at random, and sometimes not at all."""

    def __init__(self, seed: int, failing: float):
        self.rng, self.failing = np.random.default_rng(seed), failing

    def __call__(self, comparisons):
        fate = self.rng.random()
        if fate < self.failing / 3:
            raise RuntimeError("no answer")
        if fate < 2 * self.failing / 3:
            return ["B"]
        answers = [*"AB", "T", None] if fate < self.failing else [*"AB"]
        return [answers[i] for i in self.rng.integers(len(answers), size=len(comparisons))]


@st.composite
def gates(draw):
    k = draw(st.integers(1, 5))
    return {
        "comparator": Unreliable(draw(st.integers(0, 2**16)), draw(st.sampled_from([0.0, 0.3, 1.0]))),
        "candidates": draw(st.sampled_from([None, lambda *arguments: ACTIONS])),
        "k": k,
        "r": draw(st.integers(1, k)),
        "mode": draw(st.sampled_from(["constructive", "forced"])),
        "budget": draw(st.none() | st.integers(0, 3)),
        "rounds": draw(st.integers(1, 3)),
    }


def play(arguments, seed, max_steps=8):
    """One episode of random proposals, as (proposal, info, reward) each, with the environment that was played."""
    env = ComparatorGateWrapper(Counting(ScriptedEnv(max_steps=max_steps)), **arguments)
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    turns, ended = [], False
    while not ended:
        proposal = ACTIONS[rng.integers(len(ACTIONS))]
        _, reward, terminated, truncated, info = env.step(proposal)
        turns.append((proposal, info, reward))
        ended = terminated or truncated
        # Every state can be held up `rounds` times, so an episode ends after so many calls at the latest.
        assert len(turns) <= max_steps * (1 + arguments["rounds"]), "the gate loops"
    return env, turns


@settings(max_examples=150, deadline=None)
@given(gates(), st.integers(0, 2**16))
def test_the_promises_of_the_gate(arguments, seed):
    env, turns = play(arguments, seed)
    reports = [info["gate"] for _, info, _ in turns]
    executed = [report["executed"] for report in reports if not report["withheld"]]
    assert env.env.executed == executed
    totals = reports[-1]["totals"]
    assert totals["steps"] == len(executed)
    assert totals["withheld"] == len(turns) - len(executed)
    assert all("totals" not in report for report in reports[:-1])
    if arguments["budget"] is not None:
        assert totals["interventions"] <= arguments["budget"]
    for (proposal, info, reward), report in zip(turns, reports, strict=True):
        assert report["proposal"] == proposal
        assert proposal not in report["preferred"]
        assert set(report["preferred"]) <= set(report["alternatives"])
        assert len(report["alternatives"]) <= arguments["k"]
        assert report["round"] < arguments["rounds"] or not report["withheld"]
        if report["withheld"]:
            assert arguments["mode"] == "constructive"
            assert reward == 0.0
            assert not info["state_changed"]
        elif report["executed"] != proposal:
            assert arguments["mode"] == "forced"
            assert report["executed"] in report["preferred"]
            assert len(report["preferred"]) >= arguments["r"]


@settings(max_examples=80, deadline=None)
@given(gates(), st.integers(0, 2**16))
def test_every_advice_that_was_answered_has_one_fate(arguments, seed):
    _, turns = play(arguments, seed)
    reports = [info["gate"] for _, info, _ in turns]
    totals = reports[-1]["totals"]
    # The last call of an episode is executed, so no advice is left unanswered.
    assert totals["followed"] + totals["reproposed"] + totals["ignored"] == totals["withheld"]
    advised: tuple[str, ...] = ()
    for report in reports:
        assert (report["advice"] is not None) == bool(advised)
        if advised:
            assert (report["advice"] == "followed") == (report["proposal"] in advised)
        advised = report["preferred"] if report["withheld"] else ()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**16), st.sampled_from(["constructive", "forced"]), st.none() | st.integers(0, 2))
def test_a_comparator_that_never_answers_changes_nothing(seed, mode, budget):
    def silent(comparisons):
        return [None] * len(comparisons)

    env, turns = play({"comparator": silent, "mode": mode, "budget": budget, "rounds": 1}, seed)
    assert env.env.executed == [proposal for proposal, _, _ in turns]
    compared = [proposal for proposal, info, _ in turns if info["gate"]["alternatives"]]
    assert env.totals["failures"] == len(compared)
    assert env.totals["unanswered"] == env.totals["comparisons"]
    assert bool(compared) == (budget != 0)


@settings(max_examples=40, deadline=None)
@given(gates(), st.integers(0, 2**16))
def test_the_same_seeds_give_the_same_episode(arguments, seed):
    first_seed = arguments["comparator"].rng.bit_generator.state
    first = [info["gate"] for _, info, _ in play(arguments, seed)[1]]
    arguments["comparator"].rng.bit_generator.state = first_seed
    assert first == [info["gate"] for _, info, _ in play(arguments, seed)[1]]
