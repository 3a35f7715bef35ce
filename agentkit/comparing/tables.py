"""The tables of a comparison, as plain text."""

from collections.abc import Sequence

from agentkit.comparing.results import MANY_INTERVENTIONS, ArmResult
from agentkit.tables import text_table


def performance_table(results: Sequence[ArmResult]) -> str:
    """Performance, cost and time of each arm (COTA's Table 1), with how often it intervened."""
    header = [
        "arm",
        "tasks",
        "success",
        "95 %",
        "reward",
        "$/100",
        "time",
        "steps",
        "interv.",
        f">{MANY_INTERVENTIONS}",
    ]
    return text_table(header, [_performance(result) for result in results])


def causal_table(results: Sequence[ArmResult]) -> str:
    """What each arm changed beside the original actor, task by task, and what became of its advice."""
    header = ["arm", "rescued", "harmed", "net", "p", "followed", "reproposed", "ignored", "failures"]
    return text_table(header, [_causal(result) for result in results if result.rescued is not None])


def _performance(result: ArmResult) -> list[str]:
    low, high = result.success_interval
    return [
        result.name,
        str(result.episodes),
        f"{result.success:.1%}",
        f"[{low:.1%}, {high:.1%}]",
        f"{result.mean_reward:.3f}",
        f"${result.dollars_per_100_tasks:.3g}",
        "-" if result.relative_time is None else f"{result.relative_time:.2f}x",
        f"{result.mean_steps:.1f}",
        f"{result.intervention_frequency:.1%}",
        f"{result.many_interventions:.1%}",
    ]


def _causal(result: ArmResult) -> list[str]:
    rescued, harmed = result.rescued or 0, result.harmed or 0
    counts = [result.followed, result.reproposed, result.ignored, result.failures]
    net = f"{(rescued - harmed) / result.episodes:+.3f}"
    return [result.name, str(rescued), str(harmed), net, f"{result.p_value:.3g}", *map(str, counts)]
