"""The scenes behind the games: what lies where, what is true at the start, and that no plan is shorter."""

import json
from functools import cache
from importlib.util import find_spec
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.envs.alfworld.fast import FastEngine
from agentkit.envs.alfworld.generate.figures import FIXED
from agentkit.envs.alfworld.generate.making import check_request, generate
from agentkit.envs.alfworld.generate.package_data import affordances, room_numbers
from agentkit.envs.alfworld.generate.problem import render_game
from agentkit.envs.alfworld.generate.rooms import Room, load_room, thing_id
from agentkit.envs.alfworld.generate.scatter import Scene, scatter
from agentkit.envs.alfworld.generate.tasks import CHANGES, DIFFICULTIES, Task, draw_task, rooms_by_task
from agentkit.envs.alfworld.generate.verify import verify_walkthrough
from agentkit.envs.alfworld.generate.walkthrough import shortest_walkthrough
from agentkit.envs.alfworld.world import TASK_TYPES

# Not importorskip: importing alfworld sets ALFWORLD_DATA for every later test.
pytestmark = pytest.mark.skipif(find_spec("alfworld") is None, reason="alfworld is not installed")


@cache
def rooms_allowing(difficulty: str) -> dict[str, tuple[int, ...]]:
    return rooms_by_task(TASK_TYPES, room_numbers(), difficulty)


def make_scene(task_type: str, seed: int, difficulty: str = "medium", distractors: int | None = None) -> Scene:
    rng = Random(seed)
    task = draw_task(task_type, rooms_allowing(difficulty)[task_type], difficulty, rng)
    return scatter(task, rng, difficulty, distractors)


scenes = st.builds(
    make_scene,
    task_type=st.sampled_from(TASK_TYPES),
    seed=st.integers(0, 2**32),
    difficulty=st.sampled_from(DIFFICULTIES),
    distractors=st.none() | st.integers(0, 80),
)
# The first example reads 120 room layouts, which is no sign of a slow test.
relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(scenes)
@relaxed
def test_every_thing_has_its_own_id_and_lies_where_it_may(scene):
    room, known = scene.task.room, affordances()
    ids = [thing.id for thing in (*room.receptacles, *scene.items)]
    assert len(set(ids)) == len(ids)
    for item in scene.items:
        assert item.kind in room.object_kinds
        if item.receptacle is not None:
            assert item.location == item.receptacle.location
            assert item.receptacle in room.places[item.kind].receptacles
        if item.container:
            holder = next(each for each in scene.items if each.id == item.container)
            assert holder.receptacle == item.receptacle
            assert item.kind in known.contains[holder.kind]


@given(scenes)
@relaxed
def test_nothing_is_done_at_the_start(scene):
    task = scene.task
    assert scene.start not in {each.location for each in task.room.receptacles}
    at_goal = [item for item in scene.targets if item.receptacle and item.receptacle.kind == task.goal_kind]
    elsewhere = len(scene.targets) - len(at_goal)
    assert elsewhere >= task.needed
    if task.type not in CHANGES:
        assert not at_goal
    if task.type == "pick_cool_then_place_in_recep":
        assert all(item.receptacle and item.receptacle.kind != "Fridge" for item in scene.targets)


@given(scenes)
@relaxed
def test_the_written_game_is_won_by_its_walkthrough(scene):
    game = render_game(scene, "trial_T00000000_000000_000000", Random(0)).game
    verify_walkthrough(game, "this game")


@given(st.sampled_from(TASK_TYPES), st.integers(0, 2**32), st.integers(0, 80))
@relaxed
def test_distractors_are_counted(task_type, seed, distractors):
    scene = make_scene(task_type, seed, distractors=distractors)
    others = [item for item in scene.items if item.kind not in FIXED and item.kind != scene.task.object_kind]
    assert len(others) == distractors


@given(st.sampled_from(TASK_TYPES), st.integers(0, 2**32))
@relaxed
def test_difficulty_hides_the_targets(task_type, seed):
    easy, hard = make_scene(task_type, seed, "easy"), make_scene(task_type, seed, "hard")
    assert len(easy.targets) == easy.task.needed + 2
    assert not any(item.receptacle and item.receptacle.openable for item in easy.targets)
    assert len(hard.targets) == hard.task.needed
    assert all(item.receptacle and item.receptacle.openable for item in hard.targets)


def test_real_games_trap_occurs_at_medium_difficulty():
    """Some clean, heat and cool games have an untreated copy at the goal already (about 4 in 10 of the real ones)."""
    found = 0
    for seed in range(200):
        scene = make_scene("pick_heat_then_place_in_recep", seed)
        found += any(each.receptacle and each.receptacle.kind == scene.task.goal_kind for each in scene.targets)
    assert 20 <= found <= 120


def shorter_plan_exists(game: str, length: int, kind: str, goal_kind: str) -> bool:
    """Breadth-first search for a win in fewer than ``length`` steps, over all commands that could help."""
    engine = FastEngine(json.loads(game))
    holders = {name.split(" from ")[1] for name in _targets_from(engine, kind)}
    frontier, seen = [engine.snapshot()], {engine.state}
    for _ in range(length - 1):
        following = []
        for snapshot in frontier:
            engine.restore(snapshot)
            for command in engine.turn.admissible_commands:
                if not _could_help(command, kind, goal_kind, holders):
                    continue
                engine.restore(snapshot)
                if engine.step(command).won:
                    return True
                if engine.state not in seen:
                    seen.add(engine.state)
                    following.append(engine.snapshot())
        frontier = following
    return False


def _targets_from(engine: FastEngine, kind: str) -> set[str]:
    """ "take" commands for objects of ``kind`` that one visit to each receptacle (opened) reveals."""
    start, found = engine.snapshot(), set()
    for going in engine.turn.admissible_commands:
        if going.startswith("go to "):
            engine.restore(start)
            engine.step(going)
            engine.step(going.replace("go to ", "open "))
            found |= {each for each in engine.turn.admissible_commands if each.startswith(f"take {kind} ")}
    engine.restore(start)
    return found


def _could_help(command: str, kind: str, goal_kind: str, holders: set[str]) -> bool:
    verb, _, rest = command.partition(" ")
    if verb == "open":
        return rest in holders or rest.startswith(f"{goal_kind} ")
    if verb in ("go", "use"):
        return True
    return verb in ("take", "move", "clean", "heat", "cool") and rest.startswith(f"{kind} ")


@pytest.mark.parametrize("task_type", TASK_TYPES)
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_no_plan_is_shorter_than_the_walkthrough(task_type, difficulty):
    small = {"Kitchen": 22, "LivingRoom": 10, "Bedroom": 9, "Bathroom": 9}
    allowed = map(load_room, rooms_allowing(difficulty)[task_type])
    rooms = tuple(room.number for room in allowed if len(room.receptacles) <= small[room.type])
    for seed in range(3):
        rng = Random(seed)
        task = draw_task(task_type, rooms, difficulty, rng)
        scene = scatter(task, rng, difficulty, 5)
        files = render_game(scene, "trial_T00000000_000000_000000", rng)
        kinds = task.object_kind.lower(), task.goal_kind.lower()
        assert not shorter_plan_exists(files.game, len(files.walkthrough), *kinds), files.walkthrough
        assert shorter_plan_exists(files.game, len(files.walkthrough) + 1, *kinds)


def location_of(room: Room, kind: str) -> str:
    return next(each.location for each in room.receptacles if each.kind == kind)


def test_plan_takes_the_copy_beside_the_microwave():
    seeded = (make_scene("pick_heat_then_place_in_recep", seed, "easy", 0) for seed in range(500))
    scene = next(
        scene
        for scene in seeded
        if any(item.location == location_of(scene.task.room, "Microwave") for item in scene.targets)
    )
    plan = shortest_walkthrough(scene)
    assert [command.split()[0] for command in plan[:3]] == ["go", "take", "heat"]


def test_plan_puts_the_object_down_where_it_was_heated():
    """In room 21 a dining table is in reach of the microwave, and others are not."""
    room = load_room(21)
    tables = [each for each in room.receptacles if each.kind == "DiningTable"]
    assert {table.location == location_of(room, "Microwave") for table in tables} == {True, False}
    scene = scatter(Task("pick_heat_then_place_in_recep", "Apple", "DiningTable", room), Random(1), "hard", 0)
    assert [command.split()[0] for command in shortest_walkthrough(scene)[-2:]] == ["heat", "move"]


def test_verification_notices_a_broken_walkthrough():
    game = next(generate(check_request(0, "train", None, None, None, "medium"), 1)).files.game
    content = json.loads(game)
    steps = content["walkthrough"]
    for broken, message in [
        (steps[:-1], r"doesn't win"),
        ([*steps, "look"], r"won before command \d+ of its walkthrough, 'look'"),
        (["go to nowhere 1", *steps], r"command 1 of its walkthrough, 'go to nowhere 1', is not admissible"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            verify_walkthrough(json.dumps({**content, "walkthrough": broken}), "this game")


def test_rooms_are_the_same_at_every_call():
    load_room.cache_clear()
    first = load_room(7)
    load_room.cache_clear()
    assert load_room(7) == first


def test_room_ids_are_those_of_the_simulator():
    assert thing_id("Mug", (-0.244, 1.0, 12.5)) == ("Mug_bar__minus_00_dot_24_bar__plus_01_dot_00_bar__plus_12_dot_50")
    ids = {each.id for each in load_room(1).receptacles}
    assert "CounterTop_bar__minus_00_dot_08_bar__plus_01_dot_15_bar_00_dot_00" in ids
    assert "Sink_bar__minus_01_dot_90_bar__plus_00_dot_97_bar__minus_01_dot_50_bar_SinkBasin" in ids
