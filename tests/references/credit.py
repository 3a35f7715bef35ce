"""Credit assignment as slow, obvious loops over plain Python lists. NaN means unscored."""

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def sample_std(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    centre = mean(values)
    return math.sqrt(sum((v - centre) ** 2 for v in values) / (len(values) - 1))


def outcome_advantages(returns: Sequence[float], scale: str, groups: Sequence[object]) -> list[float]:
    result = []
    for i, own in enumerate(returns):
        group = [r for r, g in zip(returns, groups, strict=True) if g == groups[i] and not math.isnan(r)]
        if math.isnan(own) or all(r == group[0] for r in group):
            result.append(0.0)
            continue
        advantage = own - mean(group)
        if scale == "group":
            advantage /= sample_std(group) + 1e-4
        elif scale == "batch":
            advantage /= sample_std([r for r in returns if not math.isnan(r)]) + 1e-4
        result.append(advantage)
    return result


def centered_step_scores(scores: Sequence[Sequence[float]], weight: float, baseline: str) -> list[list[float]]:
    scored = [[s for s in episode if not math.isnan(s)] for episode in scores]
    if not any(scored):
        return [[0.0] * len(episode) for episode in scores]
    if baseline == "steps":
        centre = mean([s for episode in scored for s in episode])
    else:
        centre = mean([mean(episode) for episode in scored if episode])
    return [[0.0 if math.isnan(s) else weight * (s - centre) for s in episode] for episode in scores]


def discounted_step_returns(rewards: Sequence[float], gamma: float) -> list[float]:
    return [
        sum(gamma ** (k - t) * rewards[k] for k in range(t, len(rewards)) if not math.isnan(rewards[k]))
        for t in range(len(rewards))
    ]


def anchor_state_advantages(
    observations: Sequence[Sequence[str]], rewards: Sequence[Sequence[float]], gamma: float, scale: str
) -> list[list[float]]:
    returns = [discounted_step_returns(episode, gamma) for episode in rewards]
    result = []
    for seen, values in zip(observations, returns, strict=True):
        row = []
        for observation, value in zip(seen, values, strict=True):
            peers = [
                r
                for other, others in zip(observations, returns, strict=True)
                for o, r in zip(other, others, strict=True)
                if o == observation
            ]
            spread = sample_std(peers) + 1e-4 if scale == "group" else 1.0
            row.append(0.0 if all(p == peers[0] for p in peers) else (value - mean(peers)) / spread)
        result.append(row)
    return result


def whiten(values: Sequence[Sequence[float]]) -> list[list[float]]:
    scored = [v for episode in values for v in episode if not math.isnan(v)]
    if not scored or all(v == scored[0] for v in scored):
        return [[0.0] * len(episode) for episode in values]
    centre, spread = mean(scored), sample_std(scored) + 1e-4
    return [[0.0 if math.isnan(v) else (v - centre) / spread for v in episode] for episode in values]


def broadcast_to_tokens(step_values: Sequence[float], step_ids: Sequence[int]) -> list[float]:
    result = []
    for step in step_ids:
        value = 0.0 if step == -1 else step_values[step]
        result.append(0.0 if math.isnan(value) else value)
    return result
