"""The stock engine: TextWorld's `PddlEnv` with ALFWorld's display names, as the benchmark itself runs it."""

import contextlib
import os
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from agentkit.envs.alfworld.fast import FastEngine, Turn
from agentkit.envs.alfworld.games import DATA_VARIABLE, GameData
from agentkit.envs.alfworld.world import GameFileError, State, World
from agentkit.extras import require


class TextWorldEngine:
    """One game on stock TextWorld: about a second to load and to reset, and 60 ms a step.

    Args:
        game: what to play.
        mirror: a fast engine of the same game; it plays every action along, and lends its `World` and `State`.

    Raises:
        ImportError: alfworld is not installed.
        GameFileError: TextWorld cannot load the game; the message names the file.
    """

    def __init__(self, game: GameData, mirror: FastEngine | None = None):
        textworld = require("textworld", "alfworld")
        pddl = require("textworld.envs.pddl", "alfworld")
        stock = _stock_module()
        wanted = textworld.EnvInfos(feedback=True, admissible_commands=True, won=True)
        self._env: Any = stock.AlfredDemangler(pddl.PddlEnv(wanted))
        # Every PddlEnv maps its own copy of the native planner and never lets go of it.
        native = require("fast_downward", "alfworld")
        weakref.finalize(self, native.close_lib, self._env.downward_lib).atexit = False
        self._mirror = mirror
        self._actions: list[str] = []
        content = {"pddl_domain": game.pddl_domain, "grammar": game.grammar, "pddl_problem": game.pddl_problem}
        try:
            with _kept_arguments():
                self._env.load(content)
        except Exception as error:
            # TextWorld's parsers raise whatever they stumble over; users need the file.
            raise GameFileError(f"{game.path}: TextWorld cannot load it: {type(error).__name__}: {error}") from error

    @property
    def world(self) -> World | None:
        """The static part of the game, from the mirror; None without one."""
        return None if self._mirror is None else self._mirror.world

    @property
    def state(self) -> State | frozenset:
        """The mirror's state; without one every fact that holds, apart from the marks that looking leaves."""
        if self._mirror is not None:
            return self._mirror.state
        return frozenset(fact for fact in self._env.state["_facts"] if fact.name not in ("checked", "examined"))

    def reset(self) -> Turn:
        """Start the game again."""
        self._actions = []
        if self._mirror is not None:
            self._mirror.reset()
        with _kept_arguments():
            return self._turn(self._env.reset(), won=False)

    def step(self, action: str) -> Turn:
        """Do one action; one that is not possible answers "Nothing happens."."""
        if self._mirror is not None:
            self._mirror.step(action)
        state, _, _ = self._env.step(action)
        self._actions.append(action)
        return self._turn(state, won=bool(state["won"]))

    def snapshot(self) -> tuple[str, ...]:
        """The actions since the start: TextWorld can only go back by playing them again."""
        return tuple(self._actions)

    def restore(self, snapshot: tuple[str, ...]) -> Turn:
        """Play the actions of a snapshot again."""
        turn = self.reset()
        for action in snapshot:
            turn = self.step(action)
        return turn

    @staticmethod
    def _turn(state: Any, won: bool) -> Turn:
        return Turn(state.feedback, tuple(state["admissible_commands"]), int(won), won, won)


def _stock_module() -> ModuleType:
    """Import stock ALFWorld without its side effect: it sets ALFWORLD_DATA, for the whole process, when nobody has."""
    data = os.environ.get(DATA_VARIABLE)
    stock = require("alfworld.agents.environment.alfred_tw_env", "alfworld")
    if data is None:
        os.environ.pop(DATA_VARIABLE, None)
    return stock


@contextlib.contextmanager
def _kept_arguments() -> Iterator[None]:
    """Undo what fast_downward does on every translation: it overwrites ``sys.argv`` of the whole process."""
    arguments = sys.argv
    try:
        yield
    finally:
        sys.argv = arguments
