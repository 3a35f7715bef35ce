"""A game compiled once: its world, its sentences and its commands, shared by every live environment of that game."""

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from os import PathLike, fspath
from typing import Any
from weakref import WeakValueDictionary

from agentkit.envs.alfworld.fast.compile import compile_world
from agentkit.envs.alfworld.fast.domain import recognise_domain
from agentkit.envs.alfworld.fast.dynamics import Op, local_ops, standing_ops
from agentkit.envs.alfworld.fast.errors import UnsupportedGame
from agentkit.envs.alfworld.fast.grammar import split_task
from agentkit.envs.alfworld.fast.narrator import Narrator
from agentkit.envs.alfworld.fast.problem import parse_problem
from agentkit.envs.alfworld.fast.reachability import is_relaxed_solvable
from agentkit.envs.alfworld.fast.wording import Wording, compile_wording
from agentkit.envs.alfworld.world import GameFileError, State, World

_PARTS = ("pddl_domain", "grammar", "pddl_problem")


class Game:
    """One compiled game. It grows only by memories that are bounded by the number of its possible commands."""

    def __init__(self, world: World, wording: Wording, walkthrough: tuple[str, ...]) -> None:
        self.world = world
        self.walkthrough = walkthrough
        self.narrator = Narrator(world, wording)
        self._wording = wording
        self._templates = wording.commands
        self._commands: dict[Op, str] = {}
        self._ops: dict[str, Op] = {}
        self._standing: dict[int, list[str]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _share, (self.world, self._wording, self.walkthrough)

    def menu(self, state: State) -> tuple[str, ...]:
        """The admissible commands of a state, sorted as strings: that is the stock engine's order."""
        standing = self._standing.get(state.location)
        if standing is None:
            standing = sorted(self.command(op) for op in standing_ops(self.world, state.location))
            self._standing[state.location] = standing
        commands = self._commands
        try:
            local = [commands[op] for op in local_ops(self.world, state)]
        except KeyError:
            local = [self.command(op) for op in local_ops(self.world, state)]
        return tuple(sorted(standing + local))

    def command(self, op: Op) -> str:
        """What a player types for an action."""
        command = self._commands.get(op)
        if command is None:
            world = self.world
            names, places = world.object_names, world.receptacle_names
            template = self._templates[op.action]
            command = template.format(
                o=names[op.object], r=places[op.receptacle], co=names[op.object], ko=names[op.tool]
            )
            self._commands[op] = command
            self._ops[command] = op
        return command

    def op(self, command: str) -> Op:
        """The action behind a command that a menu of this game has shown."""
        return self._ops[command]


def load_game(source: str | PathLike | Mapping[str, Any], name: str | None = None) -> Game:
    """Read and compile a game, or return the same `Game` while somebody holds it.

    Args:
        source: the path of a `game.tw-pddl`, or what its JSON holds.
        name: what messages call the game; default: the path.

    Raises:
        GameFileError: the file is missing a part, damaged, or states something impossible; the message names it.
        UnsupportedGame: its domain, grammar or problem is not one that this engine reproduces exactly.
    """
    if isinstance(source, Mapping):
        name, data = name or "<game>", source
    else:
        name = name or fspath(source)
        data = _read(fspath(source), name)
    for part in _PARTS:
        if not isinstance(data.get(part), str):
            raise GameFileError(f"{name}: the game has no text {part!r}")
    digest = blake2b("\0".join(data[part] for part in _PARTS).encode(), digest_size=16).hexdigest()
    walkthrough = tuple(data.get("walkthrough") or ())
    game = _live_games().get((name, digest, walkthrough))
    return game if game is not None else _share(*_compile(data, name, digest), walkthrough)


def _share(world: World, wording: Wording, walkthrough: tuple[str, ...]) -> Game:
    """The live game of these parts, or a new one; unpickled environments share games in this way too."""
    key = (world.source, world.fingerprint, walkthrough)
    game = _live_games().get(key)
    if game is None:
        game = _live_games()[key] = Game(world, wording, walkthrough)
    return game


@lru_cache(maxsize=1)
def _live_games() -> WeakValueDictionary[tuple[str, str, tuple[str, ...]], Game]:
    return WeakValueDictionary()


def _read(path: str, name: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except ValueError as error:
        raise GameFileError(f"{name}: the game file is cut short or not JSON ({error})") from error
    if not isinstance(data, dict):
        raise GameFileError(f"{name}: the game file holds a {type(data).__name__}, not an object")
    return data


def _compile(data: Mapping[str, Any], name: str, digest: str) -> tuple[World, Wording]:
    domain = recognise_domain(data["pddl_domain"])
    grammar, task = split_task(data["grammar"])
    wording = compile_wording(grammar, "help" in domain.actions)
    world = compile_world(parse_problem(data["pddl_problem"], name), domain, task, name, digest)
    if not is_relaxed_solvable(world):
        raise UnsupportedGame("its goal can never be reached, and then the stock engine offers no actions at all")
    return world, wording
