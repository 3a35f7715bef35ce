"""Parts of agentkit, and of any other package, by the names that recipes use."""

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

ROOMS = ("agentkit.wrappers", "agentkit.judges", "agentkit.trainers", "agentkit.models", "agentkit.actors")
"""Where a bare name such as ``StepJudge`` is looked up."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """What a mistyped name probably meant, as the end of a message.

    >>> suggestion("wieght", ["weight", "judge"])
    " (did you mean 'weight'?)"
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def find_part(name: str, where: str) -> Callable[..., Any]:
    """The class or function of that name.

    Args:
        name: ``StepJudge`` (a public name of a room), ``ConstrainedReadout.from_pretrained`` (its method), or
            ``package.module:attribute``.
        where: the place in the recipe, for messages.

    Raises:
        ValueError: there is no such part; the message names the nearest one.
        ImportError: an extra that it needs is missing.
    """
    module, separator, attribute = name.rpartition(":")
    if not separator:
        homes = {public: room for room in ROOMS for public in importlib.import_module(room).__all__}
        first = name.split(".")[0]
        if first not in homes:
            raise ValueError(
                f"{where}: no part {first!r}{suggestion(first, homes)}; use a public name of {', '.join(ROOMS)}, "
                "or 'package.module:attribute'"
            )
        module, attribute = homes[first], name
    try:
        part: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"{where}: cannot import the module {module!r} of {name!r}: {error}") from error
    for piece in attribute.split("."):
        if not hasattr(part, piece):
            raise ValueError(f"{where}: {module} has no {attribute!r}{suggestion(piece, dir(part))}")
        part = getattr(part, piece)
    if not callable(part):
        raise ValueError(f"{where}: {name!r} is a {type(part).__name__}, not a class or function")
    return part


def check_arguments(part: Callable[..., Any], arguments: Mapping[str, Any], where: str, given: int = 0) -> None:
    """Refuse arguments that the part does not take, and say which required ones are missing.

    Args:
        given: how many leading parameters are filled in by the caller (a wrapper's environment).

    Raises:
        ValueError: an unknown or a missing argument.
    """
    try:
        parameters = list(inspect.signature(part).parameters.values())[given:]
    except (TypeError, ValueError):  # a builtin without a signature is left to speak for itself
        return
    named = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters)
    for name in arguments:
        if name not in named and not takes_any:
            raise ValueError(f"{where}: unknown key {name!r}{suggestion(name, named)}; it takes {', '.join(named)}")
    missing = [name for name, p in named.items() if p.default is p.empty and name not in arguments]
    if missing:
        raise ValueError(f"{where}: {', '.join(missing)} must be given")
