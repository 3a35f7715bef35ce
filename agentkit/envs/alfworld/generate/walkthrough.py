"""A shortest plan for a scene, in the names that the game shows.

An agent that knows the whole scene needs few decisions: which object, which receptacle to put it in, which sink.
All are tried; the shortest plan wins, ties go to the first in the order of ids.
"""

from collections.abc import Iterator
from itertools import permutations

from attrs import field, frozen

from agentkit.envs.alfworld.fast.compile import display_names
from agentkit.envs.alfworld.generate.rooms import Receptacle
from agentkit.envs.alfworld.generate.scatter import Item, Scene
from agentkit.envs.alfworld.generate.tasks import CHANGES


@frozen
class _Walk:
    """Commands so far, where they lead, and what they opened."""

    names: dict[str, str] = field()
    location: str = field()
    commands: tuple[str, ...] = field(default=())
    opened: frozenset[str] = field(default=frozenset())

    def at(self, receptacle: Receptacle, *, inside: bool) -> "_Walk":
        """Stand at ``receptacle``, and have it open if something goes in or out (``inside``)."""
        commands, opened, name = list(self.commands), self.opened, self.names[receptacle.id]
        if self.location != receptacle.location:
            commands.append(f"go to {name}")
        if inside and receptacle.openable and receptacle.id not in opened:
            commands.append(f"open {name}")
            opened |= {receptacle.id}
        return _Walk(self.names, receptacle.location, tuple(commands), opened)

    def then(self, command: str) -> "_Walk":
        """Give one more command."""
        return _Walk(self.names, self.location, (*self.commands, command), self.opened)

    def take(self, item: Item) -> "_Walk":
        """Fetch ``item``, which lies in a receptacle."""
        receptacle = _holder(item)
        return self.at(receptacle, inside=True).then(f"take {self.names[item.id]} from {self.names[receptacle.id]}")

    def move(self, item: Item, receptacle: Receptacle) -> "_Walk":
        """Bring ``item`` from the hand into ``receptacle``."""
        there = self.at(receptacle, inside=True)
        return there.then(f"move {self.names[item.id]} to {self.names[receptacle.id]}")


def _holder(item: Item) -> Receptacle:
    if item.receptacle is None:
        raise ValueError(f"{item.id} lies in no receptacle, so no plan can use it")
    return item.receptacle


def shortest_walkthrough(scene: Scene) -> list[str]:
    """The commands of a shortest plan; the last one wins the game."""
    # The game numbers things in the order of their ids in lower case.
    ids = {thing.id.lower(): thing.id for thing in (*scene.task.room.receptacles, *scene.items)}
    start = _Walk({ids[low]: name for low, name in display_names(ids).items()}, scene.start)
    return list(min(_plans(scene, start), key=lambda walk: len(walk.commands)).commands)


def _plans(scene: Scene, start: _Walk) -> Iterator[_Walk]:
    if scene.task.lamp_kind:
        return _look_plans(scene, start)
    if scene.task.needed == 2:
        return _two_plans(scene, start)
    return _place_plans(scene, start)


def _look_plans(scene: Scene, start: _Walk) -> Iterator[_Walk]:
    lamps = [item for item in scene.items if item.kind == scene.task.lamp_kind]
    for item in scene.targets:
        taken = start.take(item)
        for lamp in lamps:
            yield taken.at(_holder(lamp), inside=False).then(f"use {start.names[lamp.id]}")


def _place_plans(scene: Scene, start: _Walk) -> Iterator[_Walk]:
    change = CHANGES.get(scene.task.type)
    appliances = [each for each in scene.task.room.receptacles if change and each.kind == change[1]]
    for item in scene.targets:
        taken = start.take(item)
        readied = [taken] if change is None else [_changed(taken, item, change[2], each) for each in appliances]
        for walk in readied:
            for goal in _worthwhile_goals(scene, {walk.location, taken.location}):
                yield walk.move(item, goal)


def _changed(walk: _Walk, item: Item, verb: str, appliance: Receptacle) -> _Walk:
    names = walk.names
    return walk.at(appliance, inside=False).then(f"{verb} {names[item.id]} with {names[appliance.id]}")


def _two_plans(scene: Scene, start: _Walk) -> Iterator[_Walk]:
    for first, second in permutations(scene.targets, 2):
        taken = start.take(first)
        for goal in _worthwhile_goals(scene, {taken.location, _holder(second).location}):
            yield taken.move(first, goal).take(second).move(second, goal)


def _worthwhile_goals(scene: Scene, visited: set[str]) -> list[Receptacle]:
    """Goal receptacles at places that the plan visits anyway, and one of the others: those cost the same."""
    goals = [each for each in scene.task.room.receptacles if each.kind == scene.task.goal_kind]
    near = [each for each in goals if each.location in visited]
    far = [each for each in goals if each.location not in visited]
    return near + far[:1]
