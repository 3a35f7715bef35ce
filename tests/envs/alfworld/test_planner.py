"""Plans are compared, length by length, with a search that knows nothing but the rules of the game."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.envs.alfworld.fast.dynamics import Op, applicable, apply
from agentkit.envs.alfworld.fast.game import load_game
from agentkit.envs.alfworld.games import list_games
from agentkit.envs.alfworld.plan_bound import lower_bound
from agentkit.envs.alfworld.planner import commands, plan_length, shortest_plan
from agentkit.envs.alfworld.world import State, World
from tests.envs.alfworld.tiny_worlds import (
    CABINET_1,
    CABINET_2,
    COUNTER,
    HOT_MUG,
    LOOK_AT_MUG,
    MICROWAVE,
    PLACE_MUG,
    RECEPTACLES,
    SLICED_MUG,
    TWO_MUGS,
    tiny_world,
)


def breadth_first_length(world: World, state: State) -> int | None:
    """Length of a shortest plan, by trying every action in every state."""
    queue = deque([(state, 0)])
    seen = {state.planning_key()}
    while queue:
        here, depth = queue.popleft()
        if world.is_won(here):
            return depth
        for op in applicable(world, here):
            after = apply(world, here, op)
            if after.planning_key() not in seen:
                seen.add(after.planning_key())
                queue.append((after, depth + 1))
    return None


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A tiny world with at most two mugs, and a spare thing to be in the way."""
    goal = draw(st.sampled_from([HOT_MUG, TWO_MUGS, LOOK_AT_MUG, PLACE_MUG, SLICED_MUG]))
    places = st.integers(0, len(RECEPTACLES) - 1)
    objects = {"mug 1": draw(places)}
    if goal is TWO_MUGS or draw(st.booleans()):
        objects["mug 2"] = draw(places)
    objects[{LOOK_AT_MUG: "desklamp 1", SLICED_MUG: "knife 1"}.get(goal, "apple 1")] = draw(places)
    everything = (1 << len(objects)) - 1
    return tiny_world(
        goal,
        objects,
        location=draw(st.integers(0, 4)),
        held=draw(st.sampled_from([None, *(name for name in objects if name != "desklamp 1")])),
        opened=draw(st.sampled_from([0b000, 0b001, 0b010, 0b100, 0b101, 0b111])) << 2,
        twins=draw(st.sampled_from([{}, {}, {"mug 1": COUNTER}, {"mug 1": CABINET_2}])),
        accepts=draw(st.sampled_from([None, (everything, 0, 0, everything, everything), (1, everything, 0, 7, 3)])),
    )


@settings(max_examples=80, deadline=None)
@given(worlds())
def test_a_plan_is_as_short_as_exhaustive_search_finds_and_wins(world: World) -> None:
    plan = shortest_plan(world, world.initial)
    length = breadth_first_length(world, world.initial)
    assert (None if plan is None else len(plan)) == length
    state = world.initial
    for done, op in enumerate(plan or ()):
        assert op in applicable(world, state)
        assert lower_bound(world, state) <= len(plan or ()) - done
        state = apply(world, state, op)
    assert plan is None or world.is_won(state)


def test_a_plan_for_a_hot_mug_by_hand() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": CABINET_1})
    plan = shortest_plan(world, world.initial)
    assert plan is not None
    assert [commands(world, op)[0] for op in plan] == [
        "go to cabinet 1",
        "open cabinet 1",
        "take mug 1 from cabinet 1",
        "go to microwave 1",
        "heat mug 1 with microwave 1",
        "go to coffeemachine 1",
        "move mug 1 to coffeemachine 1",
    ]


def test_what_is_in_the_way_is_put_down_first() -> None:
    world = tiny_world(
        PLACE_MUG, {"mug 1": COUNTER, "apple 1": COUNTER}, location=1, held="apple 1", opened=1 << CABINET_2
    )
    plan = shortest_plan(world, world.initial)
    assert plan is not None
    assert [op.action for op in plan] == ["putobject", "pickupobject", "putobject"]


def test_nothing_is_left_to_do_when_the_goal_holds() -> None:
    world = tiny_world(PLACE_MUG, {"mug 1": CABINET_1})
    assert shortest_plan(world, world.initial) == ()
    assert plan_length(world, world.initial) == 0


def test_there_is_no_plan_without_the_object() -> None:
    world = tiny_world(PLACE_MUG, {"apple 1": COUNTER})
    assert shortest_plan(world, world.initial) is None
    assert plan_length(world, world.initial) is None


def test_both_generations_of_wording_are_offered_for_putting_down() -> None:
    world = tiny_world(PLACE_MUG, {"mug 1": COUNTER})
    assert commands(world, Op("putobject", 0, MICROWAVE)) == (
        "move mug 1 to microwave 1",
        "put mug 1 in/on microwave 1",
    )


@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_plans_of_real_games_are_no_longer_than_their_walkthroughs(alfworld_data, split: str) -> None:
    for path in list_games(alfworld_data, split)[::3]:
        game = load_game(path)
        plan = shortest_plan(game.world, game.world.initial)
        assert plan is not None, path
        assert len(plan) <= len(game.walkthrough), path
