"""Search queries read off an instruction, for actors that choose among given actions."""

import re

_PRICE = re.compile(r",?\s*(?:and\s+)?(?:the\s+)?price\s+(?:is\s+)?(?:lower|less|under|below).*$", re.IGNORECASE)
_OPENING = re.compile(
    r"^(?:find me|show me|get me|give me|please|hello|hi|can you|could you|help me|find|buy|"
    r"i(?:'m| am|m)?\s+(?:am\s+)?(?:looking|searching|shopping)\s+for|"
    r"i(?:'d| would|d)?\s+(?:like|want|need|love)(?:\s+to)?(?:\s+(?:buy|find|get|order|have|see))?|"
    r"looking for|a|an|the|some|[,.!])\s+",
    re.IGNORECASE,
)
_OPTION = re.compile(r"(?:\s+with|,\s+and)\s+(?:(?!with\b)[\w-]+ ?){1,3}:\s*")


def _without_opening(text: str) -> str:
    while (shorter := _OPENING.sub("", text, count=1)) != text:
        text = shorter
    return text


def suggest_queries(instruction: str, count: int) -> tuple[str, ...]:
    """At most ``count`` different queries for an instruction, the most faithful first; nothing but its words is used.

    In order: all it asks for; the same with bare option values instead of ``name: value``; without options; the part
    before the first comma or "with"; the last words of that part.

    >>> suggest_queries("Find me machine wash men's shirts with color: red, and price lower than 50.00 dollars", 3)
    ("machine wash men's shirts with color: red", "machine wash men's shirts red", "machine wash men's shirts")
    """
    full = _without_opening(_PRICE.sub("", instruction.strip())).strip(" .,")
    bare = re.sub(r"\s+", " ", _OPTION.sub(" ", full)).strip()
    plain = _OPTION.split(full)[0].strip(" ,")
    head = re.split(r",|\bwith\b|\bfor\b|\bthat\b", plain)[0].strip()
    queries = (full, bare, plain, head, " ".join(head.split()[-3:]), " ".join(plain.split()[-3:]))
    kept = dict.fromkeys(query.lower() for query in queries if query and "[" not in query and "]" not in query)
    return tuple(kept)[:count]
