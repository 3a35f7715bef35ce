"""The known shape of the text grammar: per action or rule, its alternatives in order as (condition, fields).

Conditions are written without white space. A field is a grammar variable (`o`, `r`, ...), `items` for the list that the
alternative holds, or a nested rule.
"""

Shape = tuple[tuple[str, tuple[str, ...]], ...]

# The variables of each action's command.
COMMANDS: dict[str, tuple[str, ...]] = {
    "look": (),
    "inventory": (),
    "help": (),
    "gotolocation": ("r",),
    "openobject": ("r",),
    "closeobject": ("r",),
    "examinereceptacle": ("r",),
    "examineobject": ("o",),
    "pickupobject": ("o", "r"),
    "putobject": ("o", "r"),
    "cleanobject": ("o", "r"),
    "heatobject": ("o", "r"),
    "coolobject": ("o", "r"),
    "toggleobject": ("o",),
    "sliceobject": ("co", "ko"),
}

_ONE: tuple[str, ...] = ("o",)

# Index of the alternative that an object's state selects: see `Narrator._condition`.
EXAMINE_OBJECT: Shape = (
    ("isreceptacleobject(o:object)", ("o", "items")),
    ("isclean(o:object)&ishot(o:object)&issliced(o:object)", _ONE),
    ("isclean(o:object)&iscool(o:object)&issliced(o:object)", _ONE),
    ("isclean(o:object)&issliced(o:object)", _ONE),
    ("ishot(o:object)&issliced(o:object)", _ONE),
    ("iscool(o:object)&issliced(o:object)", _ONE),
    ("isclean(o:object)&ishot(o:object)", _ONE),
    ("isclean(o:object)&iscool(o:object)", _ONE),
    ("ishot(o:object)", _ONE),
    ("isclean(o:object)", _ONE),
    ("iscool(o:object)", _ONE),
    ("toggleable(o:object)&istoggled(o:object)", _ONE),
    ("toggleable(o:object)&not_istoggled(o:object)", _ONE),
    ("sliceable(o:object)&issliced(o:object)", _ONE),
    ("", _ONE),
)

FEEDBACK: dict[str, Shape] = {
    "look": (
        ("atlocation(a:agent,l:location)&receptacleatlocation(r:receptacle,l:location)", ("facing", "floor")),
        ("", ("appliances",)),
    ),
    "inventory": (("holdsany(a:agent)", ("items",)), ("", ())),
    "help": (("", ()),),
    "gotolocation": (("", ("r", "lend", "examine")),),
    "openobject": (("", ("r", "examine")),),
    "closeobject": (("", ("r",)),),
    "examinereceptacle": (
        ("openable(r:receptacle)&opened(r:receptacle)", ("r", "items")),
        ("openable(r:receptacle)", ("r",)),
        ("", ("r", "items")),
    ),
    "examineobject": EXAMINE_OBJECT,
    "pickupobject": (("", ("o", "r")),),
    "putobject": (("", ("o", "r")),),
    "cleanobject": (("", ("o", "r")),),
    "heatobject": (("", ("o", "r")),),
    "coolobject": (("", ("o", "r")),),
    "toggleobject": (
        ("toggleable(o:object)&istoggled(o:object)", _ONE),
        ("toggleable(o:object)", _ONE),
        ("", _ONE),
    ),
    "sliceobject": (("", ("co", "ko")),),
}

_FLOOR = (
    "atlocation(a:agent,l:location)&objectatlocation(o:object,l:location)"
    "&receptacleatlocation(r:receptacle,l:location)&not_inreceptacle(o:object,r:receptacle)"
)

# Rules that several texts share.
RULES: dict[str, Shape] = {
    "intro": (("", ("look", "task")),),
    "look-variations": (("", ("items",)),),
    "list_objects_on_the_floor": ((_FLOOR, ("items",)), ("", ())),
    "list_appliances": (("receptacleatlocation(r:receptacle,l:location)", ("items",)), ("", ())),
}

# What the list of each action or rule runs over; `gotolocation` is the one inside its command.
QUERIES: dict[str, str] = {
    "gotolocation": "receptacleatlocation(r:receptacle,lend:location)",
    "inventory": "holds(a:agent,o:object)",
    "examinereceptacle": "inreceptacle(o:object,r:receptacle)",
    "examineobject": "inreceptacleobject(o2:object,o:object)",
    "look-variations": "atlocation(a:agent,l:location)&receptacleatlocation(r:receptacle,l:location)",
    "list_objects_on_the_floor": _FLOOR,
    "list_appliances": "receptacleatlocation(r:receptacle,l:location)",
}

# Rules that a text can hold, as the names of its fields.
NESTED: dict[str, str] = {
    "look.feedback": "look",
    "task": "task",
    "examineReceptacle.feedback": "examine",
    "look-variations": "facing",
    "list_objects_on_the_floor": "floor",
    "list_appliances": "appliances",
}
