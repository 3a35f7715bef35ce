"""Oracle roles on episodes made by hand."""

from agentkit.envs.alfworld.fast.dynamics import Op, applicable, apply
from agentkit.envs.alfworld.planner import commands
from agentkit.envs.alfworld.roles import ROLES, remember, step_role
from agentkit.envs.alfworld.world import World
from tests.envs.alfworld.tiny_worlds import (
    CABINET_1,
    CABINET_2,
    COFFEEMACHINE,
    COUNTER,
    HOT_MUG,
    LOOK_AT_MUG,
    MICROWAVE,
    TWO_MUGS,
    tiny_world,
)

GO = {place: Op("gotolocation", -1, place) for place in (COUNTER, COFFEEMACHINE, MICROWAVE, CABINET_1, CABINET_2)}
LOOK = Op("look")


def roles(world: World, *ops: Op | str) -> list[str]:
    """The role of each action in turn; a str is an action that is not possible."""
    state, memory = world.initial, remember(world, world.initial)
    given = []
    for op in ops:
        if isinstance(op, str):
            after, action = state, op
        else:
            assert op in applicable(world, state), op
            after = apply(world, state, op)
            action = op.action if op.object < 0 and op.receptacle < 0 else commands(world, op)[0]
        role, memory = step_role(world, memory, state, action, after)
        state = after
        given.append(role)
    return given


def test_every_step_of_a_shortest_plan_is_decisive() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER})
    steps = roles(
        world,
        GO[COUNTER],
        Op("pickupobject", 0, COUNTER),
        GO[MICROWAVE],
        Op("heatobject", 0, MICROWAVE),
        GO[COFFEEMACHINE],
        Op("putobject", 0, COFFEEMACHINE),
    )
    assert steps == ["decisive"] * 6


def test_placing_the_cold_mug_is_a_regression_and_its_repair_is_decisive() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER}, location=1)
    steps = roles(
        world,
        Op("pickupobject", 0, COUNTER),
        GO[COFFEEMACHINE],  # walking on without heating brings the goal no nearer
        Op("putobject", 0, COFFEEMACHINE),
        Op("pickupobject", 0, COFFEEMACHINE),
        GO[MICROWAVE],
        Op("heatobject", 0, MICROWAVE),
        GO[COFFEEMACHINE],
        Op("putobject", 0, COFFEEMACHINE),
    )
    assert steps == ["decisive", "no-progress", "regression"] + 5 * ["decisive"]


def test_undoing_and_repairing_again_and_again_earns_nothing() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COFFEEMACHINE}, location=2)
    take, put = Op("pickupobject", 0, COFFEEMACHINE), Op("putobject", 0, COFFEEMACHINE)
    assert roles(world, take, put, take, put, take) == [
        "decisive",
        "regression",
        "no-progress",
        "regression",
        "no-progress",
    ]


def test_searching_is_exploration_until_the_object_was_seen() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER, "apple 1": CABINET_1})
    steps = roles(world, GO[CABINET_1], Op("openobject", -1, CABINET_1), GO[COUNTER], GO[MICROWAVE])
    # The last one leaves the mug behind: it shows a new receptacle, but nothing that the goal still needs.
    assert steps == ["exploration", "exploration", "decisive", "regression"]


def test_coming_back_to_a_place_reveals_nothing() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER})
    assert roles(world, GO[CABINET_1], GO[COFFEEMACHINE], GO[CABINET_1], GO[COFFEEMACHINE]) == [
        "exploration",
        "exploration",
        "no-progress",
        "regression",
    ]


def test_looking_around_is_no_progress_and_a_regression_when_repeated() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER})
    assert roles(world, LOOK, LOOK, GO[COUNTER], LOOK) == ["no-progress", "regression", "decisive", "no-progress"]


def test_an_impossible_action_is_no_progress_and_a_regression_when_repeated() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER})
    assert roles(world, "fly to the moon", "fly to the moon") == ["no-progress", "regression"]


def test_taking_what_is_in_the_way_is_a_regression() -> None:
    world = tiny_world(HOT_MUG, {"mug 1": COUNTER, "apple 1": COUNTER}, location=1)
    assert roles(world, Op("pickupobject", 1, COUNTER), Op("putobject", 1, COUNTER)) == ["regression", "decisive"]


def test_the_second_object_is_searched_for_too() -> None:
    world = tiny_world(TWO_MUGS, {"mug 1": COUNTER, "mug 2": COFFEEMACHINE}, location=1)
    assert roles(world, Op("pickupobject", 0, COUNTER), GO[MICROWAVE])[1] == "exploration"


def test_the_lamp_is_searched_for_too() -> None:
    world = tiny_world(LOOK_AT_MUG, {"mug 1": COUNTER, "desklamp 1": COFFEEMACHINE}, location=1)
    steps = roles(world, Op("pickupobject", 0, COUNTER), GO[MICROWAVE], GO[COFFEEMACHINE], GO[CABINET_1])
    assert steps == ["decisive", "exploration", "decisive", "regression"]


def test_the_names_are_those_of_the_paper() -> None:
    assert ROLES == ("decisive", "exploration", "no-progress", "regression")
