"""A PDDL goal as a `Goal`. The known goals are ALFRED's seven templates less the one with a movable receptacle."""

from agentkit.envs.alfworld.fast.domain import type_name
from agentkit.envs.alfworld.fast.expressions import Expression, parse_typed_list
from agentkit.envs.alfworld.world import TASK_TYPES, GameFileError, Goal

Atom = tuple[str, ...]

_CHANGES = {"clean": ("cleanable", "isclean"), "heat": ("heatable", "ishot"), "cool": ("coolable", "iscool")}
_LETTERS = {"object": "o", "receptacle": "r", "agent": "a", "location": "l"}


def parse_goal(expression: Expression, source: str) -> Goal:
    """Recognise the goal of one of the six task types, sliced or not.

    Raises:
        GameFileError: it is none of them; the message names `source`.
    """
    try:
        parts = expression[1:] if expression[0] == "and" else [expression]
        groups = [_atoms(part) for part in parts]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise GameFileError(f"{source}: the PDDL goal cannot be parsed ({error!r})") from error
    for goal in _candidates(groups):
        if sorted(map(sorted, _templates(goal))) == sorted(map(sorted, groups)):
            return goal
    raise GameFileError(f"{source}: the PDDL goal is none of {', '.join(TASK_TYPES)}")


def _atoms(expression: Expression) -> set[Atom]:
    """The literals under nested `exists` and `and`, with variables renamed by type and order: ?o -> o1, ?r -> r1."""
    atoms: set[Atom] = set()
    names: dict[str, str] = {}

    def walk(node: Expression) -> None:
        if node[0] == "and":
            for part in node[1:]:
                walk(part)
        elif node[0] == "exists":
            for variable, kind in parse_typed_list(node[1]):
                letter = _LETTERS[kind]
                names[variable] = letter + str(1 + sum(name[0] == letter for name in names.values()))
            walk(node[2])
        elif node[0] == "not":
            predicate, *arguments = node[1]
            atoms.add(("not " + predicate, *sorted(map(names.__getitem__, arguments))))
        else:
            atoms.add((node[0], *[names[x] if x[0] == "?" else x for x in node[1:]]))

    walk(expression)
    return atoms


def _candidates(groups: list[set[Atom]]) -> list[Goal]:
    """Goals of every task type, with the types that the atoms mention: at most one of them can match."""
    atoms = set().union(*groups)
    sliced = any(atom[0] == "issliced" for atom in atoms)
    receptacle = next((type_name(atom[-1]) for atom in atoms if atom[0] == "receptacletype"), None)
    light_groups = [group for group in groups if ("istoggled", "o1") in group]
    light = next((type_name(a[-1]) for group in light_groups for a in group if a[0] == "objecttype"), None)
    others = set().union(*(group for group in groups if group not in light_groups))
    target = next((type_name(atom[-1]) for atom in others if atom[0] == "objecttype"), None)
    if target is None:
        return []
    if light is not None:
        return [Goal("look_at_obj_in_light", target, light_type=light, sliced=sliced)]
    changes = ("clean", "heat", "cool")
    return [
        Goal("pick_and_place_simple", target, receptacle, sliced=sliced),
        Goal("pick_two_obj_and_place", target, receptacle, count=2, sliced=sliced),
        *(Goal(f"pick_{c}_then_place_in_recep", target, receptacle, change=c, sliced=sliced) for c in changes),
    ]


def _templates(goal: Goal) -> list[set[Atom]]:
    """The atoms of a goal, one set for each of its top-level conjuncts."""
    target = f"{goal.object_type}type"
    if goal.light_type is not None:
        lamp: set[Atom] = {
            ("objecttype", "o1", f"{goal.light_type}type"),
            ("toggleable", "o1"),
            ("istoggled", "o1"),
            ("receptacleatlocation", "r1", "l1"),
            ("atlocation", "a1", "l1"),
            ("inreceptacle", "o1", "r1"),
        }
        return [lamp, {("objecttype", "o1", target), ("holds", "a1", "o1"), *_sliced(goal, "o1")}]
    atoms: set[Atom] = {("receptacletype", "r1", f"{goal.receptacle_type}type")}
    for obj in ("o1", "o2")[: goal.count]:
        atoms |= {("objecttype", obj, target), ("inreceptacle", obj, "r1"), *_sliced(goal, obj)}
        if goal.change is not None:
            atoms |= {(predicate, obj) for predicate in _CHANGES[goal.change]}
    if goal.count == 2:
        atoms.add(("not =", "o1", "o2"))
    return [atoms]


def _sliced(goal: Goal, obj: str) -> set[Atom]:
    return {("sliceable", obj), ("issliced", obj)} if goal.sliced else set()
