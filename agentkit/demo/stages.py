"""The stages of the demo. Each leaves complete files, and a second call goes on where the first one stopped."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from agentkit.actors import ConstrainedReadoutActor
from agentkit.demo.settings import DemoFolder, DemoSettings
from agentkit.demo.stack import agreement, full_stack, make_env, with_advantages
from agentkit.demo.training import TrainingReport, train
from agentkit.envs.alfworld.generate import make_games
from agentkit.models import ConstrainedReadout, smollm2
from agentkit.report import score_heatmap, write_page
from agentkit.rollout import play_episode
from agentkit.trainers.robustness.quiet import quieten_libraries
from agentkit.trajectory import Trajectory, append_trajectory, load_trajectories, save_trajectories, write_atomically

Say = Callable[[str], None]


@attrs.frozen
class DemoResult:
    """Where the page is, and the figures of the run."""

    page: Path
    metrics: dict[str, Any]


def run_demo(out: str | Path, settings: DemoSettings, *, fresh: bool = False, say: Say = print) -> DemoResult:
    """Run the demo in the folder ``out``.

    Args:
        out: where everything is written.
        settings: what the run depends on.
        fresh: start over instead of going on with an unfinished run.
        say: called with each line of progress.

    Raises:
        OSError, ValueError: the folder cannot be used; nothing was written.
        ImportError: an extra is missing; the message holds the pip line.
    """
    quieten_libraries()
    folder = DemoFolder(out)
    if folder.open(settings, fresh):
        say("going on with the unfinished run in this folder")
    with _stage(say, "1/5 make ALFWorld games"):
        games = make_games(folder.games, settings.games, settings.seed, difficulty="easy")
        say(f"    {len(games)} games of six task types in {folder.games}")
    with _stage(say, "2/5 load SmolLM2-135M-Instruct (converted once, then cached)"):
        model, tokenizer = smollm2()
    with _stage(say, "3/5 play and judge with the whole stack"):
        episodes = _play(folder, settings, ConstrainedReadout(model, tokenizer), say)
    with _stage(say, "4/5 train with step advantages"):
        report = train(folder, settings, model, tokenizer, say)
    with _stage(say, "5/5 write the report"):
        return _report(folder, settings, episodes, report)


@contextmanager
def _stage(say: Say, name: str) -> Iterator[None]:
    say(name)
    start = time.monotonic()
    yield
    say(f"    done in {time.monotonic() - start:.0f} s")


def _play(folder: DemoFolder, settings: DemoSettings, readout: ConstrainedReadout, say: Say) -> list[Trajectory]:
    """Play what is not yet in the file, an episode at a time, then add the advantages of each group."""
    done = load_trajectories(folder.episodes) if folder.episodes.exists() else []
    env = full_stack(make_env(folder, settings), readout)
    for number in range(len(done), settings.played):
        actor = ConstrainedReadoutActor(readout, temperature=1.0, history=2, seed=settings.seed + number)
        seed = settings.seed + number // 2
        trajectory = play_episode(env, actor, seed=seed, group=f"played-{number // 2}", max_steps=4 * settings.turns)
        append_trajectory(folder.episodes, trajectory)
        done.append(trajectory)
        say(f"    episode {number + 1}/{settings.played}: {_describe(trajectory)}")
    if any(step.advantage is None for t in done for step in t.steps):
        pairs = [done[i : i + 2] for i in range(0, len(done), 2)]
        done = [t for pair in pairs for t in with_advantages(pair, "model")]
        save_trajectories(folder.episodes, done)
    return done


def _describe(trajectory: Trajectory) -> str:
    scores = np.concatenate([trajectory.score_array("model"), trajectory.score_array("oracle")]).reshape(2, -1)
    means = [f"{np.nanmean(row):.2f}" if not np.isnan(row).all() else "unscored" for row in scores]
    totals = (trajectory.steps[-1].gate or {}).get("totals", {})
    outcome = "won" if trajectory.won else "not won"
    return (
        f"{trajectory.task_type}: {outcome} after {len(trajectory)} steps, mean score {means[0]} (model) and "
        f"{means[1]} (oracle); gate asked {totals.get('comparisons', 0)} comparisons, advised in "
        f"{totals.get('interventions', 0)} states"
    )


def _report(
    folder: DemoFolder, settings: DemoSettings, episodes: list[Trajectory], report: TrainingReport
) -> DemoResult:
    correlation = agreement(episodes, "model", "oracle")
    metrics = {
        "played_success": sum(t.won for t in episodes) / len(episodes),
        "judge_agreement": correlation,
        **attrs.asdict(report),
    }
    score_heatmap(folder.heatmap, episodes, ["model", "oracle"])
    rollouts = load_trajectories(folder.rollouts)
    write_page(
        folder.page,
        {"Played with the whole stack": episodes, "Training rollouts": rollouts},
        title="agentkit demo",
        summary={
            "model": "SmolLM2-135M-Instruct (actor, comparator, judge and policy)",
            "teacher": settings.teacher,
            "loss of each update": ", ".join(f"{loss:+.4f}" for loss in report.losses),
            "success before → after": f"{report.success_before:.0%} → {report.success_after:.0%}",
            "mean oracle score before → after": f"{report.score_before:.3f} → {report.score_after:.3f}",
            "correlation of model and oracle scores": "none" if correlation is None else f"{correlation:+.2f}",
        },
        figures={"Hindsight + Progress scores per step, and the environment's ground truth": folder.heatmap},
    )
    write_atomically(folder.metrics, json.dumps(metrics, indent=2) + "\n")
    return DemoResult(folder.page, metrics)
