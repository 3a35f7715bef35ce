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
def train(
    config: Annotated[str, typer.Argument(help="A YAML recipe, or a kind of training: grpo, sft or decision.")],
    out: Annotated[Path | None, typer.Option(help="The run's folder; default: runs/ and the recipe's name.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of the recipe; repeatable.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
) -> None:
    """Train as a recipe says: GRPO in an environment, a supervised warm start, or a decision model."""
    from agentkit.cli.train import train as run_training

    run_training(config, out=out, changes=changes or (), resume=resume)


@app.command()
def report(
    source: Annotated[Path, typer.Argument(help="A JSONL file of episodes, or the folder of a training run.")],
    out: Annotated[Path | None, typer.Option(help="The page; default: report.html here or in the run.")] = None,
) -> None:
    """Turn recorded episodes, or a training run's curves and episodes, into one self-contained HTML page."""
    from agentkit.cli.report import report as write_report

    write_report(source, out)


@app.command()
def screen(
    episodes: Annotated[Path, typer.Argument(help="A JSONL file of episodes that tell their milestones.")],
    judge: Annotated[
        list[str], typer.Option(help="smollm2, a checkpoint folder, oracle, noisy-oracle:0.3, or module:attribute.")
    ] = ["smollm2", "oracle", "noisy-oracle:0.3"],  # noqa: B006 - typer only reads it
    context: Annotated[
        list[str], typer.Option(help="prefix, prefix+feedback, a share of the steps such as 0.5, or hindsight.")
    ] = ["prefix", "hindsight"],  # noqa: B006
    question: Annotated[
        list[str], typer.Option(help="progress, value, or a name and a text: wise=Was {action} wise?")
    ] = ["progress", "value"],  # noqa: B006
    out: Annotated[Path, typer.Option(help="Answers, tables and figures; an interrupted run goes on there.")] = Path(
        "runs/screen"
    ),
    limit: Annotated[int | None, typer.Option(help="Only the first episodes.", min=1)] = None,
    reversals: Annotated[
        int | None, typer.Option(help="Episodes asked about again with the options reversed; default: all.", min=0)
    ] = None,
    batch: Annotated[int, typer.Option(help="Episodes in one call of a judge; more keep a GPU busy.", min=1)] = 1,
    min_trajectories: Annotated[int, typer.Option(help="Episodes with a gap that a recommendation needs.", min=1)] = 20,
    prices: Annotated[Path | None, typer.Option(help="CSV: model,input,output in dollars per million tokens.")] = None,
    retry_unscored: Annotated[bool, typer.Option("--retry-unscored", help="Ask again what is unscored.")] = False,
    device: Annotated[str, typer.Option(help="Of a local model: cpu, cuda, ...")] = "cpu",
    dtype: Annotated[str, typer.Option(help="Of its weights: float32, bfloat16, ...")] = "float32",
    seed: Seed = 0,
) -> None:
    """Measure judges on recorded episodes, and say which query to train with."""
    from agentkit.cli.screen import screen_judges

    screen_judges(
        episodes,
        judges=judge,
        contexts=context,
        questions=question,
        out=out,
        limit=limit,
        reversals=reversals,
        batch_size=batch,
        min_trajectories=min_trajectories,
        prices=prices,
        retry_unscored=retry_unscored,
        device=device,
        dtype=dtype,
        seed=seed,
    )


@app.command()
def branches(
    env: EnvId = "agentkit/ALFWorld-v0",
    actor: Annotated[
        str, typer.Option(help="random, expert, explorer (ALFWorld), readout, readout:FOLDER or module:make_actor.")
    ] = "explorer",
    mistakes: Annotated[float, typer.Option(help="The actor's rate of injected mistakes.", min=0, max=1)] = 0.0,
    temperature: Annotated[float, typer.Option(help="Of the readout actor.", min=0)] = 0.0,
    continue_with: Annotated[
        str | None, typer.Option(help="Another actor that goes on after each branch; default: the same.")
    ] = None,
    candidates: Annotated[
        list[str],
        typer.Option(
            help="environment, actor, small-lm, counterfactual or pool:EPISODES; repeated, they take turns. small-lm "
            "and counterfactual take :FOLDER of a model."
        ),
    ] = ["environment"],  # noqa: B006 - typer only reads it
    k: Annotated[int, typer.Option(help="Alternatives in a state.", min=1)] = 4,
    continuations: Annotated[int, typer.Option(help="After each action.", min=1)] = 1,
    states: Annotated[int | None, typer.Option(help="States of an episode; default: all.", min=1)] = None,
    discount: Annotated[float, typer.Option(help="Of later rewards; below 1 the shorter way wins.", max=1)] = 1.0,
    margin: Annotated[float, typer.Option(help="Returns no further apart are a tie.", min=0)] = 0.0,
    split: Split = None,
    limit: Annotated[int, typer.Option(help="Episodes of the actor.", min=1)] = 20,
    max_steps: Annotated[int, typer.Option(help="Actions an episode.", min=1)] = 30,
    num_envs: Annotated[int, typer.Option(help="Branches side by side; pays with the readout actor.", min=1)] = 1,
    out: Annotated[Path, typer.Option(help="The file; an interrupted run goes on there.")] = Path("branches.jsonl"),
    device: Annotated[str, typer.Option(help="Of local models: cpu, cuda, ...")] = "cpu",
    dtype: Annotated[str, typer.Option(help="Of their weights: float32, bfloat16, ...")] = "float32",
    seed: Seed = 0,
) -> None:
    """Branch an actor's own states: take its proposal and alternatives, play on from each, and label the pairs."""
    from agentkit.cli.branches import collect

    collect(
        env,
        actor=actor,
        mistakes=mistakes,
        temperature=temperature,
        continue_with=continue_with,
        candidates=candidates,
        k=k,
        continuations=continuations,
        states_per_episode=states,
        discount=discount,
        margin=margin,
        split=split,
        limit=limit,
        max_steps=max_steps,
        num_envs=num_envs,
        out=out,
        device=device,
        dtype=dtype,
        seed=seed,
    )


@app.command()
def compare(
    env: EnvId = "agentkit/ALFWorld-v0",
    arm: Annotated[
        list[str],
        typer.Option(
            help="original, gate:WHAT, forced:WHAT, best-of-n:WHAT, critic:planner or reflection; WHAT is oracle, "
            "random, wrong, smollm2, a checkpoint folder or q:FOLDER; a gate takes ,k= ,r= ,budget= ,rounds= ,router=."
        ),
    ] = ["original", "gate:oracle", "forced:oracle", "gate:random", "gate:wrong", "forced:wrong"],  # noqa: B006
    budget: Annotated[list[int] | None, typer.Option(help="Play each gate with this budget, too.", min=0)] = None,
    actor: Annotated[str, typer.Option(help="random, explorer (ALFWorld), readout or readout:FOLDER.")] = "explorer",
    mistakes: Annotated[float, typer.Option(help="The actor's rate of injected mistakes.", min=0, max=1)] = 0.0,
    follow: Annotated[
        float | None, typer.Option(help="How often a scripted actor follows advice; default 0.5.", min=0, max=1)
    ] = None,
    temperature: Annotated[float, typer.Option(help="Of the readout actor.", min=0)] = 0.0,
    split: Split = None,
    limit: Annotated[int, typer.Option(help="Episodes of each arm.", min=1)] = 20,
    max_steps: Annotated[int, typer.Option(help="Actions an episode.", min=1)] = 30,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Episodes and tables; an interrupted run goes on there.")] = Path(
        "runs/compare"
    ),
    prices: Annotated[Path | None, typer.Option(help="CSV: model,input,output in dollars per million tokens.")] = None,
    actor_price: Annotated[str, typer.Option(help="The actor's name in the price table.")] = "Qwen3-8B",
    comparator_price: Annotated[str, typer.Option(help="That of comparators.")] = "Llama-3.1-8B-Instruct",
    offline: Annotated[Path | None, typer.Option(help="JSON: hours that the training of comparators took.")] = None,
    shift: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Two files of branches that differ in their continuation actor.")
    ] = None,
    device: Annotated[str, typer.Option(help="Of local models: cpu, cuda, ...")] = "cpu",
    dtype: Annotated[str, typer.Option(help="Of their weights: float32, bfloat16, ...")] = "float32",
) -> None:
    """Compare gates and baselines on the same tasks: success, cost, time, interventions, rescue and harm."""
    from agentkit.cli.compare import compare as run_comparison

    run_comparison(
        env,
        arms=arm,
        budgets=budget or (),
        actor=actor,
        mistakes=mistakes,
        follow=follow,
        temperature=temperature,
        split=split,
        limit=limit,
        max_steps=max_steps,
        seed=seed,
        out=out,
        prices=prices,
        actor_price=actor_price,
        comparator_price=comparator_price,
        offline=offline,
        shift=shift,
        device=device,
        dtype=dtype,
    )


@app.command()
def diagnose(
    actor: Annotated[
        list[str],
        typer.Option(
            help="readout, readout:listed (the prompt lists the actions), ordered-subgoals, ordered-subgoals:listed, "
            "random, or module:function, called to make an actor."
        ),
    ] = ["readout", "ordered-subgoals", "random"],  # noqa: B006
    model: Annotated[str, typer.Option(help="Of the readout: smollm2 or a checkpoint folder.")] = "smollm2",
    states: Annotated[int, typer.Option(help="States to ask in, one a game; 0 = none.", min=0)] = 116,
    split: Annotated[list[str], typer.Option(help="Splits whose games lead to the states.")] = [  # noqa: B006
        "train",
        "valid_seen",
        "valid_unseen",
    ],
    play: Annotated[int, typer.Option(help="Episodes each actor plays, for its success.", min=0)] = 0,
    play_split: GameSplit = "valid_unseen",
    max_steps: Annotated[int, typer.Option(help="Actions an episode.", min=1)] = 50,
    episodes: Annotated[list[str], typer.Option(help="NAME=FILE: recorded episodes for the success table.")] = [],  # noqa: B006
    out: Annotated[Path, typer.Option(help="Tables and a figure; an interrupted run goes on there.")] = Path(
        "runs/diagnose"
    ),
    device: Annotated[str, typer.Option(help="Of the model: cpu, cuda, ...")] = "cpu",
    dtype: Annotated[str, typer.Option(help="Of its weights: float32, bfloat16, ...")] = "float32",
    seed: Seed = 0,
) -> None:
    """Show whether an easier sub-goal draws ALFWorld actors away from the one that has to come first."""
    from agentkit.cli.diagnose import diagnose_actors

    diagnose_actors(
        actor,
        model=model,
        states=states,
        splits=split,
        play=play,
        play_split=play_split,
        max_steps=max_steps,
        episodes=episodes,
        out=out,
        device=device,
        dtype=dtype,
        seed=seed,
    )


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
