"""`collect_branches`: same-prefix counterfactual branches, what comparators learn from (COTA, arXiv 2608.21027)."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym

from agentkit.branches import SHARES, BranchEpisode, BranchPair
from agentkit.journal import Journal
from agentkit.trainers.branching.collection import BranchCollector, BranchSettings, MakeCandidates
from agentkit.trainers.branching.plays import MakeActor, branching
from agentkit.trainers.branching.progress import BranchProgress, ProgressCount


def collect_branches(
    env: gym.Env | Callable[[], gym.Env],
    make_actor: MakeActor,
    num_episodes: int,
    *,
    k: int = 4,
    make_candidates: MakeCandidates | None = None,
    make_continuation: MakeActor | None = None,
    continuations: int = 1,
    states_per_episode: int | None = None,
    discount: float = 1.0,
    margin: float = 0.0,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    num_envs: int = 1,
    out: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    on_progress: Callable[[BranchProgress], Any] | None = None,
) -> list[BranchPair]:
    """Play episodes; in their states take the proposal and K alternatives, let the actor go on from each, and compare.

    All branches of a state start from one snapshot, and their j-th continuations share the actor's seed, so that the
    actions make the difference. A continuation's return is the sum of ``discount ** t`` times the reward, t = 0 for the
    branch's own action; of several continuations the mean counts. Without a discount, an action that only wastes a step
    before a success is a tie (readings: the paper says "compare returns", and names neither discount nor margin).

    A continuation in which the actor raises is *unscored*: it is left out of the mean, and an action without any scored
    one is in no pair. The result depends on the seeds, not on ``num_envs`` or on interruptions (as far as a model's
    answers do not depend on its batches).

    Args:
        env: an environment, or what makes one; without ``snapshot``, `ReplaySnapshot` is put around it.
        make_actor: makes the actor for an environment and a seed. It is told what happened before a branch through its
            ``observe(observation, info, action)``, which an actor with a memory must have.
        num_episodes: episode i is reset with ``seed + i``.
        k: the most alternatives in a state.
        make_candidates: ``(actor, seed) -> candidates``; None = admissible actions, drawn without replacement.
        make_continuation: makes the actor that goes on after each branch; None = ``make_actor``.
        continuations: how many after each action, each with a seed of its own.
        states_per_episode: at most so many, drawn without replacement; None = all that have an alternative.
        discount: of later rewards, in (0, 1].
        margin: mean returns that differ by no more than this make a tie.
        shares: of training, validation and test tasks; all episodes of a task are in one split (`split_of`).
        seed: of the first episode, at least 0; also that of the split.
        num_envs: how many branches are played side by side, where ``env`` makes environments. It pays with actors that
            share a model, which is then asked for all of them at once.
        out: a JSONL file to which finished episodes are added (`load_branches`); what it holds is not played again.
        settings: JSON values that say with what the branches are collected (environment, actors, candidates); they are
            kept in the file, which takes no branches that were collected with others.
        on_progress: called after each continuation and each finished episode.

    States that an earlier episode has already branched (same task, same history) are not branched again.

    Returns:
        The pairs, proposal first, in the order of the episodes.

    Raises:
        ValueError: a number is out of its range, ``num_envs`` is above 1 for a single environment, or ``out`` was
            collected with other settings.
        RuntimeError: the actor failed in an episode of its own, or in every branch of one; what was finished is in
            ``out``, and the same call goes on from there.
    """
    described = BranchSettings(
        k=k,
        continuations=continuations,
        states_per_episode=states_per_episode,
        discount=discount,
        margin=margin,
        shares=tuple(map(float, shares)),
        split_seed=seed,
        note=dict(settings or {}),
    )
    envs = _open(env, num_envs)
    wanted = _seeds(seed, num_episodes)
    journal = None if out is None else Journal(out, BranchEpisode)
    known = {} if journal is None else _known(journal, described)
    collector = BranchCollector(envs, make_actor, make_continuation or make_actor, make_candidates, described)
    for episode in known.values():
        collector.remember(episode)
    missing = [number for number in wanted if number not in known]
    count = ProgressCount(on_progress, len(wanted), len(missing))
    chunk = max(1, num_envs // (k + 1))  # enough episodes for their first states' branches to fill the environments
    for i in range(0, len(missing), chunk):
        for episode in collector.collect(missing[i : i + chunk], count):
            if journal is not None:
                journal.add(episode)
            known[episode.seed] = episode
    return [pair for number in wanted for pair in known[number].pairs()]


def _open(env: gym.Env | Callable[[], gym.Env], num_envs: int) -> list[gym.Env]:
    if num_envs < 1:
        raise ValueError(f"num_envs must be at least 1, got {num_envs!r}")
    if isinstance(env, gym.Env):
        if num_envs > 1:
            raise ValueError(
                f"env is one environment, so num_envs must be 1, got {num_envs}; give a function that makes it"
            )
        return [branching(env)]
    return [branching(env()) for _ in range(num_envs)]


def _seeds(seed: int, num_episodes: int) -> range:
    if num_episodes < 1 or seed < 0:
        raise ValueError(f"num_episodes must be at least 1 and seed at least 0, got {num_episodes!r} and {seed!r}")
    return range(seed, seed + num_episodes)


def _known(journal: Journal[BranchEpisode], settings: BranchSettings) -> dict[int, BranchEpisode]:
    episodes = journal.entries()
    for episode in episodes:
        settings.check_same(episode.settings, str(journal.path))
    return {episode.seed: episode for episode in episodes}
