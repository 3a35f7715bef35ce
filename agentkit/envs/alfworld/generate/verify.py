"""Proof that a game can be won: its walkthrough is played on the fast engine, from the text that will be written."""

import json

from agentkit.envs.alfworld.fast import FastEngine, UnsupportedGame


def verify_walkthrough(game: str, name: str) -> None:
    """Play the walkthrough of ``game`` (the text of a ``game.tw-pddl``); ``name`` stands in the error.

    Raises:
        RuntimeError: a command is not admissible at its turn, or the game is not won exactly by the last one.
    """
    content = json.loads(game)
    walkthrough = content["walkthrough"]
    try:
        engine = FastEngine(content)
    except UnsupportedGame as error:
        raise RuntimeError(f"{name}: can't be verified ({error}); install alfworld 0.4.2") from error
    for number, command in enumerate(walkthrough, start=1):
        if engine.turn.won:
            raise RuntimeError(f"{name}: won before command {number} of its walkthrough, {command!r}")
        if command not in engine.turn.admissible_commands:
            raise RuntimeError(f"{name}: command {number} of its walkthrough, {command!r}, is not admissible")
        engine.step(command)
    if not engine.turn.won:
        raise RuntimeError(f"{name}: its walkthrough of {len(walkthrough)} commands doesn't win")
