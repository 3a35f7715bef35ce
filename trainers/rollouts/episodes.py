"""Plays many episodes at once: one call of the model a turn answers for all that are still live."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import attrs
import gymnasium as gym
import numpy as np

from agentkit.episode import EpisodeBuilder
from agentkit.trainers.robustness.guarding import EnvFailureError, mark_failed
from agentkit.trainers.robustness.stopwatch import POLICY, WRAPPERS, Stopwatch
from agentkit.trainers.rollouts.actions import ActionStyle, Request
from agentkit.trainers.rollouts.prompts import PromptStyle
from agentkit.trainers.rollouts.token_episode import Choice, TokenEpisode
from agentkit.trajectory import Step, Trajectory

INVALID = "invalid_action"
"""The key of ``Step.info`` that marks a step whose text named no admissible action."""

Item = TypeVar("Item")


@attrs.frozen
class Start:
    """Where one episode begins."""

    seed: int | None
    group: str | None
    rng: np.random.Generator
    """Draws this episode's actions."""
    options: dict[str, Any] | None = None


@attrs.frozen(kw_only=True)
class Limits:
    """When an episode is cut, and what an invalid action costs."""

    max_turns: int
    """Executed actions."""
    max_tokens: int
    """Tokens after the first prompt of the longest sequence."""
    invalid_action_penalty: float = 0.0
    """Added to the rewards of a step whose action was invalid; at most 0."""
    max_positions: int | None = None
    """What the model's positions allow; a prompt that leaves no room for an answer cuts the episode."""
    answer_tokens: int = 0
    """The room that an answer needs."""


class LiveEpisode:
    """One episode in play, after its reset."""

    def __init__(self, env: gym.Env, start: Start, style: PromptStyle, limits: Limits):
        observation, self._info = env.reset(seed=start.seed, options=start.options)
        self._env, self._limits, self._rng = env, limits, start.rng
        self._transcript = style.start(observation, self._info)
        self._builder = EpisodeBuilder(observation, self._info, seed=start.seed, group=start.group)
        self._invalid: list[bool] = []
        self._failure: EnvFailureError | None = None
        self._cut = False
        self.ended = False

    def request(self) -> Request:
        """What the policy is asked next."""
        return Request(self._transcript.prompt(), self._info, self._rng)

    def act(self, choice: Choice) -> None:
        """Do what the policy answered; an action that a gate withholds stays in the text, but belongs to no step."""
        try:
            observation, reward, terminated, truncated, self._info = self._env.step(choice.action)
        except EnvFailureError as failure:
            self._failure, self.ended = failure, True
            return
        steps = self._builder.steps
        step = self._builder.add(
            choice.action, observation, float(reward), terminated, truncated, self._info, choice.probability
        )
        self._transcript.add(choice, None if step is None else len(steps) - 1)
        if step is not None:
            self._invalid.append(not choice.valid)
        self.ended = terminated or truncated
        if not self.ended:
            self._go_on(observation)

    def _go_on(self, observation: str) -> None:
        limits = self._limits
        written = max((len(sample.completion_ids) for sample in self._transcript.samples), default=0)
        self._cut = len(self._builder.steps) >= limits.max_turns or written >= limits.max_tokens
        if not self._cut:
            self._transcript.observe(observation, self._info)
            room = None if limits.max_positions is None else limits.max_positions - len(self._transcript.prompt())
            self._cut = room is not None and room < limits.answer_tokens
        self.ended = self._cut

    def result(self) -> TokenEpisode:
        """The finished episode, with the penalties for invalid actions in its rewards; a failed one has no samples."""
        trajectory = self._builder.trajectory()
        if self._failure is not None:
            return TokenEpisode((), mark_failed(trajectory, self._failure))
        if self._cut:
            trajectory = attrs.evolve(trajectory, truncated=True)
        penalty = self._limits.invalid_action_penalty
        steps = [
            _penalised(step, penalty) if invalid else step
            for step, invalid in zip(trajectory.steps, self._invalid, strict=True)
        ]
        return TokenEpisode(self._transcript.samples, attrs.evolve(trajectory, steps=steps))


class UnstartedEpisode:
    """An episode whose environment failed before it began."""

    ended = True

    def __init__(self, start: Start, failure: EnvFailureError):
        self._start, self._failure = start, failure

    def result(self) -> TokenEpisode:
        """An episode of no steps, marked as failed."""
        nothing = Trajectory(goal="", steps=(), seed=self._start.seed, group=self._start.group)
        return TokenEpisode((), mark_failed(nothing, self._failure))


def begin(env: gym.Env, start: Start, style: PromptStyle, limits: Limits) -> LiveEpisode | UnstartedEpisode:
    """Reset an environment for an episode; its failure costs that episode alone (see `robustness.guarding`)."""
    try:
        return LiveEpisode(env, start, style, limits)
    except EnvFailureError as failure:
        return UnstartedEpisode(start, failure)


def play_episodes(
    envs: Sequence[gym.Env],
    starts: Sequence[Start],
    style: PromptStyle,
    actions: ActionStyle,
    limits: Limits,
    *,
    stopwatch: Stopwatch | None = None,
    threads: int = 1,
    anyone_live: Callable[[bool], bool] = bool,
) -> list[TokenEpisode]:
    """Play one episode for each start, all together; those that finish leave the batch.

    Args:
        envs: one for each start.
        starts: N of them.
        style: how prompts are written.
        actions: how the policy answers.
        limits: when episodes are cut.
        stopwatch: counts seconds of policy and environments.
        threads: how many environments step at the same time; worth it where judges wait for a server.
        anyone_live: whether to go on, given whether an episode here is live; overridden where all processes must take
            part in every call of the policy.

    Returns:
        N episodes, in order.
    """
    clock = stopwatch or Stopwatch()
    with _mapping(threads) as each:
        with clock.timing(WRAPPERS):
            pairs = zip(envs, starts, strict=True)
            episodes = list(each(lambda pair: begin(pair[0], pair[1], style, limits), pairs))
        live = [episode for episode in episodes if isinstance(episode, LiveEpisode)]
        while anyone_live(bool(live)):
            with clock.timing(POLICY):
                choices = actions.choose([episode.request() for episode in live])
            with clock.timing(WRAPPERS):
                list(each(lambda pair: pair[0].act(pair[1]), zip(live, choices, strict=True)))
            live = [episode for episode in live if not episode.ended]
    return [episode.result() for episode in episodes]


@contextmanager
def _mapping(threads: int) -> Iterator[Callable[[Callable[[Any], Item], Iterable[Any]], Iterable[Item]]]:
    """``map``, in several threads where that is asked for."""
    if threads <= 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map


def _penalised(step: Step, penalty: float) -> Step:
    """The step with the penalty in every reward of it, as if the environment itself had charged it."""
    return attrs.evolve(
        step,
        reward=step.reward + penalty,
        raw_reward=None if step.raw_reward is None else step.raw_reward + penalty,
        shaped_reward=None if step.shaped_reward is None else step.shaped_reward + penalty,
        info={**step.info, INVALID: True},
    )


def invalid_actions(trajectory: Trajectory) -> int:
    """How many steps had an invalid action."""
    return sum(bool(step.info.get(INVALID)) for step in trajectory.steps)
