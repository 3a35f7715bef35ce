"""The two files of a game: ``game.tw-pddl`` and ``traj_data.json``, in the form of the public ALFWorld games."""

import json
from collections.abc import Callable, Iterable
from functools import cache
from random import Random

from attrs import field, frozen

from agentkit.envs.alfworld.generate.figures import FIXED
from agentkit.envs.alfworld.generate.package_data import affordances, game_logic, goal_form
from agentkit.envs.alfworld.generate.scatter import Item, Scene
from agentkit.envs.alfworld.generate.tasks import Task
from agentkit.envs.alfworld.generate.walkthrough import shortest_walkthrough

_UNKNOWN_GOAL = "UNKNOWN GOAL"  # what alfworld's grammar says where the task goes
_BREAK = "\n        "


@frozen
class GameFiles:
    """The contents of one game folder."""

    game: str = field()  # game.tw-pddl
    trajectory: str = field()  # traj_data.json
    walkthrough: tuple[str, ...] = field()


def render_game(scene: Scene, trial: str, rng: Random) -> GameFiles:
    """Write ``scene`` down as the trial named ``trial``; ``rng`` picks the wording of the task."""
    task = scene.task
    sentence = rng.choice(goal_form(task.type).sentences).format(
        obj=task.object_kind.lower(), recep=task.goal_kind.lower(), toggle=task.lamp_kind.lower()
    )
    walkthrough = shortest_walkthrough(scene)
    before, after = _logic_json()
    problem = json.dumps(problem_pddl(scene, trial))
    plan = json.dumps(walkthrough)
    game = f'{before}{sentence}{after}"pddl_problem": {problem}, "solvable": true, "walkthrough": {plan}}}'
    return GameFiles(game, json.dumps(_trajectory_data(task, trial, sentence)), tuple(walkthrough))


@cache
def _logic_json() -> tuple[str, str]:
    """Domain and grammar as the start of the game's JSON, cut where the task's sentence goes."""
    domain, grammar = game_logic()
    text = f'{{"pddl_domain": {json.dumps(domain)}, "grammar": {json.dumps(grammar)}, '
    before, found, after = text.partition(_UNKNOWN_GOAL)
    if not found:
        raise ValueError(f"the grammar in the installed alfworld has no {_UNKNOWN_GOAL!r}; install alfworld 0.4.2")
    return before, after


def _trajectory_data(task: Task, trial: str, sentence: str) -> dict[str, object]:
    annotation = {"assignment_id": "", "high_descs": [], "task_desc": sentence.capitalize() + ".", "votes": [1]}
    return {
        "task_type": task.type,
        "task_id": trial,
        "pddl_params": {
            "mrecep_target": "",
            "object_sliced": False,
            "object_target": task.object_kind,
            "parent_target": task.goal_kind,
            "toggle_target": task.lamp_kind,
        },
        "turk_annotations": {"anns": [annotation]},
        "scene": {"floor_plan": f"FloorPlan{task.room.number}", "scene_num": task.room.number},
    }


def problem_pddl(scene: Scene, trial: str) -> str:
    """The PDDL problem, its parts in the order of the public games."""
    task = scene.task
    goal = goal_form(task.type).pddl.format(obj=task.object_kind, recep=task.goal_kind, toggle=task.lamp_kind)
    locations = {each.location for each in task.room.receptacles} | {item.location for item in scene.items}
    declared = [
        *(f"{item.id} - object" for item in scene.items),
        *(f"{each.id} - receptacle" for each in task.room.receptacles),
        *(f"{location} - location" for location in sorted(locations | {scene.start})),
    ]
    return (
        f"\n(define (problem plan_{trial})\n(:domain alfred)\n(:objects\nagent1 - agent\n{_vocabulary()}\n\n\n"
        f"        {_BREAK.join(declared)}\n        )\n    \n\n(:init\n\n\n"
        f"        {_BREAK.join(_facts(scene))}\n        )\n    \n{goal}"
    )


@cache
def _vocabulary() -> str:
    known = affordances()
    lines = [
        *(f"{kind} - object" for kind in known.objects),
        *(f"{kind}Type - otype" for kind in known.objects),
        *(f"{kind}Type - rtype" for kind in known.receptacles),
    ]
    return _BREAK.join(lines)


def _facts(scene: Scene) -> list[str]:
    known, receptacles, items = affordances(), scene.task.room.receptacles, scene.items
    able = known.abilities
    return [
        *(f"(receptacleType {each.id} {each.kind}Type)" for each in receptacles),
        *(f"(objectType {item.id} {item.kind}Type)" for item in items),
        *_can_contain(frozenset(each.kind for each in receptacles), frozenset(item.kind for item in items)),
        *_each("pickupable", items, lambda kind: kind not in FIXED),
        *_each("isReceptacleObject", items, known.movable.__contains__),
        *(f"(openable {each.id})" for each in receptacles if each.openable),
        f"(atLocation agent1 {scene.start})",
        *_each("cleanable", items, able["cleanable"].__contains__),
        *_each("heatable", items, able["heatable"].__contains__),
        *_each("coolable", items, able["coolable"].__contains__),
        *(f"(isCool {item.id})" for item in scene.targets if item.receptacle and item.receptacle.kind == "Fridge"),
        *_each("toggleable", items, able["toggleable"].__contains__),
        *_each("sliceable", items, able["sliceable"].__contains__),
        *(f"(inReceptacle {item.id} {item.receptacle.id})" for item in items if item.receptacle),
        *(f"(inReceptacleObject {item.id} {item.container})" for item in items if item.container),
        *(f"(receptacleAtLocation {each.id} {each.location})" for each in receptacles),
        *(f"(objectAtLocation {item.id} {item.location})" for item in items),
    ]


def _each(predicate: str, items: tuple[Item, ...], holds: Callable[[str], bool]) -> Iterable[str]:
    return (f"({predicate} {item.id})" for item in items if holds(item.kind))


def _can_contain(receptacles: frozenset[str], objects: frozenset[str]) -> list[str]:
    contains = affordances().contains
    return [
        f"(canContain {kind}Type {inside}Type)"
        for kind in sorted(receptacles)
        for inside in sorted(contains.get(kind, frozenset()) & objects)
    ]
