"""`Player`: the environments and the policy of a trainer, ready to play batches of episodes."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import TimeLimit

from agentkit.models.readout import ConstrainedReadout
from agentkit.trainers.config import AgentGRPOConfig
from agentkit.trainers.robustness.guarding import GuardedEnv
from agentkit.trainers.robustness.stopwatch import ClockedEnv, Stopwatch
from agentkit.trainers.rollouts.actions import ActionStyle, ConstrainedActions, GeneratedActions, TextGenerator
from agentkit.trainers.rollouts.episodes import Limits, Start, play_episodes
from agentkit.trainers.rollouts.styles import make_style
from agentkit.trainers.rollouts.text_generation import LocalGenerator
from agentkit.trainers.rollouts.token_episode import TokenEpisode

LONGEST_CHOICE = 64
"""Tokens that are kept free for an admissible action."""


class Player:
    """Plays episodes with a policy; environments are made as they are needed and used again.

    Args:
        env_factory: makes a text environment.
        wrappers: callables applied to each environment, innermost first, on top of a `TimeLimit`.
        args: the configuration.
        tokenizer: the policy's.
        stopwatch: counts seconds.
    """

    def __init__(
        self,
        env_factory: Callable[[], gym.Env],
        wrappers: Sequence[Callable[[gym.Env], gym.Env]],
        args: AgentGRPOConfig,
        tokenizer: Any,
        stopwatch: Stopwatch,
    ):
        self._factory, self._wrappers, self._args = env_factory, wrappers, args
        self._tokenizer, self._stopwatch = tokenizer, stopwatch
        self._readout: ConstrainedReadout | None = None
        self._generators: dict[float, LocalGenerator] = {}
        self.envs: list[gym.Env] = []

    def play(
        self,
        model: Any,
        starts: Sequence[Start],
        *,
        temperature: float | None = None,
        generator: TextGenerator | None = None,
        anyone_live: Callable[[bool], bool] = bool,
        places: Sequence[int] | None = None,
    ) -> list[TokenEpisode]:
        """Play one episode for each start.

        Args:
            model: the policy's bare language model.
            starts: N of them.
            temperature: of actions or text; None = as configured for training.
            generator: continues prompts instead of the model itself (vLLM).
            anyone_live: see `play_episodes`.
            places: which environment plays each episode; None = the first N. An episode that is played again keeps its
                own, which makes a fresh one of itself.
        """
        slots = range(len(starts)) if places is None else places
        self.prepare(max(slots, default=-1) + 1)
        args = self._args
        readout = self._fresh_readout(model, len(starts))
        limits = Limits(
            max_turns=args.max_turns,
            max_tokens=args.max_completion_length or 4096,
            invalid_action_penalty=args.invalid_action_penalty,
            max_positions=getattr(model.config.get_text_config(), "max_position_embeddings", None),
            answer_tokens=args.max_action_tokens if args.action_style == "generated" else LONGEST_CHOICE,
        )
        return play_episodes(
            [self.envs[slot] for slot in slots],
            starts,
            make_style(args.prompt_style, readout.encoder, args.wording, args.window),
            self._actions(readout, temperature, generator),
            limits,
            stopwatch=self._stopwatch,
            threads=args.env_threads,
            anyone_live=anyone_live,
        )

    def prepare(self, count: int) -> None:
        """Make environments until there are ``count``."""
        while len(self.envs) < count:
            self.envs.append(self._make_env())

    def close(self) -> None:
        """Close all environments."""
        while self.envs:
            self.envs.pop().close()

    def _make_env(self) -> gym.Env:
        # Inside the wrappers, so that a judge's time is not the environment's, nor its errors.
        guarded = GuardedEnv(self._factory, self._args.env_timeout)
        env: gym.Env = TimeLimit(ClockedEnv(guarded, self._stopwatch), self._args.max_turns)
        for wrapper in self._wrappers:
            env = wrapper(env)
        return env

    def _fresh_readout(self, model: Any, live: int) -> ConstrainedReadout:
        if self._readout is None or self._readout.scorer.model is not model:
            self._readout, self._generators = ConstrainedReadout(model, self._tokenizer), {}
        scorer = self._readout.scorer
        scorer.forget()  # keys and values of an earlier policy
        if scorer.remembered:
            scorer.remembered = max(scorer.remembered, live)  # so that no live conversation is encoded twice
        return self._readout

    def _actions(
        self, readout: ConstrainedReadout, temperature: float | None, generator: TextGenerator | None
    ) -> ActionStyle:
        args = self._args
        if args.action_style == "constrained":
            return ConstrainedActions(readout, args.action_temperature if temperature is None else temperature)
        heat = args.temperature if temperature is None else temperature
        return GeneratedActions(generator or self._local(readout, heat), self._decode, args.thought)

    def _local(self, readout: ConstrainedReadout, temperature: float) -> LocalGenerator:
        """One for each temperature: it keeps the buffers and graphs that it decodes with."""
        if temperature not in self._generators:
            self._generators[temperature] = LocalGenerator(
                readout.scorer.model,
                self._tokenizer,
                readout.encoder.terminator,
                self._args.max_action_tokens,
                temperature,
            )
        return self._generators[temperature]

    def _decode(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=True)
