"""`ConstrainedReadoutActor` and `BatchedActor`: distributions, determinism, and N plays together or apart."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from agentkit import rollout
from agentkit.actors import BatchedActor, ConstrainedReadoutActor
from agentkit.actors.readout import tempered
from agentkit.decisions import Query
from agentkit.models import ConstrainedReadout
from agentkit.testing import ScriptedEnv, ScriptedModel


def info(*actions: str, goal: str = "find the key") -> dict[str, Any]:
    return {"goal": goal, "admissible_actions": actions}


def test_the_prompt_shows_goal_past_and_present() -> None:
    model = ScriptedModel(["look", "go", "look"])
    actor = ConstrainedReadoutActor(model, history=1)
    for observation in ("a", "b", "c"):
        actor(observation, info("look", "go"))
    assert model.queries[0].context == "Goal: find the key\nObservation: a"
    assert model.queries[2].context == "Goal: find the key\nObservation: b\nAction: go\nObservation: c"
    assert model.queries[2].question.options == ("look", "go")


def test_no_history_and_reset_show_no_past() -> None:
    model = ScriptedModel({"": "look"})
    actor = ConstrainedReadoutActor(model, history=0)
    for observation in ("a", "b"):
        actor(observation, info("look"))
    assert model.queries[1].context == "Goal: find the key\nObservation: b"
    other = ConstrainedReadoutActor(model)
    other("a", info("look"))
    other.reset()
    other("b", info("look"))
    assert model.queries[-1].context == "Goal: find the key\nObservation: b"


def test_greedy_plays_the_most_probable_and_the_first_of_equals() -> None:
    actor = ConstrainedReadoutActor(ScriptedModel([(0.2, 0.5, 0.3), (0.4, 0.2, 0.4)]))
    assert actor("", info("a", "b", "c")) == "b"
    assert actor.distribution == pytest.approx({"a": 0.2, "b": 0.5, "c": 0.3})
    assert actor("", info("a", "b", "c")) == "a"


def test_temperature_sharpens_flattens_and_is_reported() -> None:
    np.testing.assert_allclose(tempered(np.array([0.8, 0.2, 0.0]), 0.5), [16 / 17, 1 / 17, 0])
    np.testing.assert_allclose(tempered(np.array([0.8, 0.2, 0.0]), 2.0), [2 / 3, 1 / 3, 0])
    actor = ConstrainedReadoutActor(ScriptedModel(lambda query: (0.8, 0.2)), temperature=0.5, seed=0)
    actor("", info("a", "b"))
    assert actor.distribution == pytest.approx({"a": 16 / 17, "b": 1 / 17})


def test_samples_follow_the_distribution_and_the_seed() -> None:
    def play(seed: int) -> list[str]:
        actor = ConstrainedReadoutActor(ScriptedModel(lambda query: (0.7, 0.3)), temperature=1.0, seed=seed)
        return [actor("", info("a", "b")) for _ in range(400)]

    assert play(1) == play(1) != play(2)
    assert Counter(play(1))["a"] / 400 == pytest.approx(0.7, abs=0.08)


def test_equal_actions_are_one_in_the_distribution() -> None:
    actor = ConstrainedReadoutActor(ScriptedModel([(0.3, 0.4, 0.3)]))
    assert actor("", info("a", "b", "a")) == "b"
    assert actor.distribution == pytest.approx({"a": 0.6, "b": 0.4})


def test_clear_errors() -> None:
    with pytest.raises(ValueError, match="admissible_actions'] is empty"):
        ConstrainedReadoutActor(ScriptedModel())("", info())
    with pytest.raises(RuntimeError, match="the model chose no action: the script gives no answer"):
        ConstrainedReadoutActor(ScriptedModel([None]))("", info("a", "b"))
    with pytest.raises(ValueError, match="temperature must be at least 0, got -1"):
        ConstrainedReadoutActor(ScriptedModel(), temperature=-1)
    with pytest.raises(ValueError, match="history must be at least 0, got -1"):
        ConstrainedReadoutActor(ScriptedModel(), history=-1)


def taste(query: Query) -> list[float]:
    """A distribution that depends on everything in the query, the same in every process."""
    weights = np.array([1 + sum(map(ord, query.context + option)) % 17 for option in query.question.options], float)
    return (weights / weights.sum()).tolist()


ACTIONS = ("go north", "go south", "go north 1", "go north 10", "look")
Actors = Callable[[int], ConstrainedReadoutActor]


def separate(make: Actors, lengths: list[int]) -> list[list[tuple[str, Mapping[str, float]]]]:
    """Each environment i played alone for its number of steps; observation and goal depend on i and the past."""
    plays = []
    for i, length in enumerate(lengths):
        actor, seen, play = make(i), f"room {i}", []
        for _ in range(length):
            action = actor(seen, info(*ACTIONS[: 2 + i % 4], goal=f"goal {i}"))
            play.append((action, dict(actor.distribution)))
            seen = f"room {i} after {action}"
        plays.append(play)
    return plays


def together(make: Actors, lengths: list[int]) -> list[list[tuple[str, Mapping[str, float]]]]:
    batched = BatchedActor(make, len(lengths))
    seen = [f"room {i}" for i in range(len(lengths))]
    infos = [info(*ACTIONS[: 2 + i % 4], goal=f"goal {i}") for i in range(len(lengths))]
    plays: list[list[tuple[str, Mapping[str, float]]]] = [[] for _ in lengths]
    for t in range(max(lengths)):
        playing = [t < length for length in lengths]
        actions = batched(seen, infos, playing)
        for i, action in enumerate(actions):
            assert (action is None) == (not playing[i])
            if action is not None:
                plays[i].append((action, dict(batched.distributions[i])))
                seen[i] = f"room {i} after {action}"
    return plays


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_batched_play_equals_separate_plays(temperature: float) -> None:
    model = ScriptedModel(taste)

    def make(i: int) -> ConstrainedReadoutActor:
        return ConstrainedReadoutActor(model, temperature, history=2, seed=i)

    lengths = [6, 3, 8, 1, 5]
    expected = separate(make, lengths)
    model.calls.clear()
    assert together(make, lengths) == expected
    assert model.calls == [5, 4, 4, 3, 3, 2, 1, 1]  # one call a step


@pytest.mark.parametrize("remembered", [0, 4])
def test_batched_play_equals_separate_plays_on_a_language_model(tiny: Any, remembered: int) -> None:
    model = ConstrainedReadout(*tiny, remembered=remembered)
    lengths = [3, 2, 3]
    apart = separate(lambda i: ConstrainedReadoutActor(model), lengths)
    joined = together(lambda i: ConstrainedReadoutActor(model), lengths)
    for one, other in zip(apart, joined, strict=True):
        assert [action for action, _ in one] == [action for action, _ in other]
        for (_, here), (_, there) in zip(one, other, strict=True):
            assert here == pytest.approx(there, abs=1e-4)
    again = separate(lambda i: ConstrainedReadoutActor(model), lengths)
    assert [[a for a, _ in play] for play in again] == [[a for a, _ in play] for play in apart]


def test_environments_that_start_anew_forget_alone() -> None:
    model = ScriptedModel(taste)
    batched = BatchedActor(lambda i: ConstrainedReadoutActor(model), 2)
    batched(["a", "b"], [info("look", "go")] * 2)
    batched.reset([0])
    batched(["c", "d"], [info("look", "go")] * 2)
    assert [q.context.count("Action:") for q in model.queries[-2:]] == [0, 1]
    batched.reset()
    batched(["c", "d"], [info("look", "go")] * 2)
    assert [q.context.count("Action:") for q in model.queries[-2:]] == [0, 0]


def test_bad_batches_are_clear_errors() -> None:
    model = ScriptedModel(taste)
    with pytest.raises(ValueError, match="num_envs must be at least 1, got 0"):
        BatchedActor(lambda i: ConstrainedReadoutActor(model), 0)
    with pytest.raises(ValueError, match="share one model"):
        BatchedActor(lambda i: ConstrainedReadoutActor(ScriptedModel()), 2)
    batched = BatchedActor(lambda i: ConstrainedReadoutActor(model), 2)
    with pytest.raises(ValueError, match="expected 2 observations and infos, got 1 and 2"):
        batched(["a"], [info("look")] * 2)
    with pytest.raises(ValueError, match="expected 2"):
        batched(["a", "b"], [info("look")] * 2, [True])


def test_rollout_records_the_probability_of_each_action() -> None:
    model = ScriptedModel(taste)
    trajectory = rollout(ScriptedEnv(), ConstrainedReadoutActor(model), max_steps=3)[0]
    expected = [max(taste(query)) for query in model.queries]
    assert [step.probability for step in trajectory.steps] == pytest.approx(expected)
