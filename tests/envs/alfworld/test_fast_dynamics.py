"""The rules of the game, on hand-made states and by random play."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.envs.alfworld.fast import FastEngine
from agentkit.envs.alfworld.fast.dynamics import Op, applicable, apply
from agentkit.envs.alfworld.world import State, World, bits
from tests.envs.alfworld.fast_small_game import HEAT_GOAL, small_game, small_problem

CHOICES = st.lists(st.integers(min_value=0, max_value=10**6), max_size=60)


@pytest.fixture(scope="module")
def world() -> World:
    return FastEngine(small_game()).world


def walk(world: World, choices: list[int]) -> list[tuple[State, Op, State]]:
    """Random play; each choice picks one of the possible actions."""
    state, steps = world.initial, []
    for choice in choices:
        ops = applicable(world, state)
        op = ops[choice % len(ops)]
        steps.append((state, op, apply(world, state, op)))
        state = steps[-1][2]
    return steps


def obj(world: World, name: str) -> int:
    return world.object_names.index(name)


def place(world: World, name: str) -> int:
    return world.receptacle_names.index(name)


def test_bits_lists_indices_in_order() -> None:
    assert list(bits(0)) == []
    assert list(bits(0b101001)) == [0, 3, 5]


def test_the_world_is_numbered_in_the_order_of_identifiers(world: World) -> None:
    assert list(world.object_ids) == sorted(world.object_ids)
    assert world.object_names[:3] == ("apple 12", "apple 11", "apple 10")
    assert world.receptacle_types == ("drawer", "fridge", "microwave", "shelf", "sink", "sinkbasin", "table")
    assert world.receptacles_at[world.initial.location] == (place(world, "drawer 1"), place(world, "table 1"))


def test_actions_at_the_start(world: World) -> None:
    ops = applicable(world, world.initial)
    assert Op("openobject", -1, place(world, "drawer 1")) in ops
    assert Op("toggleobject", obj(world, "desklamp 1")) in ops, "a lamp works inside a closed drawer"
    assert Op("pickupobject", obj(world, "knife 1"), place(world, "table 1")) in ops
    assert Op("gotolocation", -1, place(world, "drawer 1")) not in ops, "one stands there already"
    assert not [op for op in ops if op.action in ("examineobject", "putobject", "sliceobject")], "nothing is in hand"


def test_an_object_taken_from_one_of_two_receptacles_stays_in_the_other(world: World) -> None:
    mug, sink, basin = obj(world, "mug 1"), place(world, "sink 1"), place(world, "sinkbasin 1")
    there = apply(world, world.initial, Op("gotolocation", -1, sink))
    taken = apply(world, there, Op("pickupobject", mug, basin))
    assert taken.held == mug
    assert taken.receptacles_of(mug) == (sink,)
    assert taken.receptacle_of(mug) == sink
    assert taken.objects_at[taken.location] == 0
    back = apply(world, taken, Op("putobject", mug, basin))
    assert back == there


def test_heat_and_cool_undo_each_other_and_clean_does_not(world: World) -> None:
    apple = obj(world, "apple 8")
    assert world.initial.cool == 1 << apple
    hot = apply(world, world.initial._replace(held=apple), Op("heatobject", apple, place(world, "microwave 1")))
    assert (hot.hot, hot.cool) == (1 << apple, 0)
    clean = apply(world, hot, Op("cleanobject", apple, place(world, "sink 1")))
    cool = apply(world, clean, Op("coolobject", apple, place(world, "fridge 1")))
    assert (cool.hot, cool.cool, cool.clean) == (0, 1 << apple, 1 << apple)


def test_using_a_lamp_twice_keeps_it_toggled(world: World) -> None:
    lamp = Op("toggleobject", obj(world, "desklamp 1"))
    once = apply(world, world.initial, lamp)
    twice = apply(world, once, lamp)
    assert once.on == once.toggled == twice.toggled == 1 << lamp.object
    assert twice.on == 0


def test_a_knife_slices_what_stands_here(world: World) -> None:
    knife = obj(world, "knife 1")
    armed = apply(world, world.initial, Op("pickupobject", knife, place(world, "table 1")))
    slices = [op for op in applicable(world, armed) if op.action == "sliceobject"]
    assert [world.object_names[op.object] for op in slices] == [f"apple {i}" for i in (11, 9, 7, 5, 3, 1)]
    assert apply(world, armed, slices[0]).sliced == 1 << slices[0].object


@given(CHOICES)
@settings(max_examples=60, deadline=None)
def test_random_play_keeps_the_state_consistent(choices: list[int]) -> None:
    world = FastEngine(small_game()).world
    for before, op, after in walk(world, choices):
        assert (after is before) == (after == before)
        assert hash(after) == hash(State(*after))
        assert len(set(applicable(world, after))) == len(applicable(world, after))
        assert not any(inside & gone for inside, gone in zip(after.contents, after.taken_from, strict=True))
        if op.action in ("look", "inventory", "help", "examinereceptacle", "examineobject"):
            assert after is before
        if op.action == "pickupobject":
            assert apply(world, after, Op("putobject", op.object, op.receptacle)) == before
        if op.action == "openobject":
            assert apply(world, after, Op("closeobject", -1, op.receptacle)) == before


@given(CHOICES)
@settings(max_examples=30, deadline=None)
def test_states_with_one_planning_key_have_the_same_future(choices: list[int]) -> None:
    world = FastEngine(small_game()).world
    for _, _, after in walk(world, choices):
        twin = after._replace(on=0, taken_from=(0,) * len(after.taken_from))
        assert twin.planning_key() == after.planning_key()
        assert applicable(world, twin) == applicable(world, after)
        assert world.is_won(twin) == world.is_won(after)


def win(goal: str) -> World:
    return FastEngine(small_game(pddl_problem=small_problem(goal))).world


def test_placing_wins_only_after_the_change() -> None:
    world = win(HEAT_GOAL)
    mug, shelf = obj(world, "mug 1"), place(world, "shelf 1")
    contents = tuple(1 << mug if r == shelf else 0 for r in range(len(world.receptacle_names)))
    assert not world.is_won(world.initial._replace(contents=contents))
    assert world.is_won(world.initial._replace(contents=contents, hot=1 << mug))
    assert not world.is_won(world.initial._replace(hot=1 << mug))


def test_two_objects_must_share_one_receptacle() -> None:
    goal = """(and (exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 AppleType)
      (receptacleType ?r ShelfType) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2))
      (objectType ?o2 AppleType) (receptacleType ?r ShelfType) (inReceptacle ?o2 ?r)))))))"""
    world = win(goal)
    shelf = place(world, "shelf 1")

    def with_apples(mask: int) -> State:
        contents = list(world.initial.contents)
        contents[shelf] |= mask
        return world.initial._replace(contents=tuple(contents))

    assert not world.is_won(with_apples(0b1))
    assert world.is_won(with_apples(0b11))


def test_looking_needs_the_lamp_used_here_and_the_object_in_hand() -> None:
    goal = """(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?ot DeskLampType)
      (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))
      (exists (?o - object ?a - agent) (and (objectType ?o KnifeType) (holds ?a ?o))))"""
    world = win(goal)
    lit = world.initial._replace(toggled=1 << obj(world, "desklamp 1"))
    knife = obj(world, "knife 1")
    assert not world.is_won(lit)
    assert world.is_won(lit._replace(held=knife))
    assert not world.is_won(world.initial._replace(held=knife))
    assert not world.is_won(lit._replace(held=knife, location=(lit.location + 1) % len(world.location_names)))


def test_closed_receptacles_hide_what_is_in_them(world: World) -> None:
    lamp = 1 << obj(world, "desklamp 1")
    assert not world.visible_objects(world.initial) & lamp
    opened = world.initial._replace(opened=1 << place(world, "drawer 1"))
    assert world.visible_objects(opened) & lamp
