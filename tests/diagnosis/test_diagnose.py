"""Where actors' probability goes: the masses, the goal that is shown, what is remembered, and resuming."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import gymnasium as gym
import pytest

from agentkit.actors import ConstrainedReadoutActor, OrderedSubgoalsActor, RandomActor
from agentkit.diagnosis import DiagnosticState, collect_states, diagnose
from agentkit.diagnosis.probing import Probe, actor_identity, probe
from agentkit.testing import ScriptedModel

STATE = DiagnosticState(
    task_id="heat/1",
    change="heat",
    goal="put a hot mug in shelf.",
    goal_without_placement="heat some mug.",
    past=(
        ("You are in a room. Your task is to: put a hot mug in shelf.", "take mug 1 from desk 1"),
        ("You pick up the mug 1.", "go to shelf 1"),
    ),
    observation="You are at shelf 1.",
    admissible_actions=("go to microwave 1", "go to microwave 2", "look", "move mug 1 to shelf 1"),
    required=("go to microwave 1", "go to microwave 2"),
    placing=("move mug 1 to shelf 1",),
)


def goal_reader(query):
    """Places as long as the goal asks for it, as the paper's actors do."""
    return (0.1, 0.05, 0.15, 0.7) if "shelf" in query.context.splitlines()[0] else (0.5, 0.3, 0.1, 0.1)


def test_the_mass_is_summed_over_the_actions_of_each_kind() -> None:
    actor = ConstrainedReadoutActor(ScriptedModel(goal_reader))
    full, without = (probe("a", actor, STATE, goal) for goal in ("full", "without placement"))
    assert (full.required, full.placing, full.other) == pytest.approx((0.15, 0.7, 0.15))
    assert (without.required, without.placing, without.other) == pytest.approx((0.8, 0.1, 0.1))
    assert (full.action, full.chose_required) == ("move mug 1 to shelf 1", False)
    assert (without.action, without.chose_required) == ("go to microwave 1", True)


def test_the_goal_is_replaced_everywhere_and_the_rest_is_the_same() -> None:
    model = ScriptedModel(goal_reader)
    actor = ConstrainedReadoutActor(model)
    probe("a", actor, STATE, "full")
    probe("a", actor, STATE, "without placement")
    full, without = (query.context for query in model.queries)
    assert without == full.replace("put a hot mug in shelf.", "heat some mug.")
    assert "Action: go to shelf 1" in full
    assert full.count("put a hot mug in shelf.") == 2  # in the goal, and where the first observation repeats it
    assert len(model.queries) == 2  # the past is told, not asked about


def test_ordered_subgoals_lose_their_last_one() -> None:
    model = ScriptedModel()
    actor = OrderedSubgoalsActor(ConstrainedReadoutActor(model))
    probe("a", actor, STATE, "full")
    probe("a", actor, STATE, "without placement")
    full, without = (query.context for query in model.queries)
    assert "2. heat the mug with a microwave\n3. put the mug in/on a shelf" in full
    assert "2. heat the mug with a microwave" in without
    assert "3." not in without


def test_a_diagnosis_is_the_mean_over_states() -> None:
    other = attrs.evolve(STATE, task_id="cool/1", change="cool", required=("look",))
    actors = {"reader": ConstrainedReadoutActor(ScriptedModel(goal_reader)), "random": RandomActor(0)}
    result = diagnose([STATE, other], actors)
    row = result.of("reader")
    assert row.required is not None
    assert row.placing is not None
    assert row.required.estimate == pytest.approx((0.15 + 0.15) / 2)
    assert row.placing.estimate == pytest.approx(0.7)
    assert row.required_by_change == pytest.approx({"cool": 0.15, "heat": 0.15})
    assert (row.chosen_required, row.states, row.unscored) == (0.0, 2, 0)
    chance = result.of("random", "without placement")
    assert chance.required is not None
    assert chance.required.estimate == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert "reader" in result.table()
    shift = result.shifts["reader"]
    assert shift is not None
    assert (shift.estimate, shift.count) == (pytest.approx((0.65 - 0.05) / 2), 2)
    assert result.shifts["random"] is not None
    assert result.shifts["random"].estimate == 0.0
    with pytest.raises(KeyError, match="no actor 'nobody'"):
        result.of("nobody")


def test_the_masses_add_up_to_one_on_real_states(alfworld_data: Path) -> None:
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_seen")
    states = collect_states(env, 20)
    result = diagnose(states, {"random": RandomActor(0)})
    for goal in ("full", "without placement"):
        row = result.of("random", goal)
        masses = [interval.estimate for interval in (row.required, row.placing, row.other) if interval is not None]
        assert sum(masses) == pytest.approx(1.0)
        expected = sum(len(s.required) / len(s.admissible_actions) for s in states) / len(states)
        assert masses[0] == pytest.approx(expected)


def test_a_model_that_does_not_answer_is_unscored_and_asked_again(tmp_path: Path) -> None:
    silent = ConstrainedReadoutActor(ScriptedModel(lambda query: None))
    row = diagnose([STATE], {"a": silent}, out=tmp_path).of("a")
    assert (row.required, row.states, row.unscored) == (None, 1, 1)
    answering = ConstrainedReadoutActor(ScriptedModel(goal_reader))
    assert diagnose([STATE], {"a": answering}, out=tmp_path).of("a").unscored == 0


class Interrupted(ScriptedModel):
    """Is interrupted at one of its calls."""

    def __init__(self, at: int | None) -> None:
        super().__init__(goal_reader)
        self.at = at

    def __call__(self, queries):
        if len(self.calls) == self.at:
            raise KeyboardInterrupt
        return super().__call__(queries)


@pytest.mark.parametrize("at", [0, 1, 3])
def test_an_interrupted_diagnosis_goes_on_without_asking_twice(at: int, tmp_path: Path) -> None:
    states = [STATE, attrs.evolve(STATE, task_id="heat/2", observation="You are there.")]
    first, second, whole = Interrupted(at), Interrupted(None), Interrupted(None)
    with pytest.raises(KeyboardInterrupt):
        diagnose(states, {"a": ConstrainedReadoutActor(first)}, out=tmp_path)
    result = diagnose(states, {"a": ConstrainedReadoutActor(second)}, out=tmp_path)
    assert result == diagnose(states, {"a": ConstrainedReadoutActor(whole)})
    assert Counter(first.queries) + Counter(second.queries) == Counter(whole.queries)
    data = json.loads((tmp_path / "diagnosis.json").read_text())
    assert data["actors"][0]["placing"]["estimate"] == pytest.approx(0.7)


def test_probes_of_another_actor_of_the_same_name_are_refused(tmp_path: Path) -> None:
    diagnose([STATE], {"a": RandomActor(0)}, out=tmp_path)
    with pytest.raises(ValueError, match=r"holds probes of another 'a': RandomActor\(\), not Constrained"):
        diagnose([STATE], {"a": ConstrainedReadoutActor(ScriptedModel())}, out=tmp_path)


def test_what_an_actor_depends_on() -> None:
    class Named(ScriptedModel):
        identity = "weights 1"

    inner = ConstrainedReadoutActor(Named(), history=2)
    assert actor_identity(inner) == "ConstrainedReadoutActor(weights 1, history=2)"
    assert actor_identity(OrderedSubgoalsActor(inner)) == f"OrderedSubgoalsActor({actor_identity(inner)})"


def test_an_actor_without_a_distribution_is_an_error() -> None:
    def silent(observation: str, info: Mapping[str, Any]) -> str:
        return "look"

    with pytest.raises(ValueError, match="actor 'silent' tells no distribution"):
        diagnose([STATE], {"silent": silent})


@pytest.mark.parametrize(("states", "actors"), [([], {"a": RandomActor(0)}), ([STATE], {})])
def test_nothing_to_diagnose_is_an_error(states, actors) -> None:
    with pytest.raises(ValueError, match="diagnose needs states and actors"):
        diagnose(states, actors)


def test_what_is_neither_required_nor_placing_is_other() -> None:
    found = Probe(
        actor="a", identity="", task_id="", state="", goal="full", change="heat", required=0.6, placing=0.4000001
    )
    assert found.other == 0.0
