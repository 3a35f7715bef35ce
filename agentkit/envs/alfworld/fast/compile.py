"""A parsed problem as a `World`."""

from collections import Counter
from collections.abc import Iterable

from agentkit.envs.alfworld.fast.domain import Domain, type_name
from agentkit.envs.alfworld.fast.errors import UnsupportedGame
from agentkit.envs.alfworld.fast.goal import parse_goal
from agentkit.envs.alfworld.fast.problem import Problem
from agentkit.envs.alfworld.world import GameFileError, State, World

_ABILITIES = ("pickupable", "cleanable", "heatable", "coolable", "toggleable", "sliceable")
_MANGLED = {"_bar_": "|", "_minus_": "-", "_plus_": "+", "_dot_": ".", "_comma_": ","}


def display_names(identifiers: Iterable[str]) -> dict[str, str]:
    """Names as ALFWorld's `Demangler` gives them (without shuffling): `apple_bar_...` -> "apple 2".

    Things of one kind are numbered downwards in the order of their identifiers; a name with nothing to tell it apart
    ("apple") gets no number, and keeps the blank before it.
    """
    ordered = sorted(identifiers)
    kinds = {i: i.split("_bar_", 1)[0] + ("basin" if "basin" in i else "") for i in ordered if "_bar_" in i}
    left = Counter(kinds.values())
    names: dict[str, str] = {}
    for identifier in ordered:
        kind = kinds.get(identifier)
        if kind is None:
            plain = identifier
            for mangled, sign in _MANGLED.items():
                plain = plain.replace(mangled, sign)
            names[identifier] = f"{plain} "
        else:
            names[identifier] = f"{kind} {left[kind]}"
            left[kind] -= 1
    return names


class _Facts:
    """A problem's initial facts, with names turned into indices."""

    def __init__(self, problem: Problem, source: str) -> None:
        self._facts = problem.facts
        self._source = source
        entities = sorted(problem.entities)
        self.ids = {
            kind: tuple(e for e in entities if problem.types[e] == kind)
            for kind in ("agent", "object", "receptacle", "location")
        }
        self._index = {kind: {name: i for i, name in enumerate(names)} for kind, names in self.ids.items()}
        self.names = display_names(entities)

    def index(self, name: str, kind: str) -> int:
        """Raises: GameFileError, when `name` is not of that type."""
        try:
            return self._index[kind][name]
        except KeyError:
            message = f"{self._source}: the PDDL problem uses {name!r} as {kind}, but declares it as something else"
            raise GameFileError(message) from None

    def mask(self, predicate: str, kind: str = "object") -> int:
        """The things that a one-place predicate holds of."""
        mask = 0
        for arguments in self.rows(predicate, 1):
            mask |= 1 << self.index(arguments[0], kind)
        return mask

    def pairs(self, predicate: str, first: str, second: str) -> list[tuple[int, int]]:
        """The pairs that a two-place predicate holds of, without repetitions."""
        rows = dict.fromkeys(self.rows(predicate, 2))
        return [(self.index(a, first), self.index(b, second)) for a, b in rows]

    def masks(self, predicate: str, first: str, second: str) -> tuple[int, ...]:
        """Per thing of the second kind: the things of the first that a two-place predicate relates to it."""
        masks = [0] * len(self.ids[second])
        for one, other in self.pairs(predicate, first, second):
            masks[other] |= 1 << one
        return tuple(masks)

    def rows(self, predicate: str, arity: int) -> list[tuple[str, ...]]:
        rows = self._facts.get(predicate, [])
        if any(len(row) != arity for row in rows):
            raise GameFileError(f"{self._source}: the PDDL problem states {predicate!r} of the wrong number of things")
        return rows

    def kinds(self, predicate: str, kind: str) -> tuple[str, ...]:
        """Per thing its only type constant; "" for none."""
        found: dict[str, str] = {}
        for name, constant in self.rows(predicate, 2):
            self.index(name, kind)
            if found.setdefault(name, constant) != constant:
                raise UnsupportedGame(f"{name!r} has two types, {found[name]!r} and {constant!r}")
        return tuple(found.get(name, "") for name in self.ids[kind])


def compile_world(problem: Problem, domain: Domain, task: str, source: str, fingerprint: str) -> World:
    """Turn names into indices and facts into masks.

    Raises:
        GameFileError: the problem contradicts itself, or its goal is not a task; the message names `source`.
        UnsupportedGame: the problem holds something that no ALFWorld game does.
    """
    if list(problem.types.values()).count("agent") != 1:
        raise UnsupportedGame("the problem does not have exactly one agent")
    facts = _Facts(problem, source)
    object_types = facts.kinds("objecttype", "object")
    receptacle_types = facts.kinds("receptacletype", "receptacle")
    locations = _locations(facts)
    at = [tuple(r for r, where in enumerate(locations) if where == i) for i in range(len(facts.ids["location"]))]
    world = World(
        source=source,
        fingerprint=fingerprint,
        goal=parse_goal(problem.goal, source),
        has_help="help" in domain.actions,
        task=task,
        object_ids=facts.ids["object"],
        object_names=tuple(facts.names[i] for i in facts.ids["object"]),
        object_types=tuple(map(type_name, object_types)),
        receptacle_ids=facts.ids["receptacle"],
        receptacle_names=tuple(facts.names[i] for i in facts.ids["receptacle"]),
        receptacle_types=tuple(map(type_name, receptacle_types)),
        location_names=tuple(facts.names[i] for i in facts.ids["location"]),
        location_of=locations,
        receptacles_at=tuple(at),
        openable=facts.mask("openable", "receptacle"),
        **{predicate: facts.mask(predicate) for predicate in _ABILITIES},
        knives=_of_types(object_types, domain.knife_types),
        accepts=_accepts(facts, object_types, receptacle_types),
        cleaners=_of_types(receptacle_types, domain.cleaner_types),
        heaters=_of_types(receptacle_types, domain.heater_types),
        coolers=_of_types(receptacle_types, domain.cooler_types),
        vessels=facts.mask("isreceptacleobject"),
        vessel_contents=facts.masks("inreceptacleobject", "object", "object"),
        initial=_initial_state(facts),
    )
    _check_names(world)
    return world


def _initial_state(facts: _Facts) -> State:
    held = facts.pairs("holds", "agent", "object")
    start = facts.pairs("atlocation", "agent", "location")
    if len(start) != 1 or len(held) > 1 or len(held) != len(facts.rows("holdsany", 1)):
        raise UnsupportedGame("the agent does not start at one place with at most one object in hand")
    return State(
        location=start[0][1],
        held=held[0][1] if held else -1,
        contents=facts.masks("inreceptacle", "object", "receptacle"),
        opened=facts.mask("opened", "receptacle"),
        clean=facts.mask("isclean"),
        hot=facts.mask("ishot"),
        cool=facts.mask("iscool"),
        toggled=facts.mask("istoggled"),
        on=facts.mask("ison"),
        sliced=facts.mask("issliced"),
        objects_at=facts.masks("objectatlocation", "object", "location"),
        taken_from=(0,) * len(facts.ids["receptacle"]),
    )


def _locations(facts: _Facts) -> tuple[int, ...]:
    found: dict[int, int] = {}
    for receptacle, location in facts.pairs("receptacleatlocation", "receptacle", "location"):
        if found.setdefault(receptacle, location) != location:
            raise UnsupportedGame(f"{facts.ids['receptacle'][receptacle]!r} stands in two places")
    return tuple(found.get(r, -1) for r in range(len(facts.ids["receptacle"])))


def _accepts(facts: _Facts, object_types: tuple[str, ...], receptacle_types: tuple[str, ...]) -> tuple[int, ...]:
    allowed: dict[str, set[str]] = {}
    for receptacle_type, object_type in facts.rows("cancontain", 2):
        allowed.setdefault(receptacle_type, set()).add(object_type)
    return tuple(_of_types(object_types, allowed.get(kind, ())) for kind in receptacle_types)


def _of_types(types: tuple[str, ...], wanted: Iterable[str]) -> int:
    wanted = frozenset(wanted) - {""}
    return sum(1 << i for i, kind in enumerate(types) if kind in wanted)


def _check_names(world: World) -> None:
    names = world.object_names + world.receptacle_names
    if len(set(names)) < len(names):
        raise UnsupportedGame("two things have the same name")
