"""Which PDDL domains the fast engine knows, and what differs between them.

A domain is compared action by action after parsing, so comments, spacing and the order of conjuncts do not count.
Four things may vary: whether there is a `help` action, which receptacles clean, heat and cool, and what slices.
"""

from functools import lru_cache

import attrs

from agentkit.envs.alfworld.fast.errors import UnsupportedGame
from agentkit.envs.alfworld.fast.expressions import Expression, parse_expression, parse_typed_list

TYPES = frozenset({"agent", "location", "receptacle", "object", "rtype", "otype"})
_SECTIONS = frozenset({":requirements", ":types", ":predicates", ":functions", ":action"})

# `examineobject` looks as if it offered every object in sight, but the comma makes "location," a type that nothing
# has: only the object in hand can be examined. The engine's rules rely on it, so a domain without the comma is unknown.
KNOWN_ACTIONS = """(
(look (?a - agent ?l - location) (atlocation ?a ?l) (checked ?l))
(inventory (?a - agent) () (checked ?a))
(help (?a - agent) () (checked ?a))
(examinereceptacle (?a - agent ?r - receptacle)
  (exists (?l - location) (and (atlocation ?a ?l) (receptacleatlocation ?r ?l)))
  (checked ?r))
(examineobject (?a - agent ?o - object)
  (or (exists (?l - location, ?r - receptacle)
        (and (atlocation ?a ?l) (receptacleatlocation ?r ?l) (inreceptacle ?o ?r)
             (or (not (openable ?r)) (opened ?r))))
      (holds ?a ?o))
  (checked ?o))
(gotolocation (?a - agent ?lstart - location ?lend - location ?r - receptacle)
  (and (atlocation ?a ?lstart) (receptacleatlocation ?r ?lend))
  (and (not (atlocation ?a ?lstart)) (atlocation ?a ?lend)))
(openobject (?a - agent ?l - location ?r - receptacle)
  (and (openable ?r) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (not (opened ?r)))
  (and (opened ?r) (checked ?r)))
(closeobject (?a - agent ?l - location ?r - receptacle)
  (and (openable ?r) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (opened ?r))
  (not (opened ?r)))
(pickupobject (?a - agent ?l - location ?o - object ?r - receptacle)
  (and (pickupable ?o) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (inreceptacle ?o ?r) (not (holdsany ?a))
       (or (not (openable ?r)) (opened ?r)))
  (and (not (inreceptacle ?o ?r)) (holds ?a ?o) (holdsany ?a) (not (objectatlocation ?o ?l))))
(putobject (?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype)
  (and (holds ?a ?o) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (or (not (openable ?r)) (opened ?r))
       (objecttype ?o ?ot) (receptacletype ?r ?rt) (cancontain ?rt ?ot))
  (and (inreceptacle ?o ?r) (objectatlocation ?o ?l) (not (holds ?a ?o)) (not (holdsany ?a))))
(cleanobject (?a - agent ?l - location ?r - receptacle ?o - object)
  (and (cleanable ?o) (of-types receptacletype ?r) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (holds ?a ?o))
  (isclean ?o))
(heatobject (?a - agent ?l - location ?r - receptacle ?o - object)
  (and (heatable ?o) (of-types receptacletype ?r) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (holds ?a ?o))
  (and (ishot ?o) (not (iscool ?o))))
(coolobject (?a - agent ?l - location ?r - receptacle ?o - object)
  (and (coolable ?o) (of-types receptacletype ?r) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (holds ?a ?o))
  (and (iscool ?o) (not (ishot ?o))))
(toggleobject (?a - agent ?l - location ?o - object ?r - receptacle)
  (and (toggleable ?o) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (inreceptacle ?o ?r))
  (and (when (ison ?o) (not (ison ?o))) (when (not (ison ?o)) (ison ?o)) (istoggled ?o)))
(sliceobject (?a - agent ?l - location ?co - object ?ko - object)
  (and (sliceable ?co) (of-types objecttype ?ko) (atlocation ?a ?l) (objectatlocation ?co ?l) (holds ?a ?ko))
  (issliced ?co))
)"""


@attrs.frozen
class Domain:
    """What a known domain leaves open. Types are spelt as in the domain, in lower case ("sinkbasintype")."""

    actions: frozenset[str]
    cleaner_types: frozenset[str]
    heater_types: frozenset[str]
    cooler_types: frozenset[str]
    knife_types: frozenset[str]


@lru_cache(maxsize=32)
def recognise_domain(text: str) -> Domain:
    """Compare a PDDL domain with the known one.

    Raises:
        UnsupportedGame: it differs in more than the four things that may vary; the message names the first difference.
    """
    try:
        sections = parse_expression(text)[2:]
    except ValueError as error:
        raise UnsupportedGame(f"the domain cannot be parsed: {error}") from error
    _check_sections(sections)
    found: dict[str, Expression] = {}
    kinds: dict[str, frozenset[str]] = {}
    for section in sections:
        if section[0] == ":action":
            name = section[1]
            parts = dict(zip(section[2::2], section[3::2], strict=False))
            precondition, kinds[name] = _extract_types(_normalise(parts.get(":precondition", [])))
            found[name] = (parts.get(":parameters"), precondition, _normalise(parts.get(":effect", [])))
    known = _known_actions()
    for name in sorted(known.keys() | found.keys()):
        if found.get(name) != known.get(name) and not (name == "help" and name not in found):
            raise UnsupportedGame(f"the domain's action {name!r} is not the known one")
    stations = (kinds[name] for name in ("cleanobject", "heatobject", "coolobject", "sliceobject"))
    return Domain(frozenset(found), *stations)


def _check_sections(sections: list[Expression]) -> None:
    for section in sections:
        if section[0] not in _SECTIONS:
            raise UnsupportedGame(f"the domain has a section {section[0]!r}")
        if section[0] == ":types" and set(section[1:]) != TYPES:
            raise UnsupportedGame(f"the domain's types are {section[1:]}")


@lru_cache(maxsize=1)
def _known_actions() -> dict[str, Expression]:
    return {
        name: (parameters, _normalise(precondition), _normalise(effect))
        for name, parameters, precondition, effect in parse_expression(KNOWN_ACTIONS)
    }


def _normalise(expression: Expression) -> Expression:
    """Drop action costs, drop conjunctions and disjunctions of one, and sort the parts of the others."""
    if not isinstance(expression, list) or not expression:
        return expression
    parts = [_normalise(part) for part in expression if not (isinstance(part, list) and part[:1] == ["increase"])]
    if parts[0] in ("and", "or"):
        return parts[1] if len(parts) == 2 else [parts[0], *sorted(parts[1:], key=str)]
    return parts


def _extract_types(precondition: Expression) -> tuple[Expression, frozenset[str]]:
    """Replace "is of one of these types" by `(of-types predicate variable)`, and return the types."""
    kinds: frozenset[str] = frozenset()
    if not isinstance(precondition, list) or precondition[:1] != ["and"]:
        return precondition, kinds
    parts = []
    for part in precondition[1:]:
        choices = part[1:] if part[0] == "or" else [part]
        heads = {tuple(choice[:2]) for choice in choices if _is_type_test(choice)}
        if len(heads) == 1 and all(map(_is_type_test, choices)):
            kinds = frozenset(choice[2] for choice in choices)
            part = ["of-types", *next(iter(heads))]
        parts.append(part)
    return ["and", *sorted(parts, key=str)], kinds


def _is_type_test(expression: Expression) -> bool:
    """Whether it is `(receptacletype ?r constant)` or `(objecttype ?o constant)`."""
    return (
        isinstance(expression, list)
        and len(expression) == 3
        and expression[0] in ("receptacletype", "objecttype")
        and all(isinstance(part, str) for part in expression)
        and expression[2][0] != "?"
    )


def type_name(pddl_type: str) -> str:
    """The plain name of a PDDL type constant.

    >>> type_name("sinkbasintype")
    'sinkbasin'
    """
    return pddl_type.removesuffix("type")


def typed_objects(tokens: list[str]) -> dict[str, str]:
    """The declared objects of a problem, each with its type.

    Raises:
        UnsupportedGame: a type is not one of the domain's, or an object is declared twice.
        ValueError: an object has no type.
    """
    pairs = parse_typed_list(tokens)
    objects = dict(pairs)
    if unknown := set(objects.values()) - TYPES:
        raise UnsupportedGame(f"the problem has objects of type {min(unknown)!r}")
    if len(objects) != len(pairs):
        raise UnsupportedGame("the problem declares an object twice")
    return objects
