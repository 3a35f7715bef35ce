"""`PromptedActor`: a chat model that writes its action."""

import re
from collections.abc import Mapping
from typing import Any

from agentkit.actors.readout import ConstrainedReadoutActor
from agentkit.decisions import Decision, Query
from agentkit.models.chat_service import ChatRequest
from agentkit.models.failures import ServiceError
from agentkit.models.prompted import Prompted

OPEN_SYSTEM = (
    "You are an agent in a text environment. Reach the goal. "
    'You may think first. End with one line "Action: ", followed by your next action.'
)


class PromptedActor:
    """``actor(observation, info) -> action`` from a chat model.

    Among admissible actions, which the prompt lists with labels, the model answers with a label, and the action is
    never another one. Where the environment is open-ended (no admissible actions, a form in ``info["action_hint"]``),
    the model writes the action itself, after ``Action:``.

    Args:
        model: how the chat model is asked, with its thinking, samples and retries.
        temperature: among admissible actions as in `ConstrainedReadoutActor`; the chat's own when it writes the action.
        history: how many past steps the prompt shows.
        seed: makes the choice among admissible actions reproducible.
    """

    def __init__(self, model: Prompted, temperature: float = 0.0, history: int = 4, seed: int | None = None):
        self.model = model
        self.temperature = temperature
        self._closed = ConstrainedReadoutActor(model, temperature, history, seed)
        self._memory = self._closed.memory

    @property
    def distribution(self) -> dict[str, float]:
        """The probability of each admissible action at the last call; empty when the model wrote the action itself."""
        return self._closed.distribution

    def reset(self) -> None:
        """Forget the past; `rollout` calls it as an episode starts."""
        self._closed.reset()

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Remember a step that another player chose."""
        self._memory.add(observation, action)

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action.

        Raises:
            RuntimeError: the model gave no readable answer.
        """
        if info.get("admissible_actions"):
            return self.choose(self.model([self.query(observation, info)])[0], observation)
        self._closed.distribution = {}
        action = self._write(observation, info)
        self._memory.add(observation, action)
        return action

    def query(self, observation: str, info: Mapping[str, Any]) -> Query:
        """What the model is asked where actions are listed.

        Raises:
            ValueError: they are not.
        """
        return self._closed.query(observation, info)

    def choose(self, decision: Decision, observation: str) -> str:
        """The action that the model's answer to `query` leads to; it is remembered.

        Raises:
            RuntimeError: the model gave no answer.
        """
        return self._closed.choose(decision, observation)

    def _write(self, observation: str, info: Mapping[str, Any]) -> str:
        hint = info.get("action_hint")
        context = self._memory.context(observation, info) + (f"\nActions: {hint}" if hint else "")
        messages = ({"role": "system", "content": OPEN_SYSTEM}, {"role": "user", "content": context})
        trouble = "there was no reply"
        for attempt in range(self.model.retries + 1):
            temperature = self.temperature if attempt == 0 else max(self.temperature, 1.0)
            reply = self.model.chat([ChatRequest(messages, max(64, self.model.max_tokens), temperature)])[0]
            if isinstance(reply, ServiceError):
                raise RuntimeError(f"the model wrote no action: {reply.reason}")
            action = written_action(reply.text)
            if action:
                return action
            trouble = f"no line 'Action: ...' in {reply.text[:60]!r}"
        raise RuntimeError(f"the model wrote no action: {trouble}")


def written_action(text: str) -> str | None:
    """What stands after the last ``Action:`` at the start of a line; None without one.

    >>> written_action("I should look for mugs.\\nAction: search[red mug]")
    'search[red mug]'
    """
    found = re.findall(r"(?im)^\W*action\W*?:[ \t*`]*(.*?)[ \t*`]*$", text)
    return found[-1] or None if found else None
