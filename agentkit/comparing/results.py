"""What an arm's episodes amount to, alone and beside the original actor's."""

import re
from collections.abc import Sequence

import attrs

from agentkit.causal.ledger import kind_of
from agentkit.causal.statistics import mcnemar_exact, wilson_interval
from agentkit.comparing.playing import PlayedEpisode
from agentkit.models.prices import DEFAULT_PRICES, Prices
from agentkit.tables import text_table

MANY_INTERVENTIONS = 2
"""COTA's Table 3 reports the share of episodes with more than two interventions."""

_BUDGET = re.compile(r"(?P<rest>.*?),?budget=(?P<budget>\d+)(?P<after>.*)")


@attrs.frozen(kw_only=True)
class ArmResult:
    """One row of the table. Rates are in [0, 1]."""

    name: str
    episodes: int
    won: int
    mean_reward: float
    success_interval: tuple[float, float]
    """95 % Wilson interval of the success rate."""
    dollars_per_100_tasks: float
    mean_seconds: float
    mean_steps: float
    relative_time: float | None
    """Mean seconds over those of the original actor; None without it."""
    intervention_frequency: float
    """States with an intervention over executed actions."""
    many_interventions: float
    """Share of the episodes with more than two interventions."""
    rescued: int | None
    """Tasks lost by the original actor and won here; None without the original actor."""
    harmed: int | None
    """Tasks won by the original actor and lost here."""
    p_value: float | None
    """McNemar's exact test of rescued against harmed tasks."""
    failures: int
    """Proposals that went through because the comparator failed."""
    followed: int
    reproposed: int
    ignored: int

    @property
    def success(self) -> float:
        """Share of the episodes that were won."""
        return self.won / self.episodes


def summarise_arms(
    played: Sequence[PlayedEpisode], *, original: str = "original", prices: Prices = DEFAULT_PRICES
) -> list[ArmResult]:
    """A result for each arm, in the order in which they appear.

    Only seeds that all arms have played are counted, so that an interrupted comparison compares like with like.

    Args:
        played: episodes of any arms.
        original: the name of the arm that the others are measured against.
        prices: the price table.

    Raises:
        ValueError: no seed was played by all arms, or a model has no price.
    """
    names = list(dict.fromkeys(episode.arm for episode in played))
    by_arm = {name: {e.seed: e for e in played if e.arm == name} for name in names}
    shared = set.intersection(*(set(episodes) for episodes in by_arm.values())) if by_arm else set()
    if not shared:
        raise ValueError("no task was played by all arms; play on before comparing")
    kept = {name: [by_arm[name][seed] for seed in sorted(shared)] for name in names}
    return [summarise_arm(kept[name], kept.get(original), prices) for name in names]


def summarise_arm(
    episodes: Sequence[PlayedEpisode],
    original: Sequence[PlayedEpisode] | None = None,
    prices: Prices = DEFAULT_PRICES,
) -> ArmResult:
    """The result of one arm.

    Args:
        episodes: at least one, all of one arm.
        original: the original actor's on the same seeds, in the same order.
        prices: the price table.
    """
    count, won = len(episodes), sum(e.won for e in episodes)
    seconds = sum(e.seconds for e in episodes)
    kinds = [kind_of(o.won, e.won) for o, e in zip(original or (), episodes, strict=original is not None)]
    paired = original is not None
    plain_seconds = sum(e.seconds for e in original or ())
    totals = {key: sum(e.counts.get(key, 0) for e in episodes) for key in _COUNTS}
    return ArmResult(
        name=episodes[0].arm,
        episodes=count,
        won=won,
        mean_reward=sum(e.reward for e in episodes) / count,
        success_interval=wilson_interval(won, count),
        dollars_per_100_tasks=100 * sum(e.dollars(prices) for e in episodes) / count,
        mean_seconds=seconds / count,
        mean_steps=sum(e.steps for e in episodes) / count,
        relative_time=seconds / plain_seconds if plain_seconds else None,
        intervention_frequency=sum(e.interventions for e in episodes) / max(1, sum(e.steps for e in episodes)),
        many_interventions=sum(e.interventions > MANY_INTERVENTIONS for e in episodes) / count,
        rescued=kinds.count("rescued") if paired else None,
        harmed=kinds.count("harmed") if paired else None,
        p_value=mcnemar_exact(kinds.count("rescued"), kinds.count("harmed")) if paired else None,
        **totals,
    )


_COUNTS = ("failures", "followed", "reproposed", "ignored")


def budget_table(results: Sequence[ArmResult]) -> str:
    """Arms whose names differ in ``budget=B`` only, side by side (COTA's Table 3); "" where there are none."""
    rows: dict[str, dict[int, ArmResult]] = {}
    for result in results:
        match = _BUDGET.fullmatch(result.name)
        if match:
            name = (match["rest"] + match["after"]).removesuffix(":")
            rows.setdefault(name, {})[int(match["budget"])] = result
    full = {result.name: result for result in results}
    budgets = sorted({budget for row in rows.values() for budget in row})
    if not rows:
        return ""
    header = ["success", *(f"B={budget}" for budget in budgets), "Full", f">{MANY_INTERVENTIONS} interv."]
    lines = []
    for name, row in rows.items():
        cells = [f"{row[budget].success:.1%}" if budget in row else "-" for budget in budgets]
        whole = full.get(name)
        last = ["-", "-"] if whole is None else [f"{whole.success:.1%}", f"{whole.many_interventions:.1%}"]
        lines.append([name, *cells, *last])
    return text_table(header, lines)
