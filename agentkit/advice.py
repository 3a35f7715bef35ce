"""Advice that does not bind: the sentence that hands preferred actions to an actor, and how to read it."""

import re
from collections.abc import Sequence

_ADVICE = re.compile(
    r"Advice \(you may ignore it\): instead of '(?P<proposal>.*)', consider '(?P<actions>.*)'\. Choose your action\.\Z",
    re.DOTALL,
)
_BETWEEN = "', '"


def advice_sentence(proposal: str, preferred: Sequence[str]) -> str:
    """Advice to consider the preferred actions instead of the proposal.

    >>> advice_sentence("look", ["take key", "open door"])
    "Advice (you may ignore it): instead of 'look', consider 'take key', 'open door'. Choose your action."
    """
    listed = ", ".join(f"'{action}'" for action in preferred)
    return f"Advice (you may ignore it): instead of '{proposal}', consider {listed}. Choose your action."


def with_advice(observation: str, proposal: str, preferred: Sequence[str]) -> str:
    """The observation, followed by the advice."""
    return f"{observation}\n\n{advice_sentence(proposal, preferred)}"


def advised_actions(observation: str) -> tuple[str, ...]:
    """The actions that the advice at the end of an observation names, in its order; none where there is no advice.

    >>> advised_actions(with_advice("A hall.", "look", ["take key", "open door"]))
    ('take key', 'open door')
    >>> advised_actions("A hall.")
    ()
    """
    match = _ADVICE.search(observation)
    return tuple(match["actions"].split(_BETWEEN)) if match else ()
