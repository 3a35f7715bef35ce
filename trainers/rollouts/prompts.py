"""What a policy reads: prompt styles that turn an episode into token sequences, for rollouts and for fine-tuning alike.

*conversation*: one growing chat an episode. *windowed*: every turn is a chat of its own with the task, the last H
observations and actions, the current observation and the admissible actions, which is the protocol of verl-agent
(H = 2).
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

import attrs

from agentkit.models.chat import ChatEncoder, Message
from agentkit.trainers.rollouts.token_episode import Choice, Tokens, TokenSample

PromptStyleName: TypeAlias = Literal["conversation", "windowed"]
ActionStyleName: TypeAlias = Literal["constrained", "generated"]

SYSTEM_PROMPT = "You are an agent in a text environment. Reach the goal."


@attrs.frozen
class Wording:
    """The words around the environment's own.

    Args:
        action_style: ``"constrained"`` asks for the bare action, ``"generated"`` for one in tags.
        thought: whether generated text reasons before it acts.
        list_actions: whether every turn lists the admissible actions.
        system_prompt: the system message; "" = none.
    """

    action_style: ActionStyleName = "constrained"
    thought: bool = True
    list_actions: bool = False
    system_prompt: str = SYSTEM_PROMPT

    @property
    def instruction(self) -> str:
        """How to answer."""
        if self.action_style == "constrained":
            return "Answer with your next action only."
        if self.thought:
            return (
                "First reason step by step between <think> and </think>. Then give your next action between <action> "
                "and </action>."
            )
        return "Give your next action between <action> and </action>."

    def system(self, instruct: bool) -> list[Message]:
        """The system message, with the instruction when it stands nowhere else."""
        parts = [self.system_prompt, self.instruction if instruct else ""]
        text = " ".join(part for part in parts if part)
        return [{"role": "system", "content": text}] if text else []

    def turn(self, observation: str, info: Mapping[str, Any]) -> str:
        """An observation, followed by the actions that are possible."""
        actions = info.get("admissible_actions", ())
        if not self.list_actions or not (actions or info.get("action_hint")):
            return observation
        listed = "\n".join(f"- {action}" for action in actions) or str(info["action_hint"])
        return f"{observation}\n\nAdmissible actions:\n{listed}"


class Transcript(Protocol):
    """One episode as it is written down, turn by turn."""

    samples: list[TokenSample]

    def prompt(self) -> Tokens:
        """The tokens that the next answer follows."""
        ...

    def add(self, choice: Choice, step: int | None) -> None:
        """Write an answer down, as the action of a step; None = it was withheld and not executed."""
        ...

    def observe(self, observation: str, info: Mapping[str, Any]) -> None:
        """Write down what the environment answered."""
        ...


class PromptStyle(Protocol):
    """Starts transcripts."""

    @property
    def encoder(self) -> ChatEncoder:
        """The chat template."""
        ...

    def start(self, observation: str, info: Mapping[str, Any]) -> Transcript:
        """The transcript of an episode that begins with this observation."""
        ...


def answer_ids(encoder: ChatEncoder, action: str) -> Tokens:
    """The tokens of an action as an answer, with the token that ends it."""
    return encoder.encode_text(action) + encoder.terminator
