"""The *windowed* prompt style: every turn is a sequence of its own (verl-agent's protocol)."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentkit.models.chat import ChatEncoder
from agentkit.trainers.rollouts.conversation import whole_prompt
from agentkit.trainers.rollouts.prompts import Wording
from agentkit.trainers.rollouts.token_episode import Choice, Tokens, TokenSample


@attrs.frozen
class WindowedStyle:
    """Each turn shows the task, the last H observations and actions, and the current observation.

    Args:
        window: H, at least 0; verl-agent shows 2.

    Raises:
        ValueError: the window is below 0.
    """

    encoder: ChatEncoder
    wording: Wording = attrs.field(factory=lambda: Wording(list_actions=True))
    window: int = 2

    def __attrs_post_init__(self) -> None:
        if self.window < 0:
            raise ValueError(f"window must be at least 0 past steps, got {self.window}")

    def start(self, observation: str, info: Mapping[str, Any]) -> "Windows":
        """A transcript without any turn yet."""
        return Windows(self, observation, info)


class Windows:
    """One episode as one sequence a turn; a withheld proposal makes none."""

    def __init__(self, style: WindowedStyle, observation: str, info: Mapping[str, Any]):
        self._style = style
        self._goal = info.get("goal", "")
        self._past: list[tuple[str, str]] = []
        self._current = observation
        self._executed: str | None = None
        self.samples: list[TokenSample] = []
        self._enter(observation, info)

    def prompt(self) -> Tokens:
        """This turn's chat."""
        return self._prompt

    def add(self, choice: Choice, step: int | None) -> None:
        """Keep the turn as a sequence, unless it was withheld."""
        self._executed = None if step is None else choice.action
        if step is not None:
            sample = TokenSample(list(self._prompt))
            sample.add_action(choice, step)
            self.samples.append(sample)

    def observe(self, observation: str, info: Mapping[str, Any]) -> None:
        """Go on to the next turn; after a withheld proposal the same state is shown again, with the advice."""
        if self._executed is not None:
            self._past.append((self._current, self._executed))
        self._enter(observation, info)

    def _enter(self, observation: str, info: Mapping[str, Any]) -> None:
        self._current = observation
        wording, encoder = self._style.wording, self._style.encoder
        parts = [f"Goal: {self._goal}", *self._history()]
        parts += [f"Current observation: {wording.turn(observation, info)}", wording.instruction]
        chat = [*wording.system(instruct=False), {"role": "user", "content": "\n\n".join(parts)}]
        self._prompt = whole_prompt(encoder, encoder.prompt(chat))

    def _history(self) -> list[str]:
        shown = self._past[len(self._past) - min(self._style.window, len(self._past)) :]
        if not shown:
            return []
        first = len(self._past) - len(shown) + 1
        lines = [
            f"Observation {first + i}: {seen}\nAction {first + i}: {action}" for i, (seen, action) in enumerate(shown)
        ]
        return [f"Steps taken so far: {len(self._past)}. The last of them:", *lines]
