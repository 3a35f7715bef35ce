"""The *conversation* prompt style: one growing sequence an episode, whose observations are read but not trained on."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentkit.models.chat import ChatEncoder, Prompt
from agentkit.trainers.rollouts.prompts import Wording
from agentkit.trainers.rollouts.token_episode import Choice, Tokens, TokenSample


@attrs.frozen
class ConversationStyle:
    """Starts conversations: the goal and the first observation, then actions and observations in turn."""

    encoder: ChatEncoder
    wording: Wording = attrs.field(factory=Wording)

    def start(self, observation: str, info: Mapping[str, Any]) -> "Conversation":
        """The conversation up to the first action."""
        content = f"Goal: {info.get('goal', '')}\n\n{self.wording.turn(observation, info)}"
        chat = [*self.wording.system(instruct=True), {"role": "user", "content": content}]
        return Conversation(self, TokenSample(list(whole_prompt(self.encoder, self.encoder.prompt(chat)))))


class Conversation:
    """One episode as one sequence of tokens."""

    def __init__(self, style: ConversationStyle, sample: TokenSample):
        self._style = style
        self._sample = sample
        self.samples = [sample]

    def prompt(self) -> Tokens:
        """Everything so far."""
        return self._sample.ids

    def add(self, choice: Choice, step: int | None) -> None:
        """Append an answer; one that was cut off is ended by a token that the model did not choose."""
        self._sample.add_action(choice, step)
        terminator = self._style.encoder.terminator
        if choice.ids[-len(terminator) :] != terminator:
            self._sample.add_context(terminator)

    def observe(self, observation: str, info: Mapping[str, Any]) -> None:
        """Append what the environment answered, up to the next action."""
        encoder = self._style.encoder
        content = self._style.wording.turn(observation, info)
        self._sample.add_context(whole_prompt(encoder, encoder.continuation([{"role": "user", "content": content}])))


def whole_prompt(encoder: ChatEncoder, prompt: Prompt) -> Tokens:
    """A prompt's ids with those of the text that follows its last special token."""
    return prompt.ids + encoder.encode_text(prompt.tail)
