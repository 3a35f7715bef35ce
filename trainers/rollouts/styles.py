"""Prompt styles by name, and recorded episodes as the sequences that rollouts would have made of them."""

from collections.abc import Callable, Sequence
from typing import Any

from agentkit.models.chat import ChatEncoder
from agentkit.trainers.rollouts.conversation import ConversationStyle
from agentkit.trainers.rollouts.prompts import PromptStyle, PromptStyleName, Wording, answer_ids
from agentkit.trainers.rollouts.token_episode import Choice, TokenEpisode
from agentkit.trainers.rollouts.windowed import WindowedStyle
from agentkit.trajectory import Trajectory


def make_style(name: PromptStyleName, encoder: ChatEncoder, wording: Wording, window: int = 2) -> PromptStyle:
    """The prompt style of that name.

    Raises:
        ValueError: an unknown name, or a window below 0.
    """
    if name == "conversation":
        return ConversationStyle(encoder, wording)
    if name == "windowed":
        return WindowedStyle(encoder, wording, window)
    raise ValueError(f"prompt_style must be 'conversation' or 'windowed', got {name!r}")


def replay(trajectory: Trajectory, style: PromptStyle, answer: Callable[[str], str] = str) -> TokenEpisode:
    """A recorded episode as the sequences that its actions would be trained on, e.g. for supervised fine-tuning.

    Log-probabilities are 0: nothing was sampled.

    Args:
        trajectory: the episode.
        style: how it is written down.
        answer: an action as the model is to write it, such as one in tags.
    """
    steps = trajectory.steps
    infos = [_info(trajectory.goal, step.admissible_actions) for step in steps]
    transcript = style.start(steps[0].observation, infos[0]) if steps else None
    if transcript is None:
        return TokenEpisode((), trajectory)
    for t, step in enumerate(steps):
        ids = answer_ids(style.encoder, answer(step.action))
        transcript.add(Choice(step.action, ids, [0.0] * len(ids)), t)
        if t + 1 < len(steps):
            transcript.observe(steps[t + 1].observation, infos[t + 1])
    return TokenEpisode(transcript.samples, trajectory)


def _info(goal: str, actions: Sequence[str]) -> dict[str, Any]:
    return {"goal": goal, "admissible_actions": tuple(actions)}
