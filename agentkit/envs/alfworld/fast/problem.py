"""The sections of a PDDL problem. They are mostly flat facts, so regular expressions read them in a millisecond."""

import re

import attrs

from agentkit.envs.alfworld.fast.domain import typed_objects
from agentkit.envs.alfworld.fast.errors import UnsupportedGame
from agentkit.envs.alfworld.fast.expressions import Expression, parse_expression
from agentkit.envs.alfworld.world import GameFileError

_COMMENT = re.compile(r";[^\n]*")
_SECTION = re.compile(r"\(\s*:([\w-]+)")
_FLAT = re.compile(r"\(([^()]*)\)")
# What may be left of :init without its flat facts: the frame of (= (distance a b) 22), and the closing parenthesis.
_LEFT_OVER = re.compile(r"(?:\s|\(=|\d+\s*\)|\))*")
_KNOWN_SECTIONS = frozenset({"domain", "requirements", "objects", "init", "goal", "metric"})


@attrs.frozen
class Problem:
    """Names are PDDL identifiers in lower case."""

    types: dict[str, str]  # every declared object and its type
    facts: dict[str, list[tuple[str, ...]]]  # initial facts by predicate; distances and costs are left out
    goal: Expression

    @property
    def entities(self) -> set[str]:
        """Everything that an initial fact mentions; stock TextWorld gives names to these, and to nothing else."""
        return {name for facts in self.facts.values() for arguments in facts for name in arguments}


def parse_problem(text: str, source: str) -> Problem:
    """Read a problem.

    Raises:
        GameFileError: it is damaged (the message names `source`).
        UnsupportedGame: it uses PDDL that no ALFWorld game uses.
    """
    text = _COMMENT.sub("", text).lower()
    if not text.isascii():
        raise GameFileError(f"{source}: the PDDL problem holds a character outside ASCII")
    if text.count("(") != text.count(")"):
        raise GameFileError(f"{source}: the PDDL problem is cut short (its parentheses do not match)")
    sections = _split_sections(text, source)
    try:
        types = typed_objects(sections["objects"].replace(")", " ").split())
        goal = parse_expression(sections["goal"])
    except UnsupportedGame:
        raise
    except ValueError as error:
        raise GameFileError(f"{source}: the PDDL problem cannot be read: {error}") from error
    problem = Problem(types, _parse_facts(sections["init"], source), goal)
    if unknown := problem.entities - types.keys():
        raise GameFileError(f"{source}: the PDDL problem names {min(unknown)!r}, which it never declares as an object")
    return problem


def _split_sections(text: str, source: str) -> dict[str, str]:
    marks = list(_SECTION.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    sections = {mark[1]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}
    if unknown := sections.keys() - _KNOWN_SECTIONS:
        raise UnsupportedGame(f"the problem has a section {min(unknown)!r}")
    for name in ("objects", "init", "goal"):
        if name not in sections:
            raise GameFileError(f"{source}: the PDDL problem has no (:{name} ...)")
    return sections


def _parse_facts(section: str, source: str) -> dict[str, list[tuple[str, ...]]]:
    left = _FLAT.sub("", section)
    if (match := _LEFT_OVER.match(left)) is None or match.end() != len(left):
        raise UnsupportedGame(f"the problem's initial state holds more than facts and distances ({source})")
    facts: dict[str, list[tuple[str, ...]]] = {}
    for flat in _FLAT.findall(section):
        predicate, *arguments = flat.split() or [""]
        if predicate not in ("distance", "total-cost"):
            facts.setdefault(predicate, []).append(tuple(arguments))
    return facts
