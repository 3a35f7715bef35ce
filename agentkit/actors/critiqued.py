"""`CritiquedActor`: a critic comments on each proposal, and the actor may choose again."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from agentkit.actors.telling import Actor, asked_again, distribution_of, restart, tell

logger = logging.getLogger(__name__)

Critic: TypeAlias = Callable[[str, Mapping[str, Any], str], str | None]
"""``critic(observation, info, proposal) -> critique``; None when it has nothing to say."""


class CritiquedActor:
    """Asks an actor for a proposal, a critic for a critique of it, and, where there is one, the actor once more.

    The critique stands after the observation, and the second answer is final. With a critic that knows more than the
    actor this is asymmetric actor-critic (see `agentkit.actors.asymmetric_critic`), with the actor's own model it is
    self-reflection (see `agentkit.actors.self_reflection`): two baselines of COTA (arXiv 2608.21027, Table 1).

    Args:
        actor: any actor.
        critic: ``critic(observation, info, proposal) -> critique``. One that raises leaves the proposal as it is, which
            is logged and counted.
    """

    def __init__(self, actor: Actor, critic: Critic):
        self.actor = actor
        self.critic = critic
        self.proposals = 0
        """How often the critic was asked."""
        self.interventions = 0
        """How often it had something to say."""
        self.failures = 0
        """How often it failed."""

    @property
    def distribution(self) -> Mapping[str, float]:
        """The wrapped actor's at its last call."""
        return distribution_of(self.actor)

    def reset(self) -> None:
        """Let the wrapped actor forget the past; the counts go on."""
        restart(self.actor)

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Tell the wrapped actor of a step that another player chose."""
        tell(self.actor, observation, info, action)

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The proposal, or what the actor chooses after the critique."""
        proposal = self.actor(observation, info)
        critique = self._critique(observation, info, proposal)
        if not critique:
            return proposal
        self.interventions += 1
        return self.actor(f"{observation}\n\n{critique}", asked_again(info))

    def _critique(self, observation: str, info: Mapping[str, Any], proposal: str) -> str | None:
        self.proposals += 1
        try:
            return self.critic(observation, info, proposal)
        except Exception as error:
            self.failures += 1
            logger.warning("the critic failed, the proposal goes through: %r", error)
            return None
