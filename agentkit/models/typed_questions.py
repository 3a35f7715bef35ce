"""The System One format of questions and answers, which TypeSafe's service and transformers share.

A predicate is called ``noul`` there; the criteria of a choice map its options to descriptions (none are given here);
the criteria of a score list its levels, lowest first.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models.answers import OptionNames, option_names, sound_decision


def state(query: Query) -> str:
    """What the questions are about: the system text, if any, and the context."""
    return "\n\n".join(part for part in (query.system, query.context) if part)


def typed_questions(queries: Sequence[Query]) -> dict[str, dict[str, Any]]:
    """The questions of some queries, named ``q0``, ``q1``, …"""
    return {f"q{i}": typed_question(query.question) for i, query in enumerate(queries)}


def typed_question(question: Question) -> dict[str, Any]:
    """One question.

    >>> typed_question(Question("Where to?", "choice", ("left", "right")))
    {'type': 'choice', 'instructions': 'Where to?', 'criteria': {'left': None, 'right': None}}
    """
    if question.kind == "choice":
        criteria: Any = dict.fromkeys(option_names(question.options).names)
        return {"type": "choice", "instructions": question.text, "criteria": criteria}
    if question.kind == "score":
        return {"type": "score", "instructions": question.text, "criteria": list(question.options)}
    typed: dict[str, Any] = {"type": "noul", "instructions": question.text}
    if question.options != ("yes", "no"):
        typed["criteria"] = {"true": question.options[0], "false": question.options[1]}
    return typed


def typed_decisions(queries: Sequence[Query], answers: Any, usage: Usage) -> list[Decision]:
    """The decisions that named answers give; the first bears the whole usage, since the context is sent once."""
    named = answers if isinstance(answers, Mapping) else {}
    return [
        typed_decision(query.question, named.get(f"q{i}"), usage if i == 0 else Usage())
        for i, query in enumerate(queries)
    ]


def typed_decision(question: Question, answer: Any, usage: Usage) -> Decision:
    """The decision that one answer gives, unscored when it is none."""
    if not isinstance(answer, Mapping):
        return Decision(question, unscored="the service left the question out", usage=usage)
    expected = "noul" if question.kind == "predicate" else question.kind
    if answer.get("type") == "refusal":
        return Decision(question, unscored="the model refused to answer", usage=usage)
    if answer.get("type") != expected:
        return Decision(question, unscored=f"a {expected} was answered by a {answer.get('type')!r}", usage=usage)
    if question.kind == "predicate":
        yes = answer.get("noul")
        no = 1 - yes if isinstance(yes, (int, float)) else None
        return sound_decision(question, (yes, no), usage)
    found = answer.get("probabilities")
    found = found if isinstance(found, Mapping) else {}
    if question.kind == "score":
        levels = [found.get(str(i), found.get(i)) for i in range(len(question.options))]
        return sound_decision(question, levels, usage)
    return _choice(question, option_names(question.options), found, usage)


def _choice(question: Question, names: OptionNames, found: Mapping[str, Any], usage: Usage) -> Decision:
    named = [found.get(name) for name in names.names]
    if not all(isinstance(p, (int, float)) for p in named):
        return sound_decision(question, [None] * len(question.options), usage)
    return sound_decision(question, names.spread([float(p) for p in named if p is not None]), usage)
