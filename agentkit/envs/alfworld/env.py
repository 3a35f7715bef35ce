"""`ALFWorldEnv`: the Gymnasium environment around an ALFWorld engine."""

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import gymnasium as gym
from gymnasium.error import ResetNeeded

from agentkit.envs.alfworld.engines import Engine, check_engine, make_engine
from agentkit.envs.alfworld.games import choose_games, did_you_mean, index_by_task_id, task_id_of, task_type_of
from agentkit.envs.alfworld.moment import Moment, first_moment, next_moment
from agentkit.envs.alfworld.planner import commands, shortest_plan
from agentkit.envs.alfworld.schedule import EpochOrder, game_of_seed
from agentkit.envs.alfworld.world import GameFileError
from agentkit.envs.contract import TextSpace, check_action

logger = logging.getLogger(__name__)

_TASK_MARK = "Your task is to: "


@attrs.frozen
class Snapshot:
    """A moment of an episode, for `ALFWorldEnv.restore`. Picklable."""

    path: str
    engine: Any
    moment: Moment


class ALFWorldEnv(gym.Env[str, str]):
    """Household tasks in text, from ALFWorld game files.

    Observations are the game's own texts, unaltered, as ReAct and verl-agent prompts know them: the first one begins
    with the banner ``-= Welcome to TextWorld, ALFRED! =-``, lists the receptacles and ends with the task. Actions are
    sentences such as ``"take mug 1 from desk 1"``; one that is not possible is answered with "Nothing happens.".

    The reward is 1.0 for the action that wins and 0.0 otherwise. Winning terminates the episode; ``max_steps`` actions
    truncate it. ``info`` is the text-environment contract: ``goal`` is the sentence after "Your task is to: ",
    ``admissible_actions`` has every command of the stock game in its order (``help``, ``inventory`` and ``look``
    included), ``milestones`` are those of `agentkit.envs.alfworld.ground_truth`, and ``state_changed`` is True after a
    reset. With ``oracle_roles`` there is ``oracle_role`` too: the role of the last action by
    `agentkit.envs.alfworld.roles`, None after a reset.

    Which game is played: ``reset(options={"task_id": ...})`` names it; ``reset(seed=s)`` picks one that depends on
    ``s`` alone (consecutive seeds visit every game once before one comes again); a reset without either goes on through
    all games in an order that depends on the last seed. A broken game file is logged once, by name, and the next one is
    played instead, unless the file was asked for by its task id.

    Args:
        split: a folder of games below the data folder; not used when ``games`` is given.
        games: paths of game files to play, instead of a split.
        data: the data folder; None = the environment variable ALFWORLD_DATA.
        task_types: play only these.
        task_id: play only this game, ``"<task folder>/<trial folder>"``.
        engine: "fast", or "textworld" for the stock engine, with the same texts a thousand times slower.
        max_steps: actions an episode, at least 1.
        oracle_roles: add ``oracle_role`` to ``info``; it costs about a millisecond a step.
        render_mode: None, or "ansi": `render` returns the text that the agent sees.

    Raises:
        FileNotFoundError, NotADirectoryError, TypeError, ValueError: an argument is wrong; the message names it, its
            value and the mend.
        GameFileError: no game can be loaded, or the one that was asked for cannot.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - declared by gymnasium.Env

    def __init__(
        self,
        split: str = "train",
        games: Sequence[str | os.PathLike[str]] | None = None,
        data: str | os.PathLike[str] | None = None,
        task_types: Sequence[str] | None = None,
        task_id: str | None = None,
        engine: str = "fast",
        max_steps: int = 50,
        oracle_roles: bool = False,
        render_mode: str | None = None,
    ):
        if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
            raise ValueError(f"max_steps must be a whole number of at least 1, got {max_steps!r}")
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode must be None or 'ansi', got {render_mode!r}")
        self._engine_name = check_engine(engine)
        self._max_steps = max_steps
        self._oracle_roles = oracle_roles
        self.render_mode = render_mode
        self._games = choose_games(split, games, data, task_types)
        if task_id is not None:
            self._games = (self._games[self._index_of(task_id)],)
        self._broken: frozenset[int] = frozenset()
        self._order: EpochOrder | None = None
        self._path: str | None = None
        self._engine: Engine | None = None
        self._moment: Moment | None = None
        self.observation_space = TextSpace()
        self.action_space = TextSpace()

    @property
    def games(self) -> tuple[str, ...]:
        """The paths of the games that this environment plays."""
        return self._games

    @property
    def engine(self) -> Engine:
        """The running engine, which knows the game's `World` and `State`.

        Raises:
            ResetNeeded: no game was started.
        """
        if self._engine is None:
            raise ResetNeeded("no game is running; call reset() first")
        return self._engine

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode; see the class for how ``seed`` and ``options={"task_id": ...}`` choose the game.

        Raises:
            ValueError: an unknown option or task id.
            GameFileError: no game can be loaded, or the one that was asked for cannot.
        """
        wanted = _task_option(options)
        super().reset(seed=seed)
        if seed is not None or self._order is None:
            first = None if seed is None else game_of_seed(seed, len(self._games))
            self._order = EpochOrder(len(self._games), self.np_random, first)
        if wanted is not None:
            self._load(self._index_of(wanted))
        else:
            self._load_next(self._order)
        turn = self.engine.reset()
        self._goal = turn.feedback.rpartition(_TASK_MARK)[2].strip()
        self._moment = first_moment(self.engine, turn, self._oracle_roles)
        return turn.feedback, self._info(self._moment)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do one action.

        Raises:
            TypeError: the action is not a str.
            ResetNeeded: the episode has not begun, or has ended.
        """
        check_action(action)
        last = self._moment
        if last is None or last.ended:
            raise ResetNeeded(self._why_not_running(last))
        engine = self.engine
        before = engine.state
        turn = engine.step(action)
        self._moment = moment = next_moment(last, engine, before, action, turn, self._max_steps)
        won = turn.won
        return turn.feedback, float(won), won, moment.ended and not won, self._info(moment)

    def render(self) -> str | None:
        """The text that the agent sees, with ``render_mode="ansi"``; None without."""
        if self.render_mode is None:
            return None
        if self._moment is None:
            raise ResetNeeded("there is nothing to render; call reset() first")
        return self._moment.turn.feedback

    def snapshot(self) -> Snapshot:
        """This moment of the episode, for `restore`. Its size does not depend on the steps that led to it ("fast").

        Raises:
            ResetNeeded: no game was started.
        """
        if self._moment is None or self._path is None:
            raise ResetNeeded("there is nothing to take a snapshot of; call reset() first")
        return Snapshot(self._path, self.engine.snapshot(), self._moment)

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """Go back to a snapshot of the game that is loaded, and return its observation and info.

        Raises:
            ResetNeeded: no game was started.
            ValueError: the snapshot is of another game; the message names both files.
        """
        if snapshot.path != self._path and task_id_of(snapshot.path) != self._task_id_running():
            raise ValueError(
                f"snapshot is of {snapshot.path}, but the game that runs is {self._path}; "
                f"reset(options={{'task_id': {task_id_of(snapshot.path)!r}}}) loads that one"
            )
        self.engine.restore(snapshot.engine)
        self._moment = snapshot.moment
        return snapshot.moment.turn.feedback, self._info(snapshot.moment)

    def expert_action(self) -> str:
        """The first action of a shortest plan from here, with knowledge of the whole state.

        Raises:
            ResetNeeded: no game was started.
            ValueError: no plan wins from here, or the game is played by the stock engine, whose state it cannot read.
        """
        world = self.engine.world
        if world is None:
            raise ValueError(f"{self._task_id} is left to the stock engine, whose state the planner cannot read")
        plan = shortest_plan(world, self.engine.state)
        if not plan:
            raise ValueError(f"{self._task_id}: {'the goal holds' if plan == () else 'no plan wins from here'}")
        admissible = self._moment.turn.admissible_commands if self._moment is not None else ()
        return next(command for command in commands(world, plan[0]) if command in admissible)

    def _task_id_running(self) -> str:
        if self._path is None:
            raise ResetNeeded("no game is running; call reset() first")
        return self._task_id

    def _why_not_running(self, moment: Moment | None) -> str:
        if moment is None:
            return "the episode has not begun; call reset() before step()"
        how = "was won" if moment.turn.won else f"has had its {self._max_steps} steps"
        return f"the episode is over (it {how}); call reset() before the next step()"

    def _info(self, moment: Moment) -> dict[str, Any]:
        info = {
            "goal": self._goal,
            "admissible_actions": moment.turn.admissible_commands,
            "won": moment.turn.won,
            "state_changed": moment.state_changed,
            "milestones": moment.milestones,
            "task_type": self._task_type,
            "task_id": self._task_id,
        }
        if self._oracle_roles:
            info["oracle_role"] = moment.role
        return info

    def _index_of(self, task_id: str) -> int:
        ids = index_by_task_id(self._games)
        if task_id not in ids:
            raise ValueError(f"unknown task id {task_id!r}{did_you_mean(str(task_id), ids)}")
        return ids[task_id]

    def _load_next(self, order: EpochOrder) -> None:
        """Load the next game of the order that is not broken."""
        while True:
            index = order.next()
            if index in self._broken:
                continue
            try:
                return self._load(index)
            except GameFileError as error:
                if len(self._broken) + 1 == len(self._games):
                    raise
                self._broken |= {index}
                logger.warning("left out: %s", error)

    def _load(self, index: int) -> None:
        """Load a game into an engine, unless it is the one that is loaded."""
        path = self._games[index]
        if path == self._path:
            return
        self._engine = engine = make_engine(self._engine_name, path)
        self._path = path
        self._task_id = task_id_of(path)
        self._task_type = task_type_of(path) if engine.world is None else engine.world.goal.task_type

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_engine"] = None if self._moment is None else self.engine.snapshot()
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Load the game again and bring it to where it was (the stock engine plays its actions again)."""
        self.__dict__.update(state)
        snapshot, self._engine = self._engine, None
        if self._path is not None:
            self._engine = make_engine(self._engine_name, self._path)
            self._engine.restore(snapshot)


def _task_option(options: Mapping[str, Any] | None) -> str | None:
    unknown = sorted(set(options or ()) - {"task_id"})
    if unknown:
        raise ValueError(f"unknown option {unknown[0]!r} in options; known: 'task_id'")
    return (options or {}).get("task_id")
