"""The words in which judges ask: short templates, each of which can be replaced.

``attrs.evolve(STEP_PROMPT, system="...")`` changes one of them. What fills a placeholder is put in as it is, so braces
in an action or an observation are ordinary text; a brace of the template itself is written twice.
"""

import difflib
from collections.abc import Mapping
from string import Formatter
from types import MappingProxyType
from typing import Any

import attrs

ROLES: tuple[str, ...] = ("decisive", "exploration", "no-progress", "regression")
"""TRIAGE's roles (arXiv 2606.32017), in the order in which judges list them."""

QUESTIONS: Mapping[str, str] = MappingProxyType(
    {
        "progress": "Consider step {n}: {action}\nDid this action help achieve the goal? Answer yes or no.",
        "value": "Consider step {n}: {action}\nWill the task succeed after this action? Answer yes or no.",
    }
)
"""The two questions of *Actor, Judge, or Teacher?* (seeds/000), by the names that `StepJudge` takes."""

QUESTION_PLACEHOLDERS = ("n", "action", "goal")


def placeholders(template: str, allowed: tuple[str, ...], what: str) -> set[str]:
    """The placeholders of a template.

    Raises:
        TypeError: it is not a string.
        ValueError: one of them is not allowed, or a brace stands alone; the message begins with ``what``.
    """
    if not isinstance(template, str):
        raise TypeError(f"{what} must be a str, got {type(template).__name__}: {template!r}")
    known = ", ".join(f"{{{name}}}" for name in allowed) or "none"
    mend = f"known placeholders are {known}, and a brace that is meant as text is written twice"
    try:
        fields = [field for field in Formatter().parse(template) if field[1] is not None]
    except ValueError as error:
        raise ValueError(f"{what} is no template ({error}): {template!r}; {mend}") from error
    # A format such as {n:>3} is refused, too: nothing needs one, and it can hold placeholders of its own.
    names = ["".join(filter(None, (name, conversion, form))) for _, name, form, conversion in fields]
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise ValueError(f"{what} has the unknown placeholder {{{unknown[0]}}}; {mend}")
    return set(names)


def question_template(question: str, action_shown: bool) -> str:
    """The template of a `StepJudge` question: that of a name in `QUESTIONS`, or the text itself.

    Args:
        question: a name, or a text with ``{n}``, ``{action}`` and ``{goal}``.
        action_shown: whether the context shows the action, so that its number is enough to find it.

    Raises:
        TypeError: it is not a string.
        ValueError: it does not say which action is meant, so that all of them would be asked the same.
    """
    template = QUESTIONS.get(question, question) if isinstance(question, str) else question
    found = placeholders(template, QUESTION_PLACEHOLDERS, "question")
    needed = {"action", "n"} if action_shown else {"action"}
    if not found & needed:
        close = difflib.get_close_matches(question, QUESTIONS, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        ways = " or ".join(f"{{{name}}}" for name in sorted(needed))
        names = " nor ".join(map(repr, QUESTIONS))
        raise ValueError(f"question {question!r} is neither {names}{hint}, nor does it say which action; use {ways}")
    return template


def _template(*allowed: str) -> Any:
    def check(instance: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
        placeholders(value, allowed, f"{type(instance).__name__}.{attribute.name}")

    return check


@attrs.frozen(kw_only=True)
class StepPrompt:
    """What `StepJudge` shows before its question."""

    system: str = attrs.field(
        default="You judge the actions of an agent in a text environment. Answer with one word, yes or no.",
        validator=_template(),
    )
    opening: str = attrs.field(
        default="Goal: {goal}\n\nStart: {observation}", validator=_template("goal", "observation")
    )
    step: str = attrs.field(
        default="Step {n}: {action}\nResult: {feedback}", validator=_template("n", "action", "feedback")
    )


@attrs.frozen(kw_only=True)
class RolePrompt:
    """What `RoleJudge` shows and asks."""

    system: str = attrs.field(
        default=(
            "You type the actions of an agent in a text environment. The roles are: decisive (verifiable progress "
            "towards the goal), exploration (reveals relevant state), no-progress (harmless, but nothing gained), "
            "regression (undoes progress, or repeats without learning anything). Answer with one role."
        ),
        validator=_template(),
    )
    goal: str = attrs.field(default="Goal: {goal}", validator=_template("goal"))
    start: str = attrs.field(default="Start: {observation}", validator=_template("observation"))
    """Shown when the window reaches back to the first step."""
    step: str = attrs.field(
        default="Step {n}: {action}\nResult: {feedback}", validator=_template("n", "action", "feedback")
    )
    question: str = attrs.field(
        default=(
            "Consider step {n}: {action}\nWhich role did it play: decisive, exploration, no-progress or regression?"
        ),
        validator=_template("n", "action", "goal"),
    )


STEP_PROMPT = StepPrompt()
ROLE_PROMPT = RolePrompt()
