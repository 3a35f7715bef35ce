"""Critics that write corrections: a stronger chat model, or one that knows the whole state."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

from agentkit.actors.critiqued import Critic
from agentkit.advice import advice_sentence
from agentkit.models.chat_service import Chat, ChatRequest
from agentkit.models.failures import ServiceError

SYSTEM = (
    "You supervise an agent in a text environment. Say in one or two sentences what is wrong with its next action and "
    "what to do instead. If the action is right, answer OK."
)
_APPROVAL = ("ok", "okay")


def planner_critic(env: gym.Env) -> Critic:
    """A critic with privileged information: it corrects every proposal that is not the expert's own action.

    Args:
        env: the environment that is played, with any wrappers; its innermost one has an ``expert_action()``.

    Raises:
        TypeError: it has none.
    """
    inner: Any = env.unwrapped
    if not hasattr(inner, "expert_action"):
        raise TypeError(
            "planner_critic needs an environment with an expert_action() method, such as ALFWorldEnv, "
            f"got {type(inner).__name__}"
        )

    def critic(observation: str, info: Mapping[str, Any], proposal: str) -> str | None:
        try:
            expert = inner.expert_action()
        except ValueError:  # nothing wins from here, so there is nothing to say
            return None
        return None if proposal == expert else advice_sentence(proposal, [expert])

    return critic


def chat_critic(chat: Chat, privileged: Callable[[], str] | None = None, max_tokens: int = 120) -> Critic:
    """A chat model that reads the state and the proposal, and writes a correction, or OK.

    Args:
        chat: the model.
        privileged: says, at each call, what the critic may know and the actor may not; None = nothing.
        max_tokens: of a correction.

    The critic raises RuntimeError when the service gives no reply.
    """

    def critic(observation: str, info: Mapping[str, Any], proposal: str) -> str | None:
        lines = [f"Goal: {info.get('goal', '')}", f"Observation: {observation}"]
        if info.get("admissible_actions"):
            lines.append(f"Possible actions: {'; '.join(info['admissible_actions'])}")
        if privileged is not None:
            lines.append(f"What only you know: {privileged()}")
        lines.append(f"The agent's next action: {proposal}")
        messages = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": "\n".join(lines)})
        reply = chat([ChatRequest(messages, max_tokens)])[0]
        if isinstance(reply, ServiceError):
            raise RuntimeError(f"no critique: {reply.reason}")
        text = reply.text.strip()
        return None if not text or text.rstrip(".!").casefold() in _APPROVAL else f"Critique of '{proposal}': {text}"

    return critic
