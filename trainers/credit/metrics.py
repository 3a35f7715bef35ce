"""What is logged about a batch of episodes and its credit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agentkit.credit import Floats
from agentkit.trainers.robustness.guarding import is_dropped
from agentkit.trainers.rollouts.episodes import invalid_actions
from agentkit.trajectory import Trajectory


def batch_metrics(groups: Sequence[Sequence[Trajectory]], terms: Mapping[str, Sequence[Floats]]) -> dict[str, float]:
    """Numbers about one batch; what cannot be computed (of no episode, of no judge) is left out.

    ======================================  ===========================================================================
    ``episodes/success``, ``/steps``        of the episodes that were completed: share won, mean length
    ``episodes/truncated``                  share that a limit cut
    ``episodes/invalid_actions``            share of steps
    ``episodes/dropped``                    share of all episodes whose environment failed for good
    ``frac_reward_zero_std``                share of groups whose returns are all equal (TRL's name)
    ``credit/zero_groups``                  share of groups in which every term is 0 everywhere: they teach nothing
    ``credit/<term>/mean``, ``/std``        over all steps
    ``credit/unscored``                     share of verdicts that are unscored; ``credit/unscored/<judge>`` by judge
    ``credit/untyped``                      share of steps without a role, where any step has one
    ======================================  ===========================================================================

    Args:
        groups: all episodes of the batch.
        terms: name -> one array of shape (T_i,) for each episode, in order.
    """
    kept = [[t for t in group if not is_dropped(t)] for group in groups]
    played = [t for group in kept for t in group]
    count = sum(map(len, groups))
    metrics = {"episodes/dropped": 1 - len(played) / count} if count else {}
    if played:
        metrics |= _episode_metrics(played)
        metrics["frac_reward_zero_std"] = _share(
            np.ptp([t.total_reward for t in group]) == 0 for group in kept if group
        )
    return {**metrics, **_term_metrics(groups, terms), **_answer_metrics(played)}


def _share(flags: Iterable[Any]) -> float:
    return float(np.mean([bool(flag) for flag in flags]))


def _episode_metrics(played: Sequence[Trajectory]) -> dict[str, float]:
    return {
        "episodes/success": _share(t.won for t in played),
        "episodes/steps": float(np.mean([len(t) for t in played])),
        "episodes/truncated": _share(not t.terminated for t in played),
        "episodes/invalid_actions": sum(map(invalid_actions, played)) / max(1, sum(map(len, played))),
    }


def _term_metrics(groups: Sequence[Sequence[Trajectory]], terms: Mapping[str, Sequence[Floats]]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    places = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    teaches = np.zeros(len(groups), dtype=bool)
    for name, values in terms.items():
        pooled = np.concatenate(values) if values else np.zeros(0)
        metrics[f"credit/{name}/mean"] = float(pooled.mean()) if pooled.size else 0.0
        metrics[f"credit/{name}/std"] = float(pooled.std()) if pooled.size else 0.0
        teaches[places[[bool(array.any()) for array in values]]] = True
    if len(groups) and terms:
        metrics["credit/zero_groups"] = float(1 - teaches.mean())
    return metrics


def _answer_metrics(played: Sequence[Trajectory]) -> dict[str, float]:
    steps = [step for t in played for step in t.steps]
    unscored: dict[str, list[bool]] = {}
    for step in steps:
        for judge, verdict in step.scores.items():
            unscored.setdefault(judge, []).append(verdict.score is None)
    metrics = {f"credit/unscored/{judge}": _share(flags) for judge, flags in unscored.items()}
    if unscored:
        metrics["credit/unscored"] = _share(flag for flags in unscored.values() for flag in flags)
    if any(step.role is not None for step in steps):
        metrics["credit/untyped"] = _share(step.role is None for step in steps)
    return metrics
