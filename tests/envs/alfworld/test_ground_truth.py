"""Milestones on episodes made by hand."""

from agentkit.envs.alfworld.fast.dynamics import Op, applicable, apply
from agentkit.envs.alfworld.ground_truth import MILESTONES, advance, begin, milestones, seen_objects
from agentkit.envs.alfworld.world import State, World
from tests.envs.alfworld.tiny_worlds import (
    CABINET_1,
    CABINET_2,
    COFFEEMACHINE,
    COUNTER,
    HOT_MUG,
    LOOK_AT_MUG,
    MICROWAVE,
    PLACE_MUG,
    SLICED_MUG,
    TWO_MUGS,
    tiny_world,
)


def go(receptacle: int) -> Op:
    return Op("gotolocation", -1, receptacle)


def opened(receptacle: int) -> Op:
    return Op("openobject", -1, receptacle)


def take(obj: int, receptacle: int) -> Op:
    return Op("pickupobject", obj, receptacle)


def put(obj: int, receptacle: int) -> Op:
    return Op("putobject", obj, receptacle)


def heat(obj: int) -> Op:
    return Op("heatobject", obj, MICROWAVE)


def play(world: World, *ops: Op) -> list[tuple[str, ...]]:
    """The milestones of each action in turn."""
    state, progress = world.initial, begin(world, world.initial)
    achieved = []
    for op in ops:
        assert op in applicable(world, state), op
        state = apply(world, state, op)
        progress, reached = advance(world, progress, state)
        achieved.append(reached)
    return achieved


def test_a_hot_mug_step_by_step() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": CABINET_1})
    steps = play(
        world,
        go(CABINET_1),
        opened(CABINET_1),
        take(0, CABINET_1),
        go(MICROWAVE),
        heat(0),
        go(COFFEEMACHINE),
        put(0, COFFEEMACHINE),
    )
    assert steps == [(), ("found",), ("taken",), (), ("heated",), (), ("placed",)]


def test_placing_the_cold_mug_first_and_repairing_it() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER})
    steps = play(
        world,
        go(COUNTER),
        take(0, COUNTER),
        go(COFFEEMACHINE),
        put(0, COFFEEMACHINE),  # too early: no milestone, and it undoes "taken"
        take(0, COFFEEMACHINE),  # the repair
        go(MICROWAVE),
        heat(0),
        go(COFFEEMACHINE),
        put(0, COFFEEMACHINE),
    )
    assert steps == [("found",), ("taken",), (), (), ("taken",), (), ("heated",), (), ("placed",)]


def test_a_milestone_is_not_achieved_twice_unless_it_was_undone() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": MICROWAVE}, location=3, opened=1 << MICROWAVE)
    assert play(world, take(0, MICROWAVE), heat(0), heat(0), put(0, MICROWAVE), take(0, MICROWAVE)) == [
        ("taken",),
        ("heated",),
        (),
        (),
        ("taken",),
    ]


def test_a_mug_that_was_visible_from_the_start_is_not_found_again() -> None:
    world = tiny_world(PLACE_MUG, {"mug 1": COUNTER}, location=1)
    assert begin(world, world.initial).holding == ("found",)


def test_what_lies_in_a_closed_receptacle_is_not_seen() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": CABINET_2, "apple 1": COUNTER}, location=1)
    assert seen_objects(world, world.initial) == 0b10
    assert play(world, opened(CABINET_2)) == [("found",)]


def test_another_object_is_no_milestone() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": CABINET_1, "apple 1": COUNTER})
    assert play(world, go(COUNTER), take(1, COUNTER), go(COFFEEMACHINE), put(1, COFFEEMACHINE)) == [()] * 4


def test_two_mugs_one_after_the_other() -> None:
    world = tiny_world(TWO_MUGS, {"mug 1": COUNTER, "mug 2": COFFEEMACHINE})
    steps = play(
        world,
        go(COUNTER),
        take(0, COUNTER),
        go(CABINET_1),
        opened(CABINET_1),
        put(0, CABINET_1),
        go(COFFEEMACHINE),
        take(1, COFFEEMACHINE),
        go(CABINET_1),
        put(1, CABINET_1),
    )
    assert steps == [
        ("found",),
        ("taken",),
        (),
        (),
        ("placed",),
        ("second_found",),
        ("second_taken",),
        (),
        ("second_placed",),
    ]


def test_two_mugs_in_different_cabinets_are_not_the_second_placed() -> None:
    world = tiny_world(TWO_MUGS, {"mug 1": CABINET_1, "mug 2": COUNTER}, location=1, opened=1 << CABINET_2)
    assert begin(world, world.initial).holding == ("found", "taken", "placed")
    assert play(world, take(1, COUNTER), put(1, CABINET_2)) == [("second_taken",), ()]


def test_looking_at_a_mug_under_the_lamp() -> None:
    world = tiny_world(LOOK_AT_MUG, {"mug 1": COUNTER, "desklamp 1": COFFEEMACHINE})
    steps = play(world, go(COUNTER), take(0, COUNTER), go(COFFEEMACHINE), Op("toggleobject", 1), Op("toggleobject", 1))
    assert steps == [("found",), ("taken",), (), ("lamp_used", "examined"), ()]


def test_a_lamp_may_be_used_first() -> None:
    world = tiny_world(LOOK_AT_MUG, {"mug 1": COUNTER, "desklamp 1": COFFEEMACHINE})
    steps = play(world, go(COFFEEMACHINE), Op("toggleobject", 1), go(COUNTER), take(0, COUNTER), go(COFFEEMACHINE))
    assert steps == [(), ("lamp_used",), ("found",), ("taken",), ("examined",)]


def test_a_slice_is_a_milestone_where_the_goal_wants_one() -> None:
    objects = {"mug 1": COUNTER, "knife 1": COUNTER}
    world = tiny_world(SLICED_MUG, objects, location=1)
    assert play(world, take(1, COUNTER), Op("sliceobject", 0, -1, 1)) == [(), ("taken", "sliced", "placed")]


def test_the_pure_function_agrees_with_the_running_account() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER})
    before: State = world.initial
    after = apply(world, before, go(COUNTER))
    assert milestones(world, before, after) == ("found",)
    assert milestones(world, before, after, seen=0b1) == ()
    assert milestones(world, before, before) == ()


def test_every_name_is_listed_once() -> None:
    assert len(set(MILESTONES)) == len(MILESTONES) == 12
