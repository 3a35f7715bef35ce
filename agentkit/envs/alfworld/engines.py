"""The engines that can run a game, by name."""

import logging
import os
from functools import lru_cache
from typing import Any, Protocol

from agentkit.envs.alfworld.fast import FastEngine, Game, Turn, UnsupportedGame, load_game
from agentkit.envs.alfworld.games import did_you_mean, read_game
from agentkit.envs.alfworld.textworld_engine import TextWorldEngine
from agentkit.envs.alfworld.world import GameFileError, World

logger = logging.getLogger(__name__)

ENGINES = ("fast", "textworld")


class Engine(Protocol):
    """One running game."""

    @property
    def world(self) -> World | None:
        """The static part of the game; None when only its texts are understood."""
        ...

    @property
    def state(self) -> Any:
        """A hashable value that differs exactly when something in the game differs; a `State` when `world` is known."""
        ...

    def reset(self) -> Turn:
        """Start the game again."""
        ...

    def step(self, action: str) -> Turn:
        """Do one action."""
        ...

    def snapshot(self) -> Any:
        """A picklable value from which `restore` goes on."""
        ...

    def restore(self, snapshot: Any) -> Turn:
        """Go back to a snapshot of the same game."""
        ...


def check_engine(name: str) -> str:
    """Return ``name`` when there is such an engine.

    Raises:
        ValueError: there is none.
    """
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}{did_you_mean(str(name), ENGINES)}")
    return name


def make_engine(name: str, path: str) -> Engine:
    """The engine ``name`` with the game of a file loaded into it.

    The stock engine tells texts, not states: a fast engine beside it plays the same actions and knows the state. A game
    that the fast engine does not reproduce exactly is left to the stock engine alone, without ground truth but
    ``state_changed``; the reason is logged.

    Raises:
        ValueError: there is no such engine.
        GameFileError: the file is damaged, or marked as unsolvable; the message names it.
        ImportError: the stock engine is needed, and alfworld is not installed.
    """
    check_engine(name)
    game = _compiled(path, _stamp(path))
    fast = None if game is None else FastEngine(game)
    return fast if fast is not None and name == "fast" else TextWorldEngine(read_game(path), mirror=fast)


# A compiled game takes 30 to 60 KB; this many keep the validation splits and most local experiments in memory.
@lru_cache(maxsize=512)
def _compiled(path: str, stamp: tuple[int, int]) -> Game | None:
    """The compiled game; None when only the stock engine plays it. ``stamp`` tells versions of one file apart."""
    if not read_game(path).solvable:
        raise GameFileError(f"{path}: is marked as unsolvable")
    try:
        return load_game(path)
    except UnsupportedGame as reason:
        logger.warning("%s: left to the stock engine, without milestones: %s", path, reason)
        return None


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise GameFileError(f"{path}: cannot be read: {error.strerror}") from error
    return status.st_mtime_ns, status.st_size
