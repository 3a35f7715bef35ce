"""Nested lists from PDDL text, read as Fast Downward reads them: lower case, `;` starts a comment."""

import re
from typing import Any

# An expression is a token or a list of expressions; a recursive alias would only obscure the code that walks it.
Expression = Any

_COMMENT = re.compile(r";[^\n]*")


def tokenize(text: str) -> list[str]:
    """Parentheses, names and variables, in order."""
    text = _COMMENT.sub("", text).lower()
    return text.replace("(", " ( ").replace(")", " ) ").replace("?", " ?").split()


def parse_expression(text: str) -> Expression:
    """The first complete expression in a text; what follows its closing parenthesis is left alone.

    Raises:
        ValueError: there is no opening parenthesis, or it is never closed.

    >>> parse_expression("(and (holds ?a apple)) ; comment")
    ['and', ['holds', '?a', 'apple']]
    """
    stack: list[list[Expression]] = []
    for token in tokenize(text):
        if token == "(":
            stack.append([])
        elif not stack:
            raise ValueError(f"expected '(' before {token!r}")
        elif token != ")":
            stack[-1].append(token)
        else:
            done = stack.pop()
            if not stack:
                return done
            stack[-1].append(done)
    raise ValueError("an opening parenthesis is never closed")


def parse_typed_list(tokens: list[str]) -> list[tuple[str, str]]:
    """`a b - t c - u` as pairs (name, type).

    Raises:
        ValueError: a name has no type.

    >>> parse_typed_list("a b - t c - u".split())
    [('a', 't'), ('b', 't'), ('c', 'u')]
    """
    if len(tokens) % 3 == 0 and tokens[1::3] == ["-"] * (len(tokens) // 3):
        return list(zip(tokens[0::3], tokens[2::3], strict=True))
    pairs: list[tuple[str, str]] = []
    names: list[str] = []
    rest = iter(tokens)
    for token in rest:
        if token != "-":
            names.append(token)
            continue
        kind = next(rest, "")
        pairs.extend((name, kind) for name in names)
        names = []
    if names:
        raise ValueError(f"{names[0]!r} has no type")
    return pairs
