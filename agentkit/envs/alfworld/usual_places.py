"""Where household things usually are: common sense for an agent that has to search a room."""

_SURFACES = (
    "countertop",
    "diningtable",
    "sidetable",
    "desk",
    "dresser",
    "coffeetable",
    "bed",
    "sofa",
    "armchair",
    "shelf",
    "tvstand",
    "sinkbasin",
    "toilet",
    "bathtubbasin",
    "ottoman",
    "cart",
)
_RARELY = ("fridge", "microwave", "garbagecan", "cabinet", "drawer", "safe", "coffeemachine", "stoveburner")

_FOOD = ("apple", "bread", "egg", "lettuce", "potato", "tomato")
_COOKWARE = ("kettle", "pan", "pot")
_CROCKERY = ("bowl", "cup", "glassbottle", "mug", "plate", "winebottle")
_BEDROOM = ("book", "cellphone", "laptop", "pillow")
_BATHROOM = ("candle", "soapbar", "soapbottle", "spraybottle", "tissuebox", "toiletpaper")

_FIRST: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_FOOD, ("countertop", "diningtable", "fridge", "sinkbasin", "microwave", "garbagecan")),
    **dict.fromkeys(_COOKWARE, ("stoveburner", "countertop", "diningtable")),
    **dict.fromkeys(_CROCKERY, ("countertop", "diningtable", "coffeemachine", "sinkbasin", "shelf", "fridge")),
    **dict.fromkeys(_BEDROOM, ("bed", "sofa", "desk")),
    **dict.fromkeys(_BATHROOM, ("countertop", "toilet", "toiletpaperhanger", "shelf")),
    "cloth": ("bathtubbasin", "countertop"),
    "handtowel": ("handtowelholder",),
    "keychain": ("sidetable", "coffeetable", "armchair"),
    "remotecontrol": ("coffeetable", "sofa", "armchair", "tvstand"),
    "towel": ("towelholder", "bathtubbasin"),
    "watch": ("sidetable", "shelf", "coffeetable", "drawer"),
}


def search_rank(object_type: str, receptacle_type: str) -> int:
    """How late to look for an object in a kind of receptacle; 0 comes first.

    >>> search_rank("pan", "stoveburner") < search_rank("pan", "countertop") < search_rank("pan", "drawer")
    True
    """
    order = (*_FIRST.get(object_type, ()), *_SURFACES, *_RARELY)
    return order.index(receptacle_type) if receptacle_type in order else len(order)
