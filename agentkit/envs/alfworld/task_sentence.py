"""What a task's sentence asks for, as an agent reads it."""

import re

import attrs

_THING = r"(?:an? |some |the )?(?P<thing>[a-z]+)"
_PLACE = r"(?P<place>[a-z]+)"
_PATTERNS = (
    rf"(?P<examine>look at|examine) {_THING} (?:under|with) the {_PLACE}",
    rf"(?:put|find) (?P<two>two) {_THING}(?: and put them)? (?:in|on) {_PLACE}",
    rf"put an? (?P<change>clean|hot|cool) {_THING} (?:in|on) {_PLACE}",
    rf"(?P<change>clean|heat|cool) {_THING} and put it (?:in|on) {_PLACE}",
    rf"put {_THING} (?:in|on) {_PLACE}",
)


@attrs.frozen
class Task:
    """An instruction, understood."""

    thing: str
    """The type of object: "mug"."""
    place: str
    """The type of receptacle to put it into, or of lamp to look at it under."""
    verb: str | None = None
    """What to do to the object first: "clean", "heat", "cool" or nothing."""
    count: int = 1
    examine: bool = False


def read_task(sentence: str) -> Task:
    """Understand a sentence of ALFWorld's templates.

    Raises:
        ValueError: it is none of them.

    >>> read_task("put a hot mug in shelf.")
    Task(thing='mug', place='shelf', verb='heat', count=1, examine=False)
    """
    for pattern in _PATTERNS:
        match = re.match(pattern + r"\.?$", sentence.strip())
        if match:
            found = match.groupdict()
            change = found.get("change")
            return Task(
                found["thing"],
                found["place"],
                verb="heat" if change == "hot" else change,
                count=2 if found.get("two") else 1,
                examine=bool(found.get("examine")),
            )
    raise ValueError(f"goal {sentence!r} follows none of ALFWorld's task templates, such as 'put a hot mug in shelf.'")
