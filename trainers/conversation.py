"""Rollouts as one growing conversation, with actions chosen among the admissible ones."""

from typing import Any

import gymnasium as gym
import numpy as np

from agentkit.decisions import softmax
from agentkit.episode import EpisodeBuilder
from agentkit.models.readout import ConstrainedReadout
from agentkit.trainers.token_episode import TokenEpisode


class ConversationPolicy:
    """Samples actions from a language model in a conversation, and keeps the tokens that it sampled.

    Each admissible action is scored as a whole token sequence (terminator included) after the conversation so far,
    whose keys and values are kept, so that a turn encodes only what came since the last one.

    Args:
        readout: the model as a constrained readout.
        system_prompt: the system message.
        temperature: of the softmax over summed log-probabilities that is sampled.
    """

    def __init__(self, readout: ConstrainedReadout, system_prompt: str, temperature: float = 1.0):
        self.readout, self.system_prompt, self.temperature = readout, system_prompt, temperature
        self.distribution: dict[str, float] = {}

    def start(self, observation: str, info: dict[str, Any]) -> TokenEpisode:
        """The conversation up to the first action."""
        system = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        content = f"Goal: {info.get('goal', '')}\n\n{observation}"
        prompt = self.readout.encoder.prompt([*system, {"role": "user", "content": content}])
        return TokenEpisode(list(prompt.ids + self.readout.encoder.encode_text(prompt.tail)))

    def choose(self, episode: TokenEpisode, actions: tuple[str, ...], step: int, rng: np.random.Generator) -> str:
        """Sample an action, append its tokens and return it.

        Raises:
            ValueError: there is no admissible action to choose.
        """
        if not actions:
            raise ValueError("info['admissible_actions'] is empty; constrained rollouts need a closed set of actions")
        encoder = self.readout.encoder
        answers = [encoder.encode_text(action) + encoder.terminator for action in actions]
        parts = self.readout.score_tokens(episode.ids, answers)
        probabilities = softmax([part.sum() / self.temperature for part in parts])
        index = int(rng.choice(len(actions), p=probabilities))
        self.distribution = dict(zip(actions, probabilities.tolist(), strict=True))
        episode.add_action(answers[index], parts[index], step)
        return actions[index]

    def observe(self, episode: TokenEpisode, observation: str) -> None:
        """Append what the environment answered, up to the next action."""
        following = self.readout.encoder.continuation([{"role": "user", "content": observation}])
        episode.add_context(following.ids + self.readout.encoder.encode_text(following.tail))


def play_conversation(
    env: gym.Env,
    policy: ConversationPolicy,
    *,
    seed: int | None,
    group: str | None,
    rng: np.random.Generator,
    max_turns: int,
    max_tokens: int,
) -> TokenEpisode:
    """Play one episode; an action that a gate withholds stays in the conversation, but belongs to no step.

    An episode that reaches ``max_turns`` executed actions, or whose conversation reaches ``max_tokens`` tokens, is cut.
    """
    observation, info = env.reset(seed=seed)
    episode = policy.start(observation, info)
    builder = EpisodeBuilder(observation, info, seed=seed, group=group)
    ended = False
    while not ended:
        action = policy.choose(episode, info["admissible_actions"], len(builder.steps), rng)
        probability = policy.distribution[action]
        observation, reward, terminated, truncated, info = env.step(action)
        step = builder.add(action, observation, float(reward), terminated, truncated, info, probability)
        if step is None:
            _disown_last_action(episode, len(builder.steps))
        full = len(builder.steps) >= max_turns or len(episode.completion_ids) >= max_tokens
        ended = terminated or truncated or full
        if not ended:
            policy.observe(episode, observation)
    episode.trajectory = builder.trajectory()
    return episode


def _disown_last_action(episode: TokenEpisode, step: int) -> None:
    """A withheld action was not executed: its tokens get no credit from the step that replaced it."""
    for i in range(len(episode.step_ids) - 1, -1, -1):
        if episode.step_ids[i] != step:
            break
        episode.step_ids[i] = -1
