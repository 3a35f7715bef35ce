"""The commands and their options; what they do is in the modules they call."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from agentkit.cli import commands

app = typer.Typer(
    help="Components for LLM agents as Gymnasium wrappers and callables, and a GRPO trainer for their step rewards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
games = typer.Typer(help="ALFWorld games.", no_args_is_help=True)
app.add_typer(games, name="games")

Seed = Annotated[int, typer.Option(help="Same seed, same run.")]
EnvId = Annotated[str, typer.Option("--env", help="A registered environment id.")]
Split = Annotated[str | None, typer.Option(help="A split of the environment; default: its own default.")]
GameSplit = Annotated[str, typer.Option(help="train, valid_seen or valid_unseen.")]


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where everything is written.")] = Path("runs/demo"),
    seed: Seed = 0,
    teacher: Annotated[str, typer.Option(help="Whose scores train: oracle or model.")] = "oracle",
    updates: Annotated[int, typer.Option(help="Optimizer steps.", min=1)] = 4,
    turns: Annotated[int, typer.Option(help="The most actions of an episode.", min=1)] = 8,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of going on.")] = False,
) -> None:
    """Make games, play them with a real language model, judge, train and report: the main job end to end."""
    commands.demo(out=out, seed=seed, teacher=teacher, updates=updates, turns=turns, fresh=fresh)


@app.command("eval")
def evaluate(
    env: EnvId = "agentkit/ALFWorld-v0",
    actor: Annotated[str, typer.Option(help="random, expert, explorer (ALFWorld) or readout.")] = "random",
    split: Split = None,
    limit: Annotated[int, typer.Option(help="How many episodes.", min=1)] = 10,
    max_steps: Annotated[int, typer.Option(help="Actions an episode.", min=1)] = 50,
    seed: Seed = 0,
    save: Annotated[Path | None, typer.Option(help="Append the episodes to this JSONL file.")] = None,
) -> None:
    """Play episodes and print success by task type."""
    commands.evaluate(env, actor, split=split, limit=limit, max_steps=max_steps, seed=seed, save=save)


@app.command()
def play(
    env: EnvId = "agentkit/ALFWorld-v0",
    split: Split = None,
    task_id: Annotated[str | None, typer.Option(help="One ALFWorld game, <task folder>/<trial folder>.")] = None,
    seed: Seed = 0,
) -> None:
    """Play one game yourself in the terminal."""
    commands.play(env, split=split, task_id=task_id, seed=seed)


@app.command()
def report(
    trajectories: Annotated[Path, typer.Argument(help="A JSONL file of episodes.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
) -> None:
    """Turn recorded episodes into one self-contained HTML page."""
    commands.report(trajectories, out)


@games.command("make")
def make_games(
    count: Annotated[int, typer.Option(help="How many games.")] = 12,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Becomes an ALFWORLD_DATA folder.")] = Path("games"),
    split: GameSplit = "train",
    task_type: Annotated[list[str] | None, typer.Option(help="Only this task type; may be repeated.")] = None,
    room: Annotated[list[int] | None, typer.Option(help="Only this ALFRED room; may be repeated.")] = None,
    distractors: Annotated[int | None, typer.Option(help="Objects that the task is not about.")] = None,
    difficulty: Annotated[str, typer.Option(help="easy, medium or hard.")] = "medium",
) -> None:
    """Make ALFWorld games locally, without a download; every one is verified by playing its walkthrough."""
    commands.make_games(
        count, seed, out, split=split, task_types=task_type, rooms=room, distractors=distractors, difficulty=difficulty
    )


def run() -> None:
    """The console script: expected errors are one line on stderr, without a traceback."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        app()
    except (OSError, ValueError, TypeError, ImportError) as error:
        sys.exit(f"agentkit: {error}")
