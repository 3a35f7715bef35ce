"""Credit terms as slow, obvious loops, and the baselines that pay for length."""

from collections.abc import Sequence

from tests.references.credit import discounted_step_returns, mean, outcome_advantages, sample_std


def sample_outcome(returns: Sequence[Sequence[float]], lengths: Sequence[Sequence[int]], scale: str) -> list[float]:
    """One advantage an episode, with statistics over step samples: write every return down once a step."""
    batch = [
        r
        for group, times in zip(returns, lengths, strict=True)
        for r, n in zip(group, times, strict=True)
        for _ in range(n)
    ]
    result = []
    for group, times in zip(returns, lengths, strict=True):
        samples = [r for r, n in zip(group, times, strict=True) for _ in range(n)]
        spread = {"group": sample_std(samples), "batch": sample_std(batch)}.get(scale)
        for r in group:
            if all(s == samples[0] for s in samples):
                result.append(0.0)
            else:
                result.append((r - mean(samples)) / (1.0 if spread is None else spread + 1e-4))
    return result


def returns_against_survivors(rewards: Sequence[Sequence[float]], gamma: float) -> list[list[float]]:
    """Discounted returns against the mean, at each turn, over the episodes that are still running."""
    returns = [discounted_step_returns(episode, gamma) for episode in rewards]
    return [
        [value - mean([other[t] for other in returns if len(other) > t]) for t, value in enumerate(episode)]
        for episode in returns
    ]


def returns_against_padded(rewards: Sequence[Sequence[float]], gamma: float) -> list[list[float]]:
    """Discounted returns against the mean, at each turn, in which episodes that ended count 0."""
    returns = [discounted_step_returns(episode, gamma) for episode in rewards]
    return [
        [value - mean([other[t] if len(other) > t else 0.0 for other in returns]) for t, value in enumerate(episode)]
        for episode in returns
    ]


def outcome_by_group(returns: Sequence[Sequence[float]], scale: str) -> list[float]:
    flat = [r for group in returns for r in group]
    labels = [g for g, group in enumerate(returns) for _ in group]
    return outcome_advantages(flat, scale, labels)
