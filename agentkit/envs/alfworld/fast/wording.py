"""From a game's text grammar to format strings.

The grammar's shape must be the known one: the same alternatives under the same conditions, each mentioning only things
that the engine can fill in. Its wording is free, which is how one engine speaks for both generations of the data.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import attrs

from agentkit.envs.alfworld.fast.errors import UnsupportedGame
from agentkit.envs.alfworld.fast.grammar import Grammar, parse_grammar
from agentkit.envs.alfworld.fast.shapes import COMMANDS, FEEDBACK, NESTED, QUERIES, RULES, Shape

_SYMBOL = re.compile(
    r"\[\{(?P<item>[^{}\[\]|]*)\|(?P<query>[^{}\[\]|]*)\}\]|\{(?P<value>[^{}\[\]|]*)\}|#(?P<rule>[^#]*)#"
    r'|(?P<text>[^;|"<>\[\]#{}]+)'
)
_NAME = re.compile(r"(?P<article>(?P<a>\w+)\.indefinite \+ ' ' \+ )?(?P<v>\w+)\.name(?: or (?P<w>\w+)\.id)?")
_PLAIN: Shape = (("", ()),)


@attrs.frozen
class Wording:
    """Format strings; their fields are the grammar's variables and the names in `shapes.NESTED`."""

    commands: Mapping[str, str]  # by action: "take {o} from {r}"
    feedback: Mapping[str, tuple[str, ...]]  # by action or shared rule: one string for each alternative
    items: Mapping[str, str]  # by action or rule: how one entry of its list is spelt, "a {}"
    nothing: str  # an empty list
    comma: str
    last_comma: str


@lru_cache(maxsize=32)
def compile_wording(text: str, with_help: bool) -> Wording:
    """Compile a grammar; its task does not matter (see `grammar.split_task`).

    Args:
        text: the grammar file.
        with_help: whether the domain has the action `help`; without it the grammar's own is ignored.

    Raises:
        UnsupportedGame: the grammar's shape is not the known one.
    """
    compiler = _Compiler(parse_grammar(text))
    actions = [name for name in COMMANDS if with_help or name != "help"]
    commands = {name: compiler.command(name) for name in actions}
    _check_distinct(commands)
    feedback = {name: compiler.feedback(name) for name in actions}
    feedback |= {name: compiler.rule(name, name, shape) for name, shape in RULES.items()}
    nothing, comma, last_comma = (
        compiler.rule(name, name, _PLAIN)[0] for name in ("list_empty", "list_separator", "list_last_separator")
    )
    return Wording(commands, feedback, compiler.items, nothing, comma, last_comma)


class _Compiler:
    """Checks parts of a grammar against the known shape and compiles them; collects how list entries are spelt."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self.items: dict[str, str] = {}

    def _action(self, name: str) -> dict[str, str]:
        action = self._grammar.actions.get(name, {})
        if not {"template", "feedback"} <= action.keys():
            raise UnsupportedGame(f"the grammar has no complete action {name!r}")
        return action

    def command(self, name: str) -> str:
        """`open {r}` stays; `go to [{r.name | receptacleatlocation(...)}]` becomes `go to {r}`."""
        template = self._action(name)["template"]
        compiled = ""
        for symbol in _symbols(template):
            if symbol["text"] is not None:
                compiled += symbol["text"]
            elif symbol["query"] is not None and _squeeze(symbol["query"]) == QUERIES.get(name):
                compiled += _compile_name(symbol["item"] or "")
            elif symbol["value"] is not None:
                compiled += f"{{{symbol['value']}}}"
        if sorted(re.findall(r"\{(.*?)\}", compiled)) != sorted(COMMANDS[name]):
            raise UnsupportedGame(f"the command of {name!r} is {template!r}")
        return compiled

    def feedback(self, name: str) -> tuple[str, ...]:
        """The format strings of an action's feedback: of the rule that it names, or of the text that it is."""
        feedback, shape = self._action(name)["feedback"], FEEDBACK[name]
        if match := re.fullmatch(r"#([^#]+)#", feedback):
            return self.rule(name, match[1], shape)
        if len(shape) != 1:
            raise UnsupportedGame(f"the feedback of {name!r} is {feedback!r}")
        return (self._text(name, feedback, shape[0][1]),)

    def rule(self, name: str, rule: str, shape: Shape) -> tuple[str, ...]:
        """The format strings of a rule, after checking that it has the known alternatives in the known order."""
        alternatives = self._grammar.rules.get(rule, [])
        conditions = [_squeeze(alternative.get("condition", "")) for alternative in alternatives]
        if conditions != [condition for condition, _ in shape]:
            raise UnsupportedGame(f"the grammar's rule {rule!r} does not have the known alternatives")
        return tuple(
            self._text(name, alternative["rhs"], fields)
            for alternative, (_, fields) in zip(alternatives, shape, strict=True)
        )

    def _text(self, name: str, text: str, fields: tuple[str, ...]) -> str:
        compiled = ""
        for symbol in _symbols(text):
            if symbol["text"] is not None:
                # The original's parser takes white space at the start of a rule for an empty comment.
                compiled += symbol["text"] if compiled else symbol["text"].lstrip()
            elif symbol["rule"] is not None:
                compiled += f"{{{NESTED.get(symbol['rule'], symbol['rule'])}}}"
            elif symbol["value"] is not None:
                compiled += _compile_name(symbol["value"])
            else:
                self._list(name, symbol["item"] or "", symbol["query"] or "")
                compiled += "{items}"
        if unknown := set(re.findall(r"\{(.*?)\}", compiled)) - set(fields):
            raise UnsupportedGame(f"the grammar's rule {name!r} mentions {min(unknown)!r}")
        return compiled.replace("\\n", "\n")

    def _list(self, name: str, item: str, query: str) -> None:
        """Note how the entries of a list are spelt: by an expression, or by a rule such as #overview(o)#."""
        match = re.fullmatch(r"\s*#(overview\((o|r)\))#\s*", item)
        entry = self.rule(match[1], match[1], (("", (match[2],)),))[0] if match else _compile_name(item)
        compiled = re.sub(r"\{\w+\}", "{}", entry)
        if _squeeze(query) != QUERIES.get(name) or self.items.setdefault(name, compiled) != compiled:
            raise UnsupportedGame(f"the grammar's rule {name!r} lists {query.strip()!r}")


def _compile_name(expression: str) -> str:
    """`o.indefinite + ' ' + o.name` -> `a {o}`; every name's article is "a"."""
    expression = expression.strip()
    if re.fullmatch(r"\w+\.indefinite", expression):
        return "a"
    match = _NAME.fullmatch(expression)
    if match is None or {match["a"], match["w"]} - {None, match["v"]}:
        raise UnsupportedGame(f"the grammar evaluates {expression!r}")
    return f"a {{{match['v']}}}" if match["article"] else f"{{{match['v']}}}"


def _symbols(text: str) -> list[dict[str, str | None]]:
    symbols: list[dict[str, str | None]] = []
    position = 0
    if "\t" in text or text.lstrip().startswith("//"):
        raise UnsupportedGame(f"the grammar's text {text!r} holds a tab or a comment")
    while position < len(text):
        match = _SYMBOL.match(text, position)
        if match is None:
            raise UnsupportedGame(f"the grammar's text {text!r} cannot be parsed")
        symbols.append(match.groupdict())
        position = match.end()
    return symbols


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _check_distinct(commands: Mapping[str, str]) -> None:
    """Two actions with one command would make the action that a command stands for depend on the planner's order."""
    # The two "examine" may collide: receptacles and objects never share a name.
    kinds = [re.sub(r"\{\w+\}", "{}", template) for name, template in commands.items() if name != "examineobject"]
    if len(set(kinds)) < len(kinds):
        raise UnsupportedGame("two actions of the grammar have the same command")
