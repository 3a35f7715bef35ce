"""A small hand-made game with everything unusual in it, in a wording of its own.

Two receptacles share a place; a mug stands in a sink and its basin at once; there are twelve apples; a lamp sits in a
closed drawer; the agent starts in front of a table; one apple is cold from the start; a bowl holds a key.
"""

import json

from agentkit.envs.alfworld.fast.domain import KNOWN_ACTIONS
from agentkit.envs.alfworld.fast.expressions import parse_expression

_TYPES = {
    "cleanobject": "(or (receptacleType ?r SinkType) (receptacleType ?r SinkBasinType))",
    "heatobject": "(or (receptacleType ?r MicrowaveType))",
    "coolobject": "(or (receptacleType ?r FridgeType))",
    "sliceobject": "(or (objectType ?ko KnifeType) (objectType ?ko ButterKnifeType))",
}

_FACTS = """
(receptacleType table_bar_1 TableType) (receptacleAtLocation table_bar_1 loc_bar_1)
(receptacleType drawer_bar_1 DrawerType) (receptacleAtLocation drawer_bar_1 loc_bar_1) (openable drawer_bar_1)
(receptacleType sink_bar_1 SinkType) (receptacleAtLocation sink_bar_1 loc_bar_2)
(receptacleType sink_bar_1_bar_sinkbasin SinkBasinType) (receptacleAtLocation sink_bar_1_bar_sinkbasin loc_bar_2)
(receptacleType fridge_bar_1 FridgeType) (receptacleAtLocation fridge_bar_1 loc_bar_3) (openable fridge_bar_1)
(receptacleType microwave_bar_1 MicrowaveType) (receptacleAtLocation microwave_bar_1 loc_bar_4)
(openable microwave_bar_1) (receptacleType shelf_bar_1 ShelfType) (receptacleAtLocation shelf_bar_1 loc_bar_5)
(canContain TableType AppleType) (canContain TableType KnifeType) (canContain TableType MugType)
(canContain FridgeType AppleType) (canContain FridgeType MugType) (canContain SinkBasinType MugType)
(canContain SinkBasinType AppleType) (canContain SinkType MugType) (canContain MicrowaveType MugType)
(canContain ShelfType MugType) (canContain ShelfType AppleType) (canContain DrawerType KnifeType)
(objectType mug_bar_1 MugType) (pickupable mug_bar_1) (cleanable mug_bar_1) (heatable mug_bar_1) (coolable mug_bar_1)
(inReceptacle mug_bar_1 sink_bar_1) (inReceptacle mug_bar_1 sink_bar_1_bar_sinkbasin)
(objectAtLocation mug_bar_1 loc_bar_2)
(objectType knife_bar_1 KnifeType) (pickupable knife_bar_1) (inReceptacle knife_bar_1 table_bar_1)
(objectAtLocation knife_bar_1 loc_bar_1)
(objectType desklamp_bar_1 DeskLampType) (toggleable desklamp_bar_1) (inReceptacle desklamp_bar_1 drawer_bar_1)
(objectAtLocation desklamp_bar_1 loc_bar_1)
(objectType bowl_bar_1 BowlType) (pickupable bowl_bar_1) (isReceptacleObject bowl_bar_1) (cleanable bowl_bar_1)
(inReceptacle bowl_bar_1 shelf_bar_1) (objectAtLocation bowl_bar_1 loc_bar_5) (canContain ShelfType BowlType)
(objectType keychain_bar_1 KeyChainType) (pickupable keychain_bar_1) (inReceptacleObject keychain_bar_1 bowl_bar_1)
(inReceptacle keychain_bar_1 shelf_bar_1) (objectAtLocation keychain_bar_1 loc_bar_5)
(isCool apple_bar_05) (atLocation agent1 loc_bar_1)
"""
_APPLES = "".join(
    f"(objectType apple_bar_{i:02} AppleType) (pickupable apple_bar_{i:02}) (sliceable apple_bar_{i:02})"
    f" (heatable apple_bar_{i:02}) (coolable apple_bar_{i:02}) (cleanable apple_bar_{i:02})"
    f" (inReceptacle apple_bar_{i:02} {'fridge_bar_1' if i % 2 else 'table_bar_1'})"
    f" (objectAtLocation apple_bar_{i:02} {'loc_bar_3' if i % 2 else 'loc_bar_1'})\n"
    for i in range(1, 13)
)

_KINDS = {
    "object": "mug_bar_1 knife_bar_1 desklamp_bar_1 bowl_bar_1 keychain_bar_1 unused",
    "receptacle": "table_bar_1 drawer_bar_1 sink_bar_1 sink_bar_1_bar_sinkbasin fridge_bar_1 microwave_bar_1"
    " shelf_bar_1",
    "location": " ".join(f"loc_bar_{i}" for i in range(1, 6)),
    "rtype": "TableType DrawerType SinkType SinkBasinType FridgeType MicrowaveType ShelfType",
    "otype": "AppleType KnifeType MugType DeskLampType BowlType KeyChainType",
    "agent": "agent1",
}

_PROPERTIES = (
    *("isClean", "cleanable", "isHot", "heatable", "isCool", "coolable", "pickupable"),
    *("toggleable", "isOn", "isToggled", "sliceable", "isSliced"),
)

HEAT_GOAL = """(and (exists (?r - receptacle) (exists (?o - object) (and (heatable ?o) (objectType ?o MugType)
  (receptacleType ?r ShelfType) (isHot ?o) (inReceptacle ?o ?r)))))"""

WALKTHROUGH = (
    "walk to sinkbasin 1",
    "pull mug 1 out of sinkbasin 1",
    "walk to microwave 1",
    "heat mug 1 with microwave 1",
    "walk to shelf 1",
    "drop mug 1 on shelf 1",
)


def small_domain(with_help: bool = True) -> str:
    """The domain, spelt as PDDL."""
    actions = ""
    for name, parameters, precondition, effect in parse_expression(KNOWN_ACTIONS):
        if name != "help" or with_help:
            spelt = _spell(precondition).replace("(of-types receptacletype ?r)", _TYPES.get(name, ""))
            spelt = spelt.replace("(of-types objecttype ?ko)", _TYPES.get(name, ""))
            actions += f"\n(:action {name} :parameters {_spell(parameters)} :precondition {spelt}"
            actions += f" :effect (and {_spell(effect)} (increase (total-cost) 1)))"
    predicates = (
        "(atLocation ?a - agent ?l - location) (receptacleAtLocation ?r - receptacle ?l - location)"
        "(objectAtLocation ?o - object ?l - location) (openable ?r - receptacle) (opened ?r - receptacle)"
        "(inReceptacle ?o - object ?r - receptacle) (isReceptacleObject ?o - object)"
        "(inReceptacleObject ?i - object ?o - object) (checked ?r - receptacle)"
        "(receptacleType ?r - receptacle ?t - rtype) (canContain ?rt - rtype ?ot - otype)"
        "(objectType ?o - object ?t - otype) (holds ?a - agent ?o - object) (holdsAny ?a - agent)"
        + "".join(f"({name} ?o - object)" for name in _PROPERTIES)
    )
    return (
        "(define (domain alfred) ; a comment\n(:requirements :adl :action-costs :typing)"
        "(:types agent location receptacle object rtype otype)"
        f"(:predicates {predicates})(:functions (distance ?from ?to) (total-cost) - number){actions})"
    )


def _spell(expression: object) -> str:
    return f"({' '.join(map(_spell, expression))})" if isinstance(expression, list) else str(expression)


def small_problem(goal: str = HEAT_GOAL, facts: str = "") -> str:
    """The problem, with another goal or with more facts."""
    apples = " ".join(f"apple_bar_{i:02}" for i in range(1, 13))
    objects = "\n".join(f"{names} - {kind}" for kind, names in _KINDS.items()) + f"\n{apples} - object"
    return (
        f"(define (problem small) (:domain alfred) (:objects {objects})\n"
        f"(:init (= (total-cost) 0) (= (distance loc_bar_1 loc_bar_2) 7) {_FACTS} {_APPLES} {facts})\n(:goal {goal}))"
    )


_LIST = "{o.indefinite + ' ' + o.name | %s}"
_HERE = "atlocation(a:agent, l:location) & receptacleatlocation(r:receptacle, l:location)"
_FLOOR = (
    "atlocation(a:agent, l:location) & objectatlocation(o:object, l:location) & "
    "receptacleatlocation(r:receptacle, l:location) & not_inreceptacle(o:object, r:receptacle)"
)


def small_rules() -> dict[str, list[dict[str, str]]]:
    """The production rules of the grammar."""
    inside = f"[{_LIST % 'inreceptacle(o:object, r:receptacle)'}]"
    adjectives = {
        "isclean(o:object) & ishot(o:object) & issliced(o:object)": "hot clean sliced",
        "isclean(o:object) & iscool(o:object) & issliced(o:object)": "cool clean sliced",
        "isclean(o:object) & issliced(o:object)": "clean sliced",
        "ishot(o:object) & issliced(o:object)": "hot sliced",
        "iscool(o:object) & issliced(o:object)": "cool sliced",
        "isclean(o:object) & ishot(o:object)": "hot clean",
        "isclean(o:object) & iscool(o:object)": "cool clean",
        "ishot(o:object)": "hot",
        "isclean(o:object)": "clean",
        "iscool(o:object)": "cold",
        "toggleable(o:object) & istoggled(o:object)": "lit",
        "toggleable(o:object) & not_istoggled(o:object)": "unlit",
        "sliceable(o:object) & issliced(o:object)": "sliced",
        "": "plain",
    }
    vessel = "{o.name} holding [{o2.indefinite + ' ' + o2.name | inreceptacleobject(o2:object, o:object)}]"
    here = "receptacleatlocation(r:receptacle, l:location)"
    return {
        "intro": [{"rhs": "  A small game.\n\n#look.feedback#\n\n#task#"}],
        "task": [{"rhs": "Your task is to: put a hot mug in shelf."}],
        "GotoLocation.feedback": [{"rhs": "At {lend.name}: {r.name}. #examineReceptacle.feedback#"}],
        "OpenObject.feedback": [{"rhs": "Open: {r.name}. #examineReceptacle.feedback#"}],
        "examineReceptacle.feedback": [
            {"condition": "openable(r:receptacle) & opened(r:receptacle)", "rhs": f"In the open {{r.name}}: {inside}."},
            {"condition": "openable(r:receptacle)", "rhs": "{r.name} is shut."},
            {"rhs": f"On {{r.name}}: {inside}."},
        ],
        "inventory.feedback": [
            {"condition": "holdsany(a:agent)", "rhs": f"In hand: [{_LIST % 'holds(a:agent, o:object)'}]."},
            {"rhs": "Empty-handed."},
        ],
        "examineObject.feedback": [
            {"condition": "isreceptacleobject(o:object)", "rhs": vessel},
            *({"condition": condition, "rhs": f"{word} {{o.name}}."} for condition, word in adjectives.items()),
        ],
        "look.feedback": [
            {"condition": _HERE, "rhs": "#look-variations#, beside #list_objects_on_the_floor#."},
            {"rhs": "In the middle of #list_appliances#."},
        ],
        "look-variations": [{"rhs": f"Before [{{r.name | {_HERE}}}]"}],
        "list_objects_on_the_floor": [
            {"condition": _FLOOR, "rhs": f"[{{#overview(o)# | {_FLOOR}}}]"},
            {"rhs": "no thing"},
        ],
        "list_appliances": [{"condition": here, "rhs": f"[{{#overview(r)# | {here}}}]"}, {"rhs": "nowhere"}],
        "overview(o)": [{"rhs": "{o.indefinite} {o.name}"}],
        "overview(r)": [{"rhs": "{r.indefinite} {r.name or r.id}"}],
        "list_empty": [{"rhs": "no object"}],
        "list_separator": [{"rhs": " - "}],
        "list_last_separator": [{"rhs": " & "}],
        "toggle": [
            {"condition": "toggleable(o:object) & istoggled(o:object)", "rhs": "{o.name} goes on."},
            {"condition": "toggleable(o:object)", "rhs": "{o.name} goes off."},
            {"rhs": "{o.name} has no switch."},
        ],
        "CloseObject.feedback": [{"rhs": "Shut: {r.name}."}],
        "PickupObject.feedback": [{"rhs": "{o.name} leaves {r.name}."}],
        "PutObject.feedback": [{"rhs": "{o.name} goes to {r.name}."}],
        "clean": [{"rhs": "{r.name} cleans {o.name}."}],
        "heat": [{"rhs": "{r.name} heats {o.name}."}],
        "cool": [{"rhs": "{r.name} cools {o.name}."}],
        "slice": [{"rhs": "{ko.name} slices {co.name}."}],
    }


_ACTIONS = {
    "GotoLocation": (
        "walk to [{r.name | receptacleatlocation(r:receptacle, lend:location)}]",
        "#GotoLocation.feedback#",
    ),
    "OpenObject": ("open {r}", "#OpenObject.feedback#"),
    "CloseObject": ("close {r}", "#CloseObject.feedback#"),
    "PickupObject": ("pull {o} out of {r}", "#PickupObject.feedback#"),
    "PutObject": ("drop {o} on {r}", "#PutObject.feedback#"),
    "inventory": ("inventory", "#inventory.feedback#"),
    "look": ("look", "#look.feedback#"),
    "help": ("help", "\nHelp yourself.\n"),
    "examineReceptacle": ("examine {r}", "#examineReceptacle.feedback#"),
    "examineObject": ("examine {o}", "#examineObject.feedback#"),
    "ToggleObject": ("use {o}", "#toggle#"),
    "CleanObject": ("clean {o} with {r}", "#clean#"),
    "HeatObject": ("heat {o} with {r}", "#heat#"),
    "CoolObject": ("cool {o} with {r}", "#cool#"),
    "SliceObject": ("slice {co} with {ko}", "#slice#"),
}


def small_grammar(rules: dict[str, list[dict[str, str]]] | None = None) -> str:
    """The grammar file."""
    blocks = [
        f'action {name} {{\n  template :: "{template}";\n  feedback :: "{feedback}";\n}}\n'
        for name, (template, feedback) in _ACTIONS.items()
    ]
    return f'grammar :: """\n{json.dumps(rules or small_rules(), indent=1)}\n""";\n' + "".join(blocks)


def small_game(**changes: str) -> dict[str, object]:
    """The whole game as a `game.tw-pddl` holds it."""
    return {
        "pddl_domain": small_domain(),
        "grammar": small_grammar(),
        "pddl_problem": small_problem(),
        "walkthrough": list(WALKTHROUGH),
        "solvable": True,
        **changes,
    }
