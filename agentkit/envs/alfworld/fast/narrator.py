"""The game's sentences: the opening, and the feedback to each action, in the wording of the game's own grammar."""

from collections.abc import Callable, Iterable, Sequence

from agentkit.envs.alfworld.fast.dynamics import Op
from agentkit.envs.alfworld.fast.wording import Wording
from agentkit.envs.alfworld.world import State, World, bits

NOTHING_HAPPENS = "Nothing happens."
# Lists of up to this many different sets of objects are remembered per game; each costs about 200 bytes.
_MAX_LISTS = 256


class Narrator:
    """Tells what a player reads. It has no state of its own but a bounded memory of lists already spelt out."""

    def __init__(self, world: World, wording: Wording) -> None:
        self._world = world
        self._wording = wording
        self._feedback = wording.feedback
        self._object_items = [wording.items["examinereceptacle"].format(name) for name in world.object_names]
        self._lists: dict[int, str] = {}
        self._tellers: dict[str, Callable[[State, Op], str]] = {
            "look": lambda state, op: self.look(state),
            "inventory": lambda state, op: self._inventory(state),
            "help": lambda state, op: self._feedback["help"][0],
            "gotolocation": self._goto,
            "openobject": self._open,
            "examinereceptacle": lambda state, op: self._receptacle(state, op.receptacle),
            "examineobject": self._object,
            "toggleobject": self._toggle,
            "sliceobject": self._slice,
        }

    def opening(self, state: State) -> str:
        """The first text of an episode: the room, and the task."""
        world, intro = self._world, self._feedback["intro"][0]
        room = self.look(state, [r for r, at in enumerate(world.location_of) if at >= 0])
        return intro.format(look=room, task=world.task)

    def tell(self, state: State, op: Op) -> str:
        """The feedback to an action. `state` is the state that it led to."""
        teller = self._tellers.get(op.action)
        if teller is not None:
            return teller(state, op)
        return self._feedback[op.action][0].format(
            o=self._world.object_names[op.object], r=self._world.receptacle_names[op.receptacle]
        )

    def look(self, state: State, appliances: Sequence[int] = ()) -> str:
        """What `look` prints; away from every receptacle it sees nothing, while the opening names all `appliances`."""
        world = self._world
        here = world.receptacles_at[state.location]
        facing, lost = self._feedback["look"]
        if not here:
            some, none = self._feedback["list_appliances"]
            names = self._spell("list_appliances", (world.receptacle_names[r] for r in appliances))
            return lost.format(appliances=some.format(items=names) if appliances else none)
        names = self._spell("look-variations", (world.receptacle_names[r] for r in here))
        return facing.format(facing=self._feedback["look-variations"][0].format(items=names), floor=self._floor(state))

    def _floor(self, state: State) -> str:
        """Objects at this location that were taken out of a receptacle here and stand in another one here.

        An object is named once for every such receptacle: so the grammar's query has it.
        """
        here = self._world.receptacles_at[state.location]
        moved = 0
        for r in here:
            moved |= state.taken_from[r]
        names = [
            self._world.object_names[o]
            for o in bits(moved & state.objects_at[state.location])
            for r in here
            if state.taken_from[r] >> o & 1
        ]
        some, none = self._feedback["list_objects_on_the_floor"]
        return some.format(items=self._spell("list_objects_on_the_floor", names)) if names else none

    def _inventory(self, state: State) -> str:
        holding, empty = self._feedback["inventory"]
        if state.held < 0:
            return empty
        return holding.format(items=self._spell("inventory", [self._world.object_names[state.held]]))

    def _goto(self, state: State, op: Op) -> str:
        world = self._world
        return self._feedback["gotolocation"][0].format(
            r=world.receptacle_names[op.receptacle],
            lend=world.location_names[state.location],
            examine=self._receptacle(state, op.receptacle),
        )

    def _open(self, state: State, op: Op) -> str:
        return self._feedback["openobject"][0].format(
            r=self._world.receptacle_names[op.receptacle], examine=self._receptacle(state, op.receptacle)
        )

    def _receptacle(self, state: State, receptacle: int) -> str:
        opened, closed, plain = self._feedback["examinereceptacle"]
        text = plain
        if self._world.openable >> receptacle & 1:
            text = opened if state.opened >> receptacle & 1 else closed
        return text.format(r=self._world.receptacle_names[receptacle], items=self._objects(state.contents[receptacle]))

    def _objects(self, mask: int) -> str:
        text = self._lists.get(mask)
        if text is None:
            if len(self._lists) >= _MAX_LISTS:
                self._lists.clear()
            text = self._lists[mask] = self._join([self._object_items[o] for o in bits(mask)])
        return text

    def _object(self, state: State, op: Op) -> str:
        o, world = op.object, self._world
        texts = self._feedback["examineobject"]
        name = world.object_names[o]
        if world.vessels >> o & 1:
            inside = (world.object_names[i] for i in bits(world.vessel_contents[o]))
            return texts[0].format(o=name, items=self._spell("examineobject", inside))
        return texts[self._condition(state, o)].format(o=name)

    def _condition(self, state: State, o: int) -> int:
        """Index into `shapes.EXAMINE_OBJECT` of the first alternative that holds."""
        clean, hot, cool, sliced = (mask >> o & 1 for mask in (state.clean, state.hot, state.cool, state.sliced))
        if sliced and (clean or hot or cool):
            return (1 if hot else 2 if cool else 3) if clean else 4 if hot else 5
        if hot or cool or clean:
            return (6 if clean else 8) if hot else (7 if clean and cool else 9 if clean else 10)
        if (self._world.toggleable & state.toggled) >> o & 1:
            return 11
        return 13 if self._world.sliceable >> o & 1 and sliced else 14

    def _toggle(self, state: State, op: Op) -> str:
        # `use` has just toggled it, so the first alternative holds.
        return self._feedback["toggleobject"][0].format(o=self._world.object_names[op.object])

    def _slice(self, state: State, op: Op) -> str:
        names = self._world.object_names
        return self._feedback["sliceobject"][0].format(co=names[op.object], ko=names[op.tool])

    def _spell(self, rule: str, names: Iterable[str]) -> str:
        item = self._wording.items[rule]
        return self._join([item.format(name) for name in names])

    def _join(self, items: list[str]) -> str:
        if not items:
            return self._wording.nothing
        if len(items) == 1:
            return items[0]
        return self._wording.comma.join(items[:-1]) + self._wording.last_comma + items[-1]
