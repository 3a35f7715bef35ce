"""Keeps an episode's outcome out of what a judge reads, so that it cannot merely echo it (TRIAGE, seeds/002).

Rewards and ``won`` are never shown anyway; these are the places where observations give the outcome away:

- *What the last action led to.* WebShop's receipt holds the score, and a game says that it was won. It is hidden in
  every episode, however it ended: hidden in some only, the gap itself would tell which.
- *Lines that speak of the outcome anywhere else*, such as TextWorld's "Your score has just gone up by one point". They
  are left out without a mark, since a mark would tell, too.
- *The number of a step.* A step 50 of 50 tells that the limit was reached; `RoleJudge` numbers from its window's start.

What remains visible is that the episode ended: the window of one of the last actions has fewer steps after it.
"""

import re
from collections.abc import Sequence

import attrs

from agentkit.trajectory import Step

NOT_SHOWN = "(not shown)"

OUTCOME_PATTERNS: tuple[str, ...] = (
    r"\byou (?:have )?(?:won|win|lost|lose|failed|succeeded)\b(?!['’])",
    r"\b(?:goal|task|quest|mission|episode)(?: is| was| has been| have been)?[ _:]+"
    r"(?:satisfied|achieved|accomplished|completed?|done|failed|successful|succeeded|won|lost|over)\b",
    r"\bgame over\b(?![- ]ear)",
    r"\*\*\*\s*(?:the end|you .*?)\s*\*\*\*",
    r"\b(?:your|final|total|current) (?:score|reward)\b",
    r"\b(?:score|reward|success)\s*[:=]\s*\S",
    r"\byou (?:have )?scored\b",
    r"\b(?:congratulations|well done)!",
)
"""Regular expressions, sought in any case: the lines that one of them touches speak of the outcome."""

_SEPARATOR = re.compile(r"(\n|\s*\[SEP\]\s*)")
_NUMBER = re.compile(r"\s*[-+]?[\d.]+\s*")


def without_outcome(text: str, patterns: Sequence[str] = OUTCOME_PATTERNS) -> str:
    """``text`` without what speaks of the outcome; `NOT_SHOWN` when nothing else is left of it.

    A line goes as a whole, or, on a page of WebShop's, a part between ``[SEP]``; so does a bare number that follows it.

    >>> without_outcome("You take the mug.\\nYour score has just gone up by one point.")
    'You take the mug.'
    >>> without_outcome("Reward [SEP] Your score (min 0.0, max 1.0) [SEP] 0.75 [SEP] Reward Details")
    'Reward [SEP] Reward Details'
    """
    telling = re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE) if patterns else None
    if telling is None:
        return text
    pieces = ["", *_SEPARATOR.split(text)]
    kept: list[str] = []
    dropped, changed = False, False
    for separator, unit in zip(pieces[::2], pieces[1::2], strict=True):
        dropped = bool(telling.search(unit)) or (dropped and bool(_NUMBER.fullmatch(unit)))
        changed |= dropped
        if not dropped:
            kept += [separator, unit] if kept else [unit]
    return ("".join(kept).strip() or NOT_SHOWN) if changed else text


def hide_outcome(steps: Sequence[Step], patterns: Sequence[str] = OUTCOME_PATTERNS) -> list[Step]:
    """The steps as a judge may see them: observations without lines on the outcome, and no last feedback."""
    hidden = [
        attrs.evolve(
            step,
            observation=without_outcome(step.observation, patterns),
            feedback=without_outcome(step.feedback, patterns),
        )
        for step in steps
    ]
    return [*hidden[:-1], attrs.evolve(hidden[-1], feedback=NOT_SHOWN)] if hidden else []
