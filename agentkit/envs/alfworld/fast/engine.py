"""One live game on the fast engine."""

from bisect import bisect_left
from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

from agentkit.envs.alfworld.fast.dynamics import apply
from agentkit.envs.alfworld.fast.game import Game, load_game
from agentkit.envs.alfworld.fast.narrator import NOTHING_HAPPENS
from agentkit.envs.alfworld.world import State, World


class Turn(NamedTuple):
    """What stock TextWorld (PddlEnv under AlfredDemangler) says after a reset or a step."""

    feedback: str
    admissible_commands: tuple[str, ...]
    score: int  # 1 while the goal holds, else 0
    won: bool
    done: bool


class Snapshot(NamedTuple):
    """A moment of a game: it can be pickled, and restored in any engine that plays the same game."""

    fingerprint: str
    source: str
    state: State
    feedback: str


class FastEngine:
    """Plays one game, text for text as stock TextWorld does.

    Engines of one game share its tables; what an engine has of its own is a state and the last turn. As in the
    original, a won game can be played on, and can be lost again.
    """

    __slots__ = ("_game", "state", "turn")

    def __init__(self, game: Game | str | PathLike | Mapping[str, Any]) -> None:
        """Load a game: a path of a `game.tw-pddl`, its JSON content, or a `Game` that is compiled already.

        Raises:
            GameFileError: the file is damaged; the message names it.
            UnsupportedGame: the game is not one that this engine reproduces exactly.
        """
        self._game = game if isinstance(game, Game) else load_game(game)
        self.reset()

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (self._game, self.snapshot())

    @property
    def game(self) -> Game:
        """The compiled game."""
        return self._game

    @property
    def world(self) -> World:
        """The static part of the game."""
        return self._game.world

    def reset(self) -> Turn:
        """Start the game again."""
        self.state: State = self.world.initial
        return self._show(self._game.narrator.opening(self.state))

    def step(self, action: str) -> Turn:
        """Do an action, or answer "Nothing happens." when it is not admissible."""
        action = action.strip()
        commands = self.turn.admissible_commands
        i = bisect_left(commands, action)
        if i == len(commands) or commands[i] != action:
            self.turn = self.turn._replace(feedback=NOTHING_HAPPENS)
            return self.turn
        game = self._game
        op = game.op(action)
        before = self.state
        self.state = apply(game.world, before, op)
        feedback = game.narrator.tell(self.state, op)
        if self.state is before:
            self.turn = self.turn._replace(feedback=feedback)
            return self.turn
        return self._show(feedback)

    def snapshot(self) -> Snapshot:
        """The present moment. Its size does not depend on how many steps led to it."""
        return Snapshot(self.world.fingerprint, self.world.source, self.state, self.turn.feedback)

    def restore(self, snapshot: Snapshot) -> Turn:
        """Go on from a moment of this game, whichever engine it was taken in.

        Raises:
            ValueError: it is another game's snapshot; the message names both files.
        """
        if snapshot.fingerprint != self.world.fingerprint:
            raise ValueError(f"this snapshot is of {snapshot.source}, but the engine plays {self.world.source}")
        self.state = snapshot.state
        return self._show(snapshot.feedback)

    def _show(self, feedback: str) -> Turn:
        won = self.world.is_won(self.state)
        self.turn = Turn(feedback, self._game.menu(self.state), int(won), won, won)
        return self.turn


def _revive(game: Game, snapshot: Snapshot) -> FastEngine:
    """Unpickle an engine."""
    engine = FastEngine(game)
    engine.restore(snapshot)
    return engine
