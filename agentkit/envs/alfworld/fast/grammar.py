"""The blocks of a text grammar file (.twl2): action templates and production rules."""

import json
import re

import attrs

from agentkit.envs.alfworld.fast.errors import UnsupportedGame

_TOKEN = re.compile(r'"""(?P<block>.*?)"""|"(?P<string>[^"]*)"|(?P<word>[\w/-]+|::|[{};])|#[^\n]*|\s+', re.DOTALL)
_TASK = re.compile(r'"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*"((?:[^"\\]|\\.)*)"\s*\}\s*\]')
_MARKUP = re.compile(r'[;|"<>\[\]#{}\t]|^\s*//')


@attrs.frozen
class Grammar:
    """Actions by lower-case name, each with `template` and `feedback`; rules by name, each a list of alternatives."""

    actions: dict[str, dict[str, str]]
    rules: dict[str, list[dict[str, str]]]


def split_task(text: str) -> tuple[str, str]:
    """The grammar without its task, and the task's sentence. Games of one generation differ in nothing but that.

    Raises:
        UnsupportedGame: the task is not one plain sentence.
    """
    match = _TASK.search(text)
    if match is None:
        raise UnsupportedGame("the grammar has no task of one plain sentence")
    task = json.loads(f'"{match[1]}"', strict=False)
    if _MARKUP.search(task):
        raise UnsupportedGame(f"the task {task!r} holds characters that mean something to the grammar")
    return text[: match.start(1)] + text[match.end(1) :], task.lstrip().replace("\\n", "\n")


def parse_grammar(text: str) -> Grammar:
    """Read a grammar file.

    Raises:
        UnsupportedGame: it cannot be parsed.
    """
    grammar = Grammar({}, {})
    current: dict[str, str] = {}
    stream = iter(_tokenize(text))
    try:
        for word in stream:
            if word == "action":
                current = grammar.actions[next(stream).lower()] = {}
                _expect(next(stream), "{")
            elif word in ("template", "feedback", "grammar"):
                _expect(next(stream), "::")
                value = next(stream)
                _expect(next(stream), ";")
                if word == "grammar":
                    grammar.rules.update(_parse_rules(value))
                else:
                    current[word] = value
            else:
                _expect(word, "}")
    except StopIteration:
        raise UnsupportedGame("the grammar is cut short") from None
    return grammar


def _tokenize(text: str) -> list[str]:
    """Words and signs, and the contents of strings and blocks."""
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise UnsupportedGame(f"the grammar cannot be parsed at {text[position : position + 30]!r}")
        if match.lastgroup is not None:
            tokens.append(match[match.lastgroup])
        position = match.end()
    return tokens


def _parse_rules(block: str) -> dict[str, list[dict[str, str]]]:
    lines = [line for line in block.split("\n") if not line.lstrip().startswith("#")]
    try:
        return json.loads("\n".join(lines))
    except json.JSONDecodeError as error:
        raise UnsupportedGame(f"the grammar's rules are not JSON ({error})") from error


def _expect(word: str, wanted: str) -> None:
    if word != wanted:
        raise UnsupportedGame(f"the grammar has {word!r} where {wanted!r} belongs")
