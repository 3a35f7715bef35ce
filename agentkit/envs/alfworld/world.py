"""What an ALFWorld game is, apart from its text: a static `World`, a small immutable `State`, and a parsed `Goal`.

Sets of objects and of receptacles are bitmasks (Python ints): bit `i` stands for index `i`. Objects, receptacles and
locations are numbered in the order of their PDDL identifiers, which is also the order in which the game lists them.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import attrs

TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)


class GameFileError(ValueError):
    """A game file is damaged, or states something impossible. The message names the file."""


def bits(mask: int) -> Iterator[int]:
    """The indices in a bitmask, in increasing order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@attrs.frozen
class Goal:
    """The task of a game, from its PDDL goal.

    Types are lower-case without the suffix "type" ("alarmclock"); a field that the task does not use is None.
    """

    task_type: str = attrs.field(validator=attrs.validators.in_(TASK_TYPES))
    object_type: str
    receptacle_type: str | None = None
    light_type: str | None = None
    count: int = attrs.field(default=1, validator=attrs.validators.in_((1, 2)))
    change: str | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.in_(("clean", "heat", "cool")))
    )
    sliced: bool = False


class State(NamedTuple):
    """Everything that can change in a game. Immutable, hashable and picklable: a snapshot is the state itself.

    An object can stand in two receptacles at once (real games put things in a sink and its basin), so the state keeps
    the contents of each receptacle. `objects_at`, `taken_from` and `on` never decide which actions are possible,
    except that slicing looks at `objects_at`; `taken_from` only shows in what `look` prints.
    """

    location: int  # index of the agent's location
    held: int  # index of the object in hand, -1 = none
    contents: tuple[int, ...]  # per receptacle: mask of the objects in it
    opened: int  # mask of receptacles
    clean: int  # masks of objects
    hot: int
    cool: int
    toggled: int  # has been used at least once; what the goal asks for
    on: int  # lit at this moment; `use` switches it back and forth
    sliced: int
    objects_at: tuple[int, ...]  # per location: mask of the objects standing there
    taken_from: tuple[int, ...]  # per receptacle: mask of objects taken out of it and not put back into it since

    def receptacles_of(self, obj: int) -> tuple[int, ...]:
        """Indices of the receptacles that an object is in; () for none."""
        return tuple(r for r, mask in enumerate(self.contents) if mask >> obj & 1)

    def receptacle_of(self, obj: int) -> int:
        """Index of the first receptacle that an object is in; -1 for none (loose, or only in hand)."""
        return next((r for r, mask in enumerate(self.contents) if mask >> obj & 1), -1)

    def planning_key(self) -> tuple:
        """A hashable key of what future actions and the goal depend on; it leaves out what only `look` prints."""
        return self[:8] + self[9:11]


@attrs.frozen(slots=False, eq=False)
class World:
    """The static part of one game, shared by all its live environments.

    Compared by identity: one file's content is compiled once.
    """

    source: str  # the game file's name, for messages
    fingerprint: str  # a digest of the game's content
    goal: Goal
    has_help: bool  # whether `help` is an action
    task: str  # the game's sentence: "Your task is to: put some mug in shelf."

    object_ids: tuple[str, ...]  # PDDL identifiers, sorted
    object_names: tuple[str, ...]  # "apple 1"
    object_types: tuple[str, ...]  # "apple"
    receptacle_ids: tuple[str, ...]
    receptacle_names: tuple[str, ...]  # "fridge 1"
    receptacle_types: tuple[str, ...]  # "fridge"
    location_names: tuple[str, ...]  # "loc 7"
    location_of: tuple[int, ...]  # per receptacle: its location, -1 = it has none
    receptacles_at: tuple[tuple[int, ...], ...]  # per location

    openable: int  # mask of receptacles
    pickupable: int  # masks of objects
    cleanable: int
    heatable: int
    coolable: int
    toggleable: int
    sliceable: int
    knives: int  # objects that can slice
    accepts: tuple[int, ...]  # per receptacle: mask of the objects that may be put into it
    cleaners: int  # masks of the receptacles where things are cleaned, heated, cooled
    heaters: int
    coolers: int
    vessels: int  # objects described by what is inside them (bowls, pots)
    vessel_contents: tuple[int, ...]  # per object: mask of the objects inside it (it never changes)
    initial: State

    def objects_of_type(self, object_type: str) -> int:
        """Mask of the objects of a type."""
        return sum(1 << i for i, t in enumerate(self.object_types) if t == object_type)

    def receptacles_of_type(self, receptacle_type: str) -> int:
        """Mask of the receptacles of a type."""
        return sum(1 << i for i, t in enumerate(self.receptacle_types) if t == receptacle_type)

    @cached_property
    def target_objects(self) -> int:
        """Mask of the objects that can serve the goal: right type, and able to take the change it asks for."""
        able = {None: -1, "clean": self.cleanable, "heat": self.heatable, "cool": self.coolable}[self.goal.change]
        if self.goal.sliced:
            able &= self.sliceable
        return self.objects_of_type(self.goal.object_type) & able

    @cached_property
    def target_receptacles(self) -> tuple[int, ...]:
        """Indices of the receptacles of the goal's type; () for a task that places nothing."""
        return tuple(r for r, t in enumerate(self.receptacle_types) if t == self.goal.receptacle_type)

    @cached_property
    def target_lights(self) -> int:
        """Mask of the lamps that can serve the goal."""
        return self.objects_of_type(self.goal.light_type) & self.toggleable if self.goal.light_type else 0

    def ready_objects(self, state: State) -> int:
        """Mask of the target objects that have the change (and the slicing) that the goal asks for."""
        change = self.goal.change
        ready = self.target_objects
        if change is not None:
            ready &= state.clean if change == "clean" else state.hot if change == "heat" else state.cool
        return ready & state.sliced if self.goal.sliced else ready

    def is_won(self, state: State) -> bool:
        """Whether the goal holds in a state."""
        ready = self.ready_objects(state)
        if self.goal.light_type is not None:
            if state.held < 0 or not ready >> state.held & 1:
                return False
            lit = self.target_lights & state.toggled
            return any(state.contents[r] & lit for r in self.receptacles_at[state.location])
        if self.goal.count == 2:
            return any((state.contents[r] & ready).bit_count() >= 2 for r in self.target_receptacles)
        return any(state.contents[r] & ready for r in self.target_receptacles)

    def visible_objects(self, state: State) -> int:
        """Mask of the objects that the agent can see where it stands: in receptacles that are open or cannot close."""
        closed = self.openable & ~state.opened
        mask = 0
        for r in self.receptacles_at[state.location]:
            if not closed >> r & 1:
                mask |= state.contents[r]
        return mask
