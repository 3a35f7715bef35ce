"""``agentkit branches``: counterfactual branches from an actor's own states, for training comparators."""

import functools
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from agentkit.branches import SPLITS, BranchEpisode, load_branch_episodes
from agentkit.candidates import (
    CounterfactualCandidates,
    EnvironmentCandidates,
    ModelCandidates,
    PooledCandidates,
    SampledCandidates,
    UnionCandidates,
)
from agentkit.cli.naming import make_actor, make_env
from agentkit.comparison import PREFERENCES
from agentkit.examination import Candidates
from agentkit.rollout import Actor
from agentkit.tables import text_table
from agentkit.trajectory import load_trajectories
from agentkit.wrappers.sharing import resolve

SOURCES = "environment, actor, small-lm, counterfactual, each of the last two with :FOLDER of a model, or pool:EPISODES"


def collect(
    env_id: str,
    *,
    actor: str,
    mistakes: float,
    temperature: float,
    continue_with: str | None,
    candidates: Sequence[str],
    split: str | None,
    max_steps: int,
    limit: int,
    out: Path,
    device: str,
    dtype: str,
    seed: int,
    num_envs: int,
    **options: Any,
) -> None:
    """Collect with progress on stderr, and print how many pairs of each label there are."""
    cast = _Cast(device, dtype, temperature)
    described = {
        "env": env_id,
        "split": split,
        "max_steps": max_steps,
        "actor": actor,
        "mistakes": mistakes,
        "temperature": temperature,
        "continue_with": continue_with,
        "candidates": list(candidates),
    }
    sources = [cast.candidates(name) for name in candidates]
    finished = _collect(
        functools.partial(make_env, env_id, split=split, max_steps=max_steps),
        cast.actor(actor, mistakes),
        limit,
        make_continuation=None if continue_with is None else cast.actor(continue_with, 0.0),
        make_candidates=lambda actor, seed: UnionCandidates(*(make(actor, seed) for make in sources)),
        settings=described,
        out=out,
        seed=seed,
        num_envs=num_envs,
        **options,
    )
    if out.exists():
        print(summary(load_branch_episodes(out)))
        print(out)
    if not finished:
        sys.exit(f"stopped; finished episodes are in {out}. Go on with: {shlex.join(['agentkit', *sys.argv[1:]])}")


def _collect(*arguments: Any, **options: Any) -> bool:
    """Whether everything was collected: Ctrl-C leaves a complete file."""
    from tqdm import tqdm

    from agentkit.trainers import collect_branches
    from agentkit.trainers.branching.progress import BranchProgress

    bar = tqdm(unit="branch", file=sys.stderr, delay=0.2, smoothing=0.05)

    def advance(progress: BranchProgress) -> None:
        bar.total = max(progress.expected, progress.continuations)
        bar.set_postfix_str(f"{progress.episodes}/{progress.wanted} episodes", refresh=False)
        bar.update(progress.continuations - bar.n)

    try:
        with bar:
            collect_branches(*arguments, on_progress=advance, **options)
    except KeyboardInterrupt:
        return False
    return True


def summary(episodes: Sequence[BranchEpisode]) -> str:
    """How many pairs there are of each label in each split, and what is not among them."""
    pairs = [pair for episode in episodes for pair in episode.pairs()]
    counts = Counter((pair.split, pair.label) for pair in pairs)
    tasks = {split: len({e.task_id for e in episodes if e.split == split}) for split in SPLITS}
    rows = [[split, str(tasks[split]), *(str(counts[split, label]) for label in PREFERENCES)] for split in SPLITS]
    branches = [branch for episode in episodes for branch in episode.branches()]
    played = sum(len(branch.returns) for branch in branches)
    unscored, duplicates = sum(b.unscored for b in branches), sum(e.duplicates for e in episodes)
    won = sum(episode.won for episode in episodes)
    return (
        text_table(["split", "tasks", "proposal better (A)", "alternative better (B)", "tie (T)"], rows)
        + f"\n{len(pairs)} pairs in {len(episodes)} episodes ({won} won), {played} continuations played, "
        f"{unscored} unscored, {duplicates} states left out as duplicates"
    )


class _Cast:
    """Actors and candidates by name; each local model is loaded once."""

    def __init__(self, device: str, dtype: str, temperature: float):
        self._temperature = temperature
        self._load = functools.cache(functools.partial(_readout, device=device, dtype=dtype))

    def actor(self, name: str, mistakes: float) -> Callable[[gym.Env, int], Actor]:
        """Makes the actor of that name: one of ``agentkit eval``, ``readout:FOLDER``, or your ``module:make_actor``.

        The last is called with the environment and a seed.
        """
        from agentkit.actors import ConstrainedReadoutActor, MistakenActor

        kind, _, folder = name.partition(":")
        model = self._load(folder or "smollm2") if kind == "readout" else None
        own = resolve(name, "actor") if model is None and folder else None

        def make(env: gym.Env, seed: int) -> Actor:
            if model is not None:
                player: Actor = ConstrainedReadoutActor(model, self._temperature, seed=seed)
            else:
                player = make_actor(name, env, seed) if own is None else own(env, seed)
            return MistakenActor(player, mistakes, seed) if mistakes else player

        return make

    def candidates(self, name: str) -> Callable[[Actor, int], Candidates]:
        """Makes the source of that name.

        Raises:
            ValueError: there is none of that name.
        """
        kind, _, rest = name.partition(":")
        if name == "environment":
            return lambda actor, seed: EnvironmentCandidates(seed)
        if name == "actor":
            return lambda actor, seed: SampledCandidates(actor, seed)
        if kind in ("small-lm", "counterfactual"):
            source = ModelCandidates if kind == "small-lm" else CounterfactualCandidates
            model = self._load(rest or "smollm2")
            return lambda actor, seed: source(model, seed=seed)
        if kind == "pool" and rest:
            pool = PooledCandidates.from_trajectories(load_trajectories(rest)).pool
            return lambda actor, seed: PooledCandidates(pool, seed)
        raise ValueError(f"no candidates {name!r}; choose from {SOURCES}")


def _readout(name: str, *, device: str, dtype: str) -> Any:
    from agentkit.cli.judge_naming import make_readout

    if name != "smollm2" and not Path(name).is_dir():
        raise ValueError(f"no model {name!r}; give smollm2 or a checkpoint folder")
    return make_readout(name, device=device, dtype=dtype)
