"""Following advice, and knowing what was executed."""

import pytest

from agentkit.actors import AdvisedActor, ExpertActor, MistakenActor
from agentkit.advice import with_advice
from agentkit.rollout import rollout
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import ComparatorGateWrapper

INFO = {"admissible_actions": ("look", "take key"), "goal": "win"}
ADVICE = with_advice("A hall.", "look", ["take key"])


class Noting:
    """Looks around, and notes what it is asked and told."""

    distribution = {"look": 1.0}  # noqa: RUF012 - nothing changes it

    def __init__(self):
        self.asked, self.told, self.resets = 0, [], 0

    def reset(self):
        self.resets += 1

    def observe(self, observation, info, action):
        self.told.append((observation, bool((info.get("gate") or {}).get("withheld")), action))

    def __call__(self, observation, info):
        self.asked += 1
        return "look"


def gate_report(executed):
    return {**INFO, "gate": {"withheld": executed is None, "executed": executed}}


def test_without_advice_it_is_the_wrapped_actor():
    inner = Noting()
    actor = AdvisedActor(inner)
    assert actor("A hall.", INFO) == "look"
    assert (inner.asked, inner.told, dict(actor.distribution)) == (1, [], {"look": 1.0})


def test_followed_advice_is_told_to_the_wrapped_actor_instead_of_asking_it():
    inner = Noting()
    actor = AdvisedActor(inner)
    assert actor(ADVICE, gate_report(None)) == "take key"
    assert (inner.asked, inner.told) == (0, [(ADVICE, True, "take key")])
    assert dict(actor.distribution) == {}


def test_with_follow_0_it_is_asked_again():
    inner = Noting()
    assert AdvisedActor(inner, follow=0.0)(ADVICE, gate_report(None)) == "look"
    assert inner.told == []


def test_the_rate_is_that_of_following():
    actor = AdvisedActor(Noting(), follow=0.3, seed=1)
    followed = sum(actor(ADVICE, gate_report(None)) == "take key" for _ in range(2000))
    assert followed / 2000 == pytest.approx(0.3, abs=0.04)


def test_advice_that_is_not_admissible_is_not_followed():
    assert AdvisedActor(Noting())(with_advice("A hall.", "look", ["fly"]), INFO) == "look"
    assert AdvisedActor(Noting())(with_advice("A hall.", "look", ["fly", "take key"]), INFO) == "take key"
    assert AdvisedActor(Noting())(with_advice("A page.", "look", ["search[x]"]), {"admissible_actions": ()}) == (
        "search[x]"
    )


def test_what_a_gate_executed_instead_is_told():
    inner = Noting()
    actor = AdvisedActor(inner)
    actor("A hall.", INFO)
    actor("You hold the key.", gate_report("take key"))
    assert inner.told == [("A hall.", True, "take key")]


def test_what_was_executed_as_proposed_is_not_told():
    inner = Noting()
    actor = AdvisedActor(inner)
    actor("A hall.", INFO)
    actor("A hall.", gate_report("look"))
    assert inner.told == []


def test_a_reset_forgets_the_last_choice():
    inner = Noting()
    actor = AdvisedActor(inner)
    actor("A hall.", INFO)
    actor.reset()
    actor("You hold the key.", gate_report("take key"))
    assert (inner.resets, inner.told) == (1, [])


@pytest.mark.parametrize("follow", [-0.1, 1.5])
def test_follow_is_a_probability(follow):
    with pytest.raises(ValueError, match="follow is a probability"):
        AdvisedActor(Noting(), follow)


def test_in_a_gated_episode_advice_is_followed_to_the_end():
    def progress(comparisons):
        good = ("take key", "unlock chest", "take gem")
        return ["A" if c.a in good and c.b not in good else "B" if c.b in good else "T" for c in comparisons]

    env = ComparatorGateWrapper(ScriptedEnv(), progress)
    trajectory = rollout(env, AdvisedActor(Noting()), seed=0)[0]
    assert [step.action for step in trajectory.steps] == ["take key", "unlock chest", "take gem"]


@pytest.mark.parametrize("mode", ["constructive", "forced"])
def test_the_explorer_still_wins_when_a_gate_changes_what_it_does(alfworld_data, mode):
    """Believing that withheld or replaced actions were done would lead the explorer astray."""
    import gymnasium as gym
    import numpy as np

    class Arbitrary:
        """Prefers anything to the proposal now and then, in both orders."""

        def __init__(self, seed):
            self.rng = np.random.default_rng(seed)

        def __call__(self, comparisons):
            half = len(comparisons) // 2
            chosen = self.rng.random(half) < 0.1
            return ["B" if c else "T" for c in chosen] + ["A" if c else "T" for c in chosen]

    base = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_unseen", max_steps=100)
    won = 0
    for seed in range(10):
        env = ComparatorGateWrapper(base, Arbitrary(seed), mode=mode)
        actor = AdvisedActor(MistakenActor(ExpertActor("explorer"), 0.0), follow=1.0)
        won += rollout(env, actor, seed=seed)[0].won
        assert env.totals["interventions"] > 0
    assert won >= 8
