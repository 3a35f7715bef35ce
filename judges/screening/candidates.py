"""The candidates of a screening: judges × contexts × questions, each with what tells it apart from the others."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentkit.judges.oracle import NoisyOracle, OracleJudge
from agentkit.judges.screening.option_order import OptionsReversed
from agentkit.judges.step_judge import QUESTIONS, StepJudge
from agentkit.models.prices import DEFAULT_PRICES, Prices
from agentkit.models.usage import UsageMeter
from agentkit.trajectory import Step, Trajectory
from agentkit.verdicts import Judge, judge_name

Questions: TypeAlias = Sequence[str] | Mapping[str, str]
"""Questions of `StepJudge`, or a mapping from short names to them."""

_PROBE = Trajectory(
    goal="the goal",
    steps=[Step(observation=f"seen {t}", action=f"act {t}", reward=0.0, feedback=f"seen {t + 1}") for t in range(8)],
)


@attrs.frozen(kw_only=True)
class Candidate:
    """One way to judge, which could be trained with."""

    name: str
    judge: Judge
    model: str
    """The name of the judge that was given, before contexts and questions were varied."""
    context: str = ""
    question: str = ""
    reference: bool = False
    """It reads the ground truth: a yardstick, never recommended."""
    reversed_judge: Judge | None = None
    """The same judge, asked with its options in the other order; None where there are no options."""
    meter: UsageMeter | None = None
    """Counts what the judge's model uses; None where it has no model."""
    identity: str
    """A digest of what is asked and of whom: scores of one identity can be used again."""


def make_candidates(
    judges: Sequence[Judge] | Mapping[str, Judge],
    contexts: Sequence[Any] | None = None,
    questions: Questions | None = None,
    prices: Prices | None = None,
) -> tuple[Candidate, ...]:
    """Every `StepJudge` in all contexts with all questions, every other judge as it is.

    Raises:
        ValueError: there are no judges, two candidates have one name, or a context is unknown.
    """
    named = isinstance(judges, Mapping)
    pairs = list(judges.items()) if isinstance(judges, Mapping) else [(judge_name(judge), judge) for judge in judges]
    if not pairs:
        raise ValueError("judges is empty; give at least one judge")
    candidates = []
    for name, judge in pairs:
        if isinstance(judge, StepJudge) and (contexts is not None or questions is not None):
            grid = _grid(judge, contexts, questions)
            candidates += [_varied(judge, name if named else "", *cell, prices) for cell in grid]
        else:
            candidates.append(_candidate(name, judge, name, prices))
    names = [candidate.name for candidate in candidates]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two judges are named {twice!r}; give judges as a mapping from different names to them")
    return tuple(candidates)


def _grid(judge: StepJudge, contexts: Sequence[Any] | None, questions: Questions | None) -> list[tuple[Any, str, str]]:
    """Context, the question's label and its text."""
    texts = [judge.question] if questions is None else questions
    labelled = list(texts.items()) if isinstance(texts, Mapping) else [(_label(text), text) for text in texts]
    return [
        (context, label, text)
        for context in ([judge.context] if contexts is None else contexts)
        for label, text in labelled
    ]


def _label(question: str) -> str:
    return question if question in QUESTIONS else re.sub(r"\W+", "-", question).strip("-")[:40]


def _varied(judge: StepJudge, model: str, context: Any, label: str, question: str, prices: Prices | None) -> Candidate:
    name = f"{model}/{context}-{label}" if model else f"{context}-{label}"
    changed = attrs.evolve(judge, context=context, question=question, name=name)
    found = _candidate(name, changed, model or type(judge.model).__name__, prices)
    return attrs.evolve(found, question=label)


def _candidate(name: str, judge: Any, model: str, prices: Prices | None) -> Candidate:
    identity = judge_identity(judge)
    if not (attrs.has(type(judge)) and hasattr(judge, "model") and hasattr(judge, "queries")):
        reference = isinstance(judge, (NoisyOracle, OracleJudge))
        return Candidate(name=name, judge=judge, model=model, reference=reference, identity=identity)
    meter = UsageMeter(DEFAULT_PRICES if prices is None else prices)
    counted = attrs.evolve(judge, model=meter.metered(judge.model, role="judge", model=model))
    swapped = attrs.evolve(judge, model=OptionsReversed(counted.model))
    return Candidate(
        name=name,
        judge=counted,
        model=model,
        context=str(getattr(judge, "context", "")),
        question=str(getattr(judge, "question", "")),
        reversed_judge=swapped,
        meter=meter,
        identity=identity,
    )


def judge_identity(judge: Any) -> str:
    """A digest of what a judge asks (on a fixed probe) and of the identity of its model.

    A judge without queries is told apart by its settings (an attrs class) or by its import path.
    """
    if hasattr(judge, "queries"):
        model = getattr(judge, "model", None)
        parts = [getattr(model, "identity", None) or type(model).__qualname__, *map(repr, judge.queries(_PROBE))]
    elif attrs.has(type(judge)):
        parts = [repr(judge)]
    else:
        parts = [f"{getattr(judge, '__module__', '')}.{getattr(judge, '__qualname__', type(judge).__qualname__)}"]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
