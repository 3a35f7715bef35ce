"""Plays every arm on the same seeds; each finished episode is kept, so that an interrupted comparison goes on."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import gymnasium as gym

from agentkit.comparing.arms import Arm, Player
from agentkit.decisions import Usage
from agentkit.journal import Journal
from agentkit.models.prices import DEFAULT_PRICES, Prices
from agentkit.models.usage import UsageMeter
from agentkit.rollout import play_episode
from agentkit.trajectory import write_atomically


@attrs.frozen(kw_only=True)
class Spent:
    """What one model used in one role during one episode."""

    role: str
    model: str
    """Its name in the price table."""
    usage: Usage


@attrs.frozen(kw_only=True)
class PlayedEpisode:
    """One episode of one arm."""

    arm: str
    seed: int
    task_id: str = ""
    task_type: str = ""
    won: bool = attrs.field(validator=attrs.validators.instance_of(bool))
    reward: float
    """Sum of the environment's own rewards."""
    steps: int
    """Executed actions."""
    seconds: float
    interventions: int = 0
    """States in which the arm intervened."""
    counts: Mapping[str, int] = attrs.field(factory=dict)
    """The gate's totals, where the arm has a gate."""
    spent: tuple[Spent, ...] = ()

    def dollars(self, prices: Prices = DEFAULT_PRICES) -> float:
        """What the episode cost.

        Raises:
            ValueError: a model has no price.
        """
        missing = next((spent.model for spent in self.spent if spent.model not in prices), None)
        if missing is not None:
            raise ValueError(f"no price for {missing!r}; known: {', '.join(prices)}")
        return sum(prices[spent.model].dollars(spent.usage) for spent in self.spent)


def play_arms(
    env: gym.Env,
    player: Player,
    arms: Sequence[Arm],
    num_episodes: int,
    *,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    on_episode: Callable[[PlayedEpisode], Any] | None = None,
) -> list[PlayedEpisode]:
    """Play ``num_episodes`` episodes of each arm; all arms see the same seeds, hence the same tasks.

    Args:
        env: the environment that all arms wrap.
        player: makes the actor that all arms share.
        arms: with different names.
        num_episodes: episode i has the seed ``seed + i``.
        seed: of the first episode.
        out: a folder for ``episodes.jsonl`` and ``settings.json``; what it already holds is not played again.
        settings: JSON values that say what is compared (environment, actor, …); kept in ``out``.
        on_episode: called with each episode that was played, for progress.

    Raises:
        ValueError: two arms share a name, there are no episodes, or ``out`` was played with other settings.
    """
    names = [arm.name for arm in arms]
    if not names or len(set(names)) < len(names) or num_episodes < 1:
        raise ValueError(f"need arms with different names and at least 1 episode, got {names} and {num_episodes}")
    journal = None if out is None else _journal(Path(out), settings or {})
    known = {} if journal is None else {(played.arm, played.seed): played for played in journal.entries()}
    wanted = [(arm, seed + i) for i in range(num_episodes) for arm in arms]  # a stop leaves the arms equally far
    for arm, number in wanted:
        if (arm.name, number) in known:
            continue
        played = known[arm.name, number] = play_arm(env, player, arm, number)
        if journal is not None:
            journal.add(played)
        if on_episode is not None:
            on_episode(played)
    return [known[arm.name, number] for arm, number in wanted]


def load_played(folder: str | os.PathLike[str]) -> list[PlayedEpisode]:
    """The episodes that `play_arms` kept in a folder; none where there is no file."""
    return Journal(Path(folder) / "episodes.jsonl", PlayedEpisode).entries()


def play_arm(env: gym.Env, player: Player, arm: Arm, seed: int) -> PlayedEpisode:
    """One episode of one arm."""
    meter = UsageMeter()
    wrapped = arm.wrap_env(env, seed, meter)
    actor = arm.wrap_actor(player(wrapped, seed, meter), wrapped, seed, meter)
    env.reset(seed=seed)  # whatever a task needs to be loaded is not on the first arm's bill
    start = time.perf_counter()
    trajectory = play_episode(wrapped, actor, seed=seed)
    seconds = time.perf_counter() - start
    counts: dict[str, int] = wrapped.get_wrapper_attr("totals") if wrapped.has_wrapper_attr("totals") else {}
    return PlayedEpisode(
        arm=arm.name,
        seed=seed,
        task_id=trajectory.task_id,
        task_type=trajectory.task_type,
        won=trajectory.won,
        reward=trajectory.total_reward,
        steps=len(trajectory),
        seconds=seconds,
        interventions=counts.get("interventions", getattr(actor, "interventions", 0)),
        counts=counts,
        spent=tuple(Spent(role=a.role, model=a.model, usage=a.usage) for a in meter.accounts()),
    )


def _journal(folder: Path, settings: Mapping[str, Any]) -> Journal[PlayedEpisode]:
    """The folder's file of episodes, if it was begun with the same settings."""
    described = folder / "settings.json"
    text = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    if not described.exists():
        write_atomically(described, text)
    elif json.loads(described.read_text(encoding="utf-8")) != json.loads(text):
        raise ValueError(f"{folder} was played with other settings ({described}); choose another folder")
    return Journal(folder / "episodes.jsonl", PlayedEpisode)
