"""Self-reflection: the model that acts is asked whether its own proposal is a mistake."""

from collections.abc import Mapping
from typing import Any

from agentkit.actors.critiqued import Critic
from agentkit.decisions import DecisionModel, Query, Question

SYSTEM = "You are an agent in a text environment. Check your own next action before it is executed."
QUESTION = "You are about to do: {proposal}\nIs this action a mistake?"


def reflection(model: DecisionModel, threshold: float = 0.5) -> Critic:
    """The critic of a `CritiquedActor` that is the actor's own model: may it choose again?

    How COTA's baseline reflects is not said; here the model answers yes or no, which costs one more call a step and
    needs no model that writes (a reading).

    Args:
        model: the decision model that acts.
        threshold: the probability of "yes" above which the action is chosen again, in [0, 1].

    Raises:
        ValueError: ``threshold`` is no probability.

    The critic raises RuntimeError when the model gives no answer.
    """
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold is a probability and must be in [0, 1], got {threshold!r}")

    def critic(observation: str, info: Mapping[str, Any], proposal: str) -> str | None:
        context = f"Goal: {info.get('goal', '')}\nObservation: {observation}"
        decision = model([Query(context, Question(QUESTION.format(proposal=proposal)), SYSTEM)])[0]
        if decision.unscored is not None:
            raise RuntimeError(f"no reflection: {decision.unscored}")
        if decision.value <= threshold:
            return None
        return f"On reflection, '{proposal}' may be a mistake. Choose your action once more."

    return critic
