"""Collects a causal ledger: every state in which a gate would intervene, played on with and without it."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from agentkit.actors.telling import restart
from agentkit.causal.features import StateWatch
from agentkit.causal.ledger import LedgerEpisode, LedgerRow
from agentkit.journal import Journal
from agentkit.rollout import Actor


class _State(NamedTuple):
    """A decision state of the plain episode in which the gate would have intervened."""

    step: int
    proposal: str
    preferred: tuple[str, ...]
    features: dict[str, float | None]
    snapshot: Any


class _Outcome(NamedTuple):
    """How an episode ended."""

    won: bool
    total_reward: float
    steps: int


class _Plain(NamedTuple):
    """An episode in which every proposal was executed."""

    outcome: _Outcome
    actions: list[str]
    states: list[_State]
    task_id: str
    task_type: str


def collect_ledger(
    env: gym.Env,
    make_actor: Callable[[int], Actor],
    num_episodes: int,
    *,
    seed: int = 0,
    states_per_episode: int | None = None,
    out: str | os.PathLike[str] | None = None,
    settings: str = "",
    on_episode: Callable[[LedgerEpisode], Any] | None = None,
) -> list[LedgerEpisode]:
    """Play episodes without the gate, and again from each state in which it would have intervened, with it there only.

    Both arms are reset with the same seed and share the actor's seed, so they are one episode up to the state. There
    one arm lets the gate act (in every round of that state) and the other lets the proposal through; afterwards neither
    is gated, so that the difference is the effect of this one intervention. What the actor draws after the state is not
    common to the arms: a difference can be luck, which averages out over states.

    Args:
        env: an environment that can branch, inside a `ComparatorGateWrapper`. Without ``snapshot`` of its own, put
            `agentkit.wrappers.ReplaySnapshot` inside the gate.
        make_actor: ``seed -> actor``, an actor that does the same again when made with the same seed.
        num_episodes: episode i has the seed ``seed + i``.
        seed: of the first episode.
        states_per_episode: at most so many states of an episode, drawn without replacement; None = all of them.
        out: a JSONL file to which each finished episode is added; what it already holds is not played again.
        settings: says with what the ledger is collected (actor, comparator, gate); kept in the file.
        on_episode: called with each episode that was played, for progress.

    Raises:
        RuntimeError: the actor does not do the same again.
        ValueError: there is no gate in ``env``, it cannot branch, a number is below 1, or ``out`` was collected with
            other settings.
    """
    if num_episodes < 1 or (states_per_episode is not None and states_per_episode < 1):
        raise ValueError(
            f"num_episodes and states_per_episode must be at least 1, got {num_episodes} and {states_per_episode}"
        )
    if not env.has_wrapper_attr("would_intervene"):
        raise ValueError("there is no gate in env; put a ComparatorGateWrapper around it")
    if not env.has_wrapper_attr("snapshot"):
        raise ValueError("env cannot go back to a state; put agentkit.wrappers.ReplaySnapshot inside the gate")
    journal = None if out is None else Journal(out, LedgerEpisode)
    known = {} if journal is None else {episode.seed: episode for episode in _same_settings(journal, settings)}
    episodes = []
    for number in range(seed, seed + num_episodes):
        if number not in known:
            known[number] = _collect_episode(env, make_actor, number, states_per_episode, settings)
            if journal is not None:
                journal.add(known[number])
            if on_episode is not None:
                on_episode(known[number])
        episodes.append(known[number])
    return episodes


def _same_settings(journal: Journal[LedgerEpisode], settings: str) -> list[LedgerEpisode]:
    episodes = journal.entries()
    other = next((episode.settings for episode in episodes if episode.settings != settings), None)
    if other is not None:
        raise ValueError(f"{journal.path} was collected with {other!r}, not {settings!r}; choose another file")
    return episodes


def _collect_episode(
    env: gym.Env, make_actor: Callable[[int], Actor], seed: int, limit: int | None, settings: str
) -> LedgerEpisode:
    plain = _play_plain(env, make_actor(seed), seed)
    chosen = plain.states
    if limit is not None and len(chosen) > limit:
        drawn = np.random.default_rng(seed).choice(len(chosen), size=limit, replace=False)
        chosen = [chosen[i] for i in sorted(drawn)]
    rows = [_row(plain, state, seed, *_play_treated(env, make_actor(seed), seed, plain, state)) for state in chosen]
    return LedgerEpisode(
        seed=seed,
        task_id=plain.task_id,
        won=plain.outcome.won,
        steps=plain.outcome.steps,
        possible=len(plain.states),
        settings=settings,
        rows=rows,
    )


def _play_plain(env: gym.Env, actor: Actor, seed: int) -> _Plain:
    """The episode without interventions; the gate is asked in every state, but never acts."""
    observation, info = env.reset(seed=seed)
    restart(actor)
    watch = StateWatch()
    watch.reset(observation, info)
    actions: list[str] = []
    states: list[_State] = []
    total, ended = 0.0, False
    while not ended:
        proposal = actor(observation, info)
        examined = env.get_wrapper_attr("examine")(proposal)
        if env.get_wrapper_attr("would_intervene")(proposal):
            budget_left = env.get_wrapper_attr("budget_left")
            features = watch.features(examined, getattr(actor, "distribution", None), budget_left)
            snapshot = env.get_wrapper_attr("snapshot")()
            states.append(_State(len(actions), proposal, examined.preferred, features, snapshot))
        env.get_wrapper_attr("let_through")()
        observation, reward, terminated, truncated, info = env.step(proposal)
        watch.executed(proposal, observation, info)
        actions.append(proposal)
        total += float(reward)
        ended = terminated or truncated
    outcome = _Outcome(bool(info.get("won", False)), total, len(actions))
    return _Plain(outcome, actions, states, info.get("task_id", ""), info.get("task_type", ""))


def _play_treated(env: gym.Env, actor: Actor, seed: int, plain: _Plain, state: _State) -> tuple[_Outcome, str | None]:
    """The same episode with the gate at one state; how it ended, and what became of the advice."""
    observation, info = env.reset(seed=seed)
    restart(actor)
    total, steps, ended = 0.0, 0, False
    advice: str | None = None
    while not ended:
        proposal = actor(observation, info)
        if steps <= state.step and not _withheld(info):
            _check_reproduced(proposal, plain.actions[steps], steps)
        if steps == state.step and not _withheld(info):
            env.get_wrapper_attr("restore")(state.snapshot)  # the gate as it was, with what it had drawn and asked
        elif steps != state.step:
            env.get_wrapper_attr("let_through")()
        observation, reward, terminated, truncated, info = env.step(proposal)
        total += float(reward)
        steps += not _withheld(info)
        ended = terminated or truncated
        advice = info["gate"]["advice"] or advice
    return _Outcome(bool(info.get("won", False)), total, steps), advice


def _withheld(info: Mapping[str, Any]) -> bool:
    return bool((info.get("gate") or {}).get("withheld"))


def _check_reproduced(proposal: str, before: str, step: int) -> None:
    if proposal != before:
        raise RuntimeError(
            f"the actor is not reproducible: at step {step} it proposed {before!r} in one arm and {proposal!r} in the "
            "other; make_actor(seed) must return an actor that does the same again"
        )


def _row(plain: _Plain, state: _State, seed: int, treated: _Outcome, advice: str | None) -> LedgerRow:
    return LedgerRow(
        task_id=plain.task_id,
        task_type=plain.task_type,
        seed=seed,
        step=state.step,
        proposal=state.proposal,
        preferred=state.preferred,
        features=state.features,
        advice=advice,
        won_without=plain.outcome.won,
        won_with=treated.won,
        return_without=plain.outcome.total_reward,
        return_with=treated.total_reward,
        steps_without=plain.outcome.steps,
        steps_with=treated.steps,
    )
