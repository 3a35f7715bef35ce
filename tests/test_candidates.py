"""Where alternatives come from: all sources keep the gate's contract, and each has its own ways."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.actors import ConstrainedReadoutActor, RandomActor
from agentkit.candidates import (
    CounterfactualCandidates,
    EnvironmentCandidates,
    ModelCandidates,
    PooledCandidates,
    SampledCandidates,
    UnionCandidates,
)
from agentkit.testing import ScriptedModel
from agentkit.trajectory import Step, Trajectory

ACTIONS = ("look", "take key", "open door", "wait")
INFO = {"goal": "leave", "admissible_actions": ACTIONS}


def asked(actor, proposal="look"):
    """The actor after it has been asked in a state."""
    actor("A hall.", INFO)
    return actor


def sources(seed=0):
    model = ScriptedModel()
    return {
        "environment": EnvironmentCandidates(seed),
        "sampled": SampledCandidates(asked(RandomActor(0)), seed),
        "model": ModelCandidates(model, seed=seed),
        "counterfactual": CounterfactualCandidates(model, seed=seed),
        "pooled": PooledCandidates(ACTIONS, seed),
        "union": UnionCandidates(EnvironmentCandidates(seed), ModelCandidates(model, seed=seed)),
    }


@given(st.sampled_from(sorted(sources())), st.sampled_from(ACTIONS), st.integers(1, 6), st.integers(0, 9))
def test_every_source_gives_different_actions_and_never_the_proposal(name, proposal, k, seed):
    drawn = list(sources(seed)[name]("A hall.", INFO, proposal, k))
    assert len(drawn) == len(set(drawn)) == min(k, 3)
    assert proposal not in drawn
    assert set(drawn) <= set(ACTIONS)
    assert drawn == list(sources(seed)[name]("A hall.", INFO, proposal, k))


@pytest.mark.parametrize("name", sorted(sources()))
def test_the_seed_the_state_and_the_history_make_the_draw(name):
    def draws(**options):
        return [tuple(sources(s)[name](f"Hall {i}.", {**INFO, **options}, "look", 2)) for s in (0, 1) for i in range(9)]

    assert len(set(draws())) > 1
    assert draws() != draws(history=(("wait", "Nothing happens."),))


@pytest.mark.parametrize("name", ["environment", "model", "counterfactual"])
def test_where_nothing_is_listed_or_left_there_are_no_alternatives(name):
    assert list(sources()[name]("A hall.", {"goal": "leave"}, "look", 4)) == []
    assert list(sources()[name]("A hall.", {"admissible_actions": ("look",)}, "look", 4)) == []


@pytest.mark.parametrize("name", ["environment", "model", "counterfactual"])
def test_a_form_that_is_yet_to_be_filled_in_is_no_alternative(name):
    info = {"admissible_actions": ("search[<your query>]", "click[buy now]")}
    assert list(sources()[name]("A shop.", info, "search[red mug]", 4)) == ["click[buy now]"]


def test_likely_actions_are_drawn_more_often_and_impossible_ones_never():
    model = ScriptedModel({"": (0.0, 0.9, 0.1)})
    firsts = Counter(ModelCandidates(model, seed=seed)("A hall.", INFO, "look", 1)[0] for seed in range(400))
    assert firsts["take key"] == 0
    assert 330 < firsts["open door"] < 390
    both = ModelCandidates(model)("A hall.", INFO, "look", 3)
    assert sorted(both) == ["open door", "wait"]


def test_a_low_temperature_sharpens_the_draw():
    model = ScriptedModel({"": (0.5, 0.3, 0.2)})
    firsts = {ModelCandidates(model, temperature=0.01, seed=s)("A hall.", INFO, "look", 1)[0] for s in range(30)}
    assert firsts == {"take key"}


def test_counterfactual_prompting_names_the_proposal_and_offers_the_others():
    model = ScriptedModel()
    history = (("go north", "A door."), ("wait", "A hall."))
    CounterfactualCandidates(model, history=1)("A hall.", {**INFO, "history": history}, "look", 2)
    query = model.queries[0]
    assert query.question.text == "Someone proposes 'look'. Propose a different next action."
    assert query.question.options == ("take key", "open door", "wait")
    assert query.context == "Goal: leave\nAction: wait\nResult: A hall.\nObservation: A hall."


def test_a_model_without_an_answer_is_an_error_that_a_gate_counts():
    with pytest.raises(RuntimeError, match="no alternative to 'look': "):
        ModelCandidates(ScriptedModel({"": None}))("A hall.", INFO, "look", 2)


def test_actor_sampling_uses_what_the_actor_just_said_and_asks_nothing():
    model = ScriptedModel({"": (0.4, 0.6, 0.0, 0.0)})
    actor = ConstrainedReadoutActor(model)
    proposal = actor("A hall.", INFO)
    assert SampledCandidates(actor)("A hall.", INFO, proposal, 4) == ["look"]
    assert model.calls == [1]


def test_an_actor_without_a_distribution_is_asked_again_and_told_its_proposal_stands():
    told = []

    class Silent:
        def __init__(self):
            self.turn = 0

        def __call__(self, observation, info):
            assert info["gate"]["withheld"]
            self.turn += 1
            return ACTIONS[self.turn % 2]

        def observe(self, observation, info, action):
            told.append(action)

    assert SampledCandidates(Silent(), attempts=3)("A hall.", INFO, "look", 2) == ["take key"]
    assert told == ["look"]


def test_the_pool_is_weighted_and_restricted_to_what_is_possible():
    pool = PooledCandidates(["take key"] * 8 + ["open door"] * 2 + ["fly"] * 90)
    assert set(pool("A hall.", INFO, "look", 9)) == {"take key", "open door"}
    firsts = [PooledCandidates(pool.pool, seed)("A hall.", INFO, "look", 1)[0] for seed in range(200)]
    assert 140 < firsts.count("take key") < 180
    assert "fly" in pool("A hall.", {"action_hint": "anything"}, "look", 3)


def test_a_pool_of_episodes_is_of_those_that_were_won():
    def episode(action, won):
        return Trajectory(goal="", steps=[Step(observation="", action=action, reward=0)], won=won)

    episodes = [episode("take key", True), episode("wait", False)]
    assert PooledCandidates.from_trajectories(episodes).pool == {"take key": 1}
    assert PooledCandidates.from_trajectories(episodes, only_won=False).pool == {"take key": 1, "wait": 1}
    with pytest.raises(ValueError, match="pool must have actions"):
        PooledCandidates.from_trajectories(episodes[1:])


def test_a_union_takes_turns_and_names_nothing_twice():
    def fixed(*actions):
        return lambda observation, info, proposal, k: actions

    union = UnionCandidates(fixed("a", "b", "c"), fixed("b", "look", "d"))
    assert union("", {}, "look", 9) == ["a", "b", "c", "d"]
    assert union("", {}, "look", 2) == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UnionCandidates(), "at least one source"),
        (lambda: PooledCandidates({"a": 0.0}), "weights above 0"),
        (lambda: ModelCandidates(ScriptedModel(), temperature=0.0), "temperature must be above 0, got 0.0"),
        (lambda: ModelCandidates(ScriptedModel(), history=-1), "history must be at least 0, got -1"),
        (lambda: SampledCandidates(RandomActor(), attempts=0), "attempts must be at least 1, got 0"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_real_small_model_proposes(smol):
    from agentkit.models import ConstrainedReadout

    readout = ConstrainedReadout(*smol)
    for source in (ModelCandidates(readout), CounterfactualCandidates(readout)):
        drawn = source("You are in a hall.", INFO, "look", 2)
        assert len(drawn) == 2
        assert set(drawn) <= set(ACTIONS) - {"look"}
