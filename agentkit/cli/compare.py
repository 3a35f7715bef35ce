"""``agentkit compare``: ways of intervening, measured on the same tasks."""

import importlib.util
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from agentkit.branches import common_labels, load_branches
from agentkit.cli.arm_naming import ActorOptions, Casting, with_budgets
from agentkit.cli.naming import make_env
from agentkit.comparing import (
    ArmResult,
    actor_shift,
    budget_table,
    causal_table,
    offline_table,
    performance_table,
    play_arms,
    shift_table,
    summarise_arms,
)
from agentkit.comparing.offline_cost import read_offline_costs
from agentkit.comparing.playing import PlayedEpisode, load_played
from agentkit.models.prices import DEFAULT_PRICES, Prices, read_prices
from agentkit.report.success import success_bars
from agentkit.trajectory import write_atomically


def compare(
    env_id: str,
    *,
    arms: Sequence[str],
    budgets: Sequence[int],
    split: str | None,
    limit: int,
    max_steps: int,
    seed: int,
    out: Path,
    prices: Path | None,
    actor_price: str,
    comparator_price: str,
    offline: Path | None,
    shift: tuple[Path, Path] | None,
    device: str,
    dtype: str,
    **actor: Any,
) -> None:
    """Play every arm on the same seeds, with progress on stderr; print the tables and write them into ``out``."""
    table = _prices(prices, (actor_price, comparator_price))
    extra = [offline_table(read_offline_costs(offline))] if offline is not None else []
    extra += [_shift_table(*shift)] if shift is not None else []
    options = ActorOptions(**actor)
    casting = Casting(actor_price, comparator_price, device, dtype)
    specs = with_budgets(list(arms), list(budgets))
    made = [casting.arm(spec) for spec in specs]
    env = make_env(env_id, split=split, max_steps=max_steps)
    settings = {"env": env_id, "split": split, "max_steps": max_steps, **attrs.asdict(options)}
    complete = _play(env, casting.player(options), made, limit, seed=seed, out=out, settings=settings)
    played = [e for e in load_played(out) if e.arm in specs and seed <= e.seed < seed + limit]
    played.sort(key=lambda e: specs.index(e.arm))
    if not complete and {e.arm for e in played} != set(specs):
        sys.exit(f"stopped before every arm had an episode; go on with: {_same_command()}")
    results = summarise_arms(played, prices=table)
    tables = [performance_table(results), causal_table(results), budget_table(results), *extra]
    text = "\n\n".join(table for table in tables if table)
    _write(results, text, out)
    print(text)
    if not complete:
        sys.exit(f"stopped; the tables hold what all arms have played. Go on with: {_same_command()}")


def _prices(path: Path | None, needed: Sequence[str]) -> Prices:
    """The price table, with what a file adds to it."""
    table = DEFAULT_PRICES if path is None else {**DEFAULT_PRICES, **read_prices(path)}
    missing = next((name for name in needed if name not in table), None)
    if missing is not None:
        raise ValueError(f"no price for {missing!r}; known: {', '.join(table)}; --prices reads more from a CSV file")
    return table


def _play(env: Any, player: Any, arms: Sequence[Any], limit: int, *, out: Path, **options: Any) -> bool:
    """Whether everything was played: Ctrl-C leaves complete files."""
    from tqdm import tqdm

    done = {(e.arm, e.seed) for e in load_played(out)}
    wanted = {(arm.name, options["seed"] + i) for arm in arms for i in range(limit)}
    bar = tqdm(total=len(wanted), initial=len(wanted & done), unit="episode", file=sys.stderr, delay=0.2)

    def advance(played: PlayedEpisode) -> None:
        bar.update()
        bar.set_postfix_str(played.arm)

    try:
        with bar:
            play_arms(env, player, arms, limit, out=out, on_episode=advance, **options)
    except KeyboardInterrupt:
        return False
    return True


def _shift_table(first: Path, second: Path) -> str:
    """How the preferences in two files of branches differ, whose base episodes are the same."""
    labels = common_labels(load_branches(first), load_branches(second))
    if not labels[0]:
        raise ValueError(f"{first} and {second} share no pair; collect both with the same actor, seed and candidates")
    return shift_table({f"{first.stem} -> {second.stem}": actor_shift(*labels)})


def _write(results: Sequence[ArmResult], text: str, out: Path) -> None:
    """The tables as text, their numbers as JSON, and a picture where matplotlib is installed."""
    write_atomically(out / "tables.txt", text + "\n")
    values = [{**attrs.asdict(result), "success": result.success} for result in results]
    write_atomically(out / "results.json", json.dumps(values, indent=2) + "\n")
    if importlib.util.find_spec("matplotlib") is not None:
        rates = {result.name: (result.success, *result.success_interval) for result in results}
        success_bars(out / "success.png", rates, f"success over {results[0].episodes} tasks, with 95 % intervals")


def _same_command() -> str:
    return shlex.join(["agentkit", *sys.argv[1:]])
