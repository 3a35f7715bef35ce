"""``agentkit screen``: judges measured on recorded episodes."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentkit.cli.judge_naming import make_judge
from agentkit.judges.screening import Screening, screen
from agentkit.models.prices import DEFAULT_PRICES, read_prices
from agentkit.trajectory import load_trajectories, save_trajectories


def screen_judges(
    episodes: Path,
    *,
    judges: Sequence[str],
    contexts: Sequence[str],
    questions: Sequence[str],
    out: Path,
    limit: int | None,
    prices: Path | None,
    device: str,
    dtype: str,
    seed: int,
    **options: Any,
) -> None:
    """Screen with progress on stderr; print the table, and write tables, figures and scored episodes into ``out``."""
    from tqdm import tqdm

    trajectories = load_trajectories(episodes)[:limit]
    made = {name: make_judge(name, device=device, dtype=dtype, seed=seed) for name in judges}
    table = {**DEFAULT_PRICES, **read_prices(prices)} if prices is not None else None
    bar = tqdm(unit="answer", file=sys.stderr, delay=0.2)

    def advance(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        with bar:
            result = screen(
                trajectories,
                made,
                contexts=[parse_context(context) for context in contexts] or None,
                questions=parse_questions(questions) or None,
                out=out,
                prices=table,
                seed=seed,
                progress=advance,
                **options,
            )
    except KeyboardInterrupt:
        sys.exit(f"\nstopped; the answers so far are in {out}. Go on with: {shlex.join(['agentkit', *sys.argv[1:]])}")
    print(result.table())
    for path in write_extras(result, out):
        print(path)


def write_extras(result: Screening, out: Path) -> list[Path]:
    """The figures that the result allows, and the episodes with their scores."""
    from agentkit.report import screening as figures

    written = [save_trajectories(out / "scored.jsonl", result.scored)]
    if any(measures.gap is not None for measures in result.measures):
        written.append(figures.gap_figure(out / "gap.png", result))
    if any(len(measures.on_top) > 1 for measures in result.measures):
        written.append(figures.on_top_figure(out / "on_top.png", result))
    episode = figures.telling_episode(result.scored)
    written.append(figures.visibility_heatmap(out / "heatmap.png", episode, figures.visibility_panels(result)))
    return written


def parse_context(text: str) -> str | float:
    """A context of `StepJudge` from the command line: a share where it is a number.

    >>> parse_context("0.25"), parse_context("hindsight")
    (0.25, 'hindsight')
    """
    try:
        return float(text)
    except ValueError:
        return text


def parse_questions(texts: Sequence[str]) -> dict[str, str]:
    """Name -> question, from ``progress``, ``value`` or ``name=text``.

    >>> parse_questions(["progress", "wise=Was {action} wise?"])
    {'progress': 'progress', 'wise': 'Was {action} wise?'}
    """
    return {name: question or name for name, _, question in (text.partition("=") for text in texts)}
