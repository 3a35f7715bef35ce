"""``agentkit diagnose``: where actors put their probability, and how often they succeed."""

import importlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
from tqdm import tqdm

from agentkit.cli.judge_naming import make_readout
from agentkit.diagnosis import collect_states, diagnose, success_by_dependency
from agentkit.diagnosis.states import DEPENDENT_TASK_TYPES
from agentkit.envs.alfworld.games import data_folder, list_games
from agentkit.rollout import Actor, play_episode
from agentkit.trajectory import Trajectory, append_trajectory, load_trajectories, write_atomically

ACTORS = ("readout", "ordered-subgoals", "random")
LABELS = ("", "words", "listed", "letters")
"""What may follow the first two after a colon: how `ConstrainedReadout` asks, with options listed or not."""


def diagnose_actors(
    names: Sequence[str],
    *,
    model: str,
    states: int,
    splits: Sequence[str],
    play: int,
    play_split: str,
    max_steps: int,
    episodes: Sequence[str],
    out: Path,
    device: str,
    dtype: str,
    seed: int,
) -> None:
    """Diagnose with progress on stderr, print the tables, and write tables and a figure into ``out``."""
    recorded = dict(_recorded(text) for text in episodes)
    needed = names if states or play else ()  # recorded episodes need no actor
    actors = make_actors(needed, model=model, device=device, dtype=dtype, seed=seed)
    try:
        if states:
            _probe(actors, out, states, splits=splits, seed=seed)
        played = _play_all(actors, out, play, split=play_split, max_steps=max_steps, seed=seed) if play else {}
    except KeyboardInterrupt:
        sys.exit(f"\nstopped; what is done is in {out}. Go on with: {shlex.join(['agentkit', *sys.argv[1:]])}")
    if played or recorded:
        success = success_by_dependency({**played, **recorded})
        write_atomically(out / "success.md", success.markdown())
        print(f"\n{success.table()}")


def _probe(actors: dict[str, Actor], out: Path, count: int, *, splits: Sequence[str], seed: int) -> None:
    """Where the actors' probability goes, printed and drawn."""
    from agentkit.report.diagnosis import mass_figure

    found = collect_states(gym.make("agentkit/ALFWorld-v0", games=_dependent_games(splits)), count, seed=seed)
    with tqdm(unit="probe", file=sys.stderr, delay=0.2) as bar:
        result = diagnose(found, actors, out=out, seed=seed, progress=_advance(bar))
    print(result.table())
    print(mass_figure(out / "diagnosis.png", result))


def make_actors(names: Sequence[str], *, model: str, device: str, dtype: str, seed: int) -> dict[str, Actor]:
    """Name -> actor.

    Raises:
        ValueError: there is no actor of that name.
    """
    from agentkit.actors import ConstrainedReadoutActor, OrderedSubgoalsActor, RandomActor

    actors: dict[str, Actor] = {}
    for name in names:
        kind, _, labels = name.partition(":")
        if name == "random":
            actors[name] = RandomActor(seed)
        elif kind in ("readout", "ordered-subgoals"):
            if labels not in LABELS:
                raise ValueError(f"no actor {name!r}: after {kind}: comes {', '.join(LABELS[1:])}, or nothing")
            readout = make_readout(model, device=device, dtype=dtype, labels=labels or "words")
            plain = ConstrainedReadoutActor(readout)
            actors[name] = plain if kind == "readout" else OrderedSubgoalsActor(plain)
        else:
            actors[name] = import_actor(name)
    return actors


def import_actor(name: str) -> Actor:
    """The actor that ``module:function`` makes, looked for in the current folder, too.

    Raises:
        ImportError: there is no such module.
        ValueError: the name has another form, or the module has no such function.
    """
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ValueError(
            f"no actor {name!r}; give {', '.join(ACTORS)}, or module:function, which is called to make one"
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    make = getattr(importlib.import_module(module), attribute, None)
    if not callable(make):
        raise ValueError(f"no actor {name!r}: {module} has no callable {attribute!r}")
    actor: Any = make()
    return actor


def _dependent_games(splits: Sequence[str]) -> list[str]:
    return [path for split in splits for path in list_games(data_folder(), split, DEPENDENT_TASK_TYPES)]


def _play_all(
    actors: dict[str, Actor], out: Path, count: int, *, split: str, max_steps: int, seed: int
) -> dict[str, list[Trajectory]]:
    """Each actor plays the same games; episodes are appended as they end and not played again."""
    env = gym.make("agentkit/ALFWorld-v0", split=split, max_steps=max_steps)
    played = {}
    with tqdm(total=count * len(actors), unit="episode", file=sys.stderr, delay=0.2) as bar:
        for name, actor in actors.items():
            path = out / f"episodes_{name.replace(':', '_')}_{split}.jsonl"
            known = {t.seed: t for t in (load_trajectories(path) if path.exists() else [])}
            for number in range(seed, seed + count):
                if number not in known:
                    known[number] = play_episode(env, actor, seed=number)
                    append_trajectory(path, known[number])
                bar.update()
            played[name] = [known[number] for number in range(seed, seed + count)]
    return played


def _recorded(text: str) -> tuple[str, list[Trajectory]]:
    name, _, path = text.partition("=")
    if not path:
        raise ValueError(f"episodes must be NAME=FILE, got {text!r}")
    return name, load_trajectories(path)


def _advance(bar: "tqdm[Any]") -> Callable[[int, int], None]:
    def advance(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return advance
