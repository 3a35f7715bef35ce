"""`screen`: which judge, shown what and asked what, tells useful actions from useless ones, before any training."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.journal import Journal
from agentkit.judges.screening.asking import Answers, Key, Progress, ask_all, trajectory_digest
from agentkit.judges.screening.candidates import Candidate, Questions, make_candidates
from agentkit.judges.screening.measures import KINDS, step_kinds
from agentkit.judges.screening.measuring import measure, pair_with_truth
from agentkit.judges.screening.recommendation import recommend
from agentkit.judges.screening.result import Screening
from agentkit.models.prices import Prices
from agentkit.trajectory import Trajectory
from agentkit.verdicts import Judge


def screen(
    trajectories: Sequence[Trajectory],
    judges: Sequence[Judge] | Mapping[str, Judge],
    *,
    contexts: Sequence[Any] | None = None,
    questions: Questions | None = None,
    out: str | os.PathLike[str] | None = None,
    reversals: int | None = None,
    batch_size: int = 1,
    edges: Sequence[int] = (10, 20, 30),
    min_trajectories: int = 20,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    prices: Prices | None = None,
    retry_unscored: bool = False,
    progress: Progress | None = None,
) -> Screening:
    """Score recorded steps with every candidate judge, and compare the scores with the ground truth.

    The measures are those of *Actor, Judge, or Teacher?* (seeds/000, "Judge"): mean score by kind of step (milestone,
    other, no-op), averaged within each trajectory first; the gap of milestones over no-ops; true milestones on top of
    each trajectory. Besides: AUC, calibration against "is a milestone", flips with the order of the options, unscored
    steps, time and cost. See `Measures` for each definition.

    Args:
        trajectories: episodes whose steps say what they achieved (`Step.milestones`, `Step.state_changed`).
        judges: the judges, or a mapping from names to them; any callable ``judge(trajectory) -> scores``.
        contexts: every `StepJudge` is screened with each of these contexts; None = with its own.
        questions: likewise with each of these questions, which may be a mapping from short names to their texts.
        out: a folder; answers are kept there in ``scores.jsonl`` as they come, and are not asked for again; the result
            is written beside them. None = nothing is written.
        reversals: how many trajectories are asked about again with the options reversed, for the flip rate; None = all.
        batch_size: how many trajectories go into one call of a judge; more keep a GPU busy, and fewer are asked about
            again after an interruption.
        edges: how trajectories are grouped by length: up to each of these numbers of steps, and above the last.
        min_trajectories: the fewest trajectories with a milestone and a no-op that suffice for a recommendation.
        resamples: of the bootstrap over trajectories.
        level: of its intervals, in (0, 1).
        seed: of its draws.
        prices: dollars for tokens, by the judge's name (`agentkit.models.prices`).
        retry_unscored: ask again about steps that are unscored in ``out``.
        progress: called with the number of answers so far and in all.

    Raises:
        ValueError: there are no trajectories or judges, no step says what it achieved, an argument is out of range, or
            ``out`` holds scores of other judges under the same names, or of other trajectories.
    """
    _check(trajectories, edges, resamples, level, batch_size)
    candidates = make_candidates(judges, contexts, questions, prices)
    count = len(trajectories) if reversals is None else reversals
    journal = None if out is None else Journal(Path(out) / "scores.jsonl", Answers)
    answers = ask_all(
        candidates,
        trajectories,
        journal,
        reversals=count,
        batch_size=batch_size,
        retry_unscored=retry_unscored,
        progress=progress,
    )
    options: dict[str, Any] = {"resamples": resamples, "level": level, "seed": seed}
    digests = [trajectory_digest(trajectory) for trajectory in trajectories]
    measures, gaps = [], {}
    for candidate in candidates:
        own = [answers[candidate.name, digest, False] for digest in digests]
        pairs = pair_with_truth(trajectories, own, _swapped(answers, candidate, digests, count))
        measures.append(measure(candidate, pairs, own, edges=edges, **options))
        if not candidate.reference:
            gaps[candidate.name] = np.array([pair.gap for pair in pairs])
    result = Screening(
        measures=measures,
        recommendation=recommend(gaps, min_trajectories=min_trajectories, **options),
        trajectories=len(trajectories),
        won=sum(trajectory.won for trajectory in trajectories),
        steps=_count_kinds(trajectories),
        scored=_with_scores(trajectories, candidates, answers, digests),
        **options,
    )
    if out is not None:
        result.save(out)
    return result


def _check(
    trajectories: Sequence[Trajectory], edges: Sequence[int], resamples: int, level: float, batch_size: int
) -> None:
    if not any(len(trajectory) for trajectory in trajectories):
        raise ValueError("trajectories holds no steps; record some, e.g. with agentkit eval --save")
    if not any(step.milestones for trajectory in trajectories for step in trajectory.steps):
        raise ValueError(
            "no step of the trajectories has milestones; record them in an environment whose info tells its milestones"
        )
    if list(edges) != sorted(set(edges)) or not all(edge >= 1 for edge in edges):
        raise ValueError(f"edges must be increasing numbers of steps, got {edges!r}")
    for name, value in (("resamples", resamples), ("batch_size", batch_size)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")


def _swapped(
    answers: Mapping[Key, Answers], candidate: Candidate, digests: Sequence[str], count: int
) -> dict[int, Answers]:
    keys = [(candidate.name, digest, True) for digest in digests[:count]]
    return {number: answers[key] for number, key in enumerate(keys) if key in answers}


def _count_kinds(trajectories: Sequence[Trajectory]) -> dict[str, int]:
    counts = Counter(kind for trajectory in trajectories for kind in step_kinds(trajectory).tolist())
    named = {name: counts.get(kind, 0) for kind, name in enumerate(KINDS)}
    return {**named, "unknown": counts[-1]} if counts.get(-1) else named


def _with_scores(
    trajectories: Sequence[Trajectory],
    candidates: Sequence[Candidate],
    answers: Mapping[Key, Answers],
    digests: Sequence[str],
) -> list[Trajectory]:
    scored = []
    for trajectory, digest in zip(trajectories, digests, strict=True):
        for candidate in candidates:
            trajectory = trajectory.with_scores(candidate.name, answers[candidate.name, digest, False].verdicts)
        scored.append(trajectory)
    return scored
