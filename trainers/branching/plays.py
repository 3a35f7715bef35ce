"""Plays episodes, and continuations of episodes from given states, many at a time with one call of a shared model."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import attrs
import gymnasium as gym
from gymnasium.wrappers import TimeLimit

from agentkit.actors.telling import restart, tell
from agentkit.rollout import Actor
from agentkit.wrappers import ReplaySnapshot

logger = logging.getLogger(__name__)

MakeActor: TypeAlias = Callable[[gym.Env, int], Actor]
"""``(env, seed) -> actor``, an actor of that environment that does the same again when it is made again."""


Note: TypeAlias = Callable[[str, Mapping[str, Any], str], Any]
"""``note(observation, info, proposal)``: called in each state before its action is executed."""


class Visit(NamedTuple):
    """A state in which the actor chose an action."""

    observation: str
    info: Mapping[str, Any]
    action: str
    snapshot: Any
    noted: Any
    """What the note said there."""


@attrs.frozen(eq=False, kw_only=True)
class Start:
    """Where a play starts: an episode, or a branch of one."""

    seed: int
    """Of the environment's reset."""
    make_actor: MakeActor
    actor_seed: int
    make_note: Callable[[Actor], Note] | None = None
    """Makes what is called in each state; None = nothing is kept of the states."""
    visits: Sequence[Visit] = ()
    """Those up to and including the state that a branch starts in; none for an episode."""
    action: str | None = None
    """The first action of a branch."""


@attrs.frozen
class Played:
    """How a play ended."""

    rewards: tuple[float, ...]
    final_observation: str
    final_info: Mapping[str, Any]
    visits: tuple[Visit, ...] = ()
    """Where the states were noted."""
    failure: str | None = None
    """Why the actor did not bring it to an end; None when it did."""


def branching(env: gym.Env) -> gym.Env:
    """The environment, with `ReplaySnapshot` around it unless it has a ``snapshot`` that brings back all of it.

    A `TimeLimit` around an environment that can branch keeps its count when the inside is restored, so it is replayed.
    """
    layer: gym.Env = env
    while not hasattr(type(layer), "snapshot"):
        if isinstance(layer, TimeLimit) or not isinstance(layer, gym.Wrapper):
            return ReplaySnapshot(env)
        layer = layer.env
    can_branch = hasattr(layer, "snapshot")  # a branching wrapper has it only when what is inside can
    return env if can_branch else ReplaySnapshot(env)


class Stage:
    """An environment that can branch (see `branching`), and the play that it is in."""

    def __init__(self, env: gym.Env):
        self._env = env
        self._loaded: int | None = None
        self._snapshot: Callable[[], Any] = env.get_wrapper_attr("snapshot")
        self._restore: Callable[[Any], tuple[str, dict[str, Any]]] = env.get_wrapper_attr("restore")

    def begin(self, start: Start) -> None:
        """Bring environment and actor to where a play starts; take the first action where that is given."""
        self._rewards: list[float] = []
        self._visits: list[Visit] = []
        self._history: list[tuple[str, str]] = []
        self.ended, self._failure = False, None
        self.actor = start.make_actor(self._env, start.actor_seed)
        restart(self.actor)
        self._note = None if start.make_note is None else start.make_note(self.actor)
        if start.action is None:
            self._reset(start.seed)
        else:
            self._branch(start, start.action)

    def execute(self, action: str) -> None:
        """Step with what the actor chose."""
        if self._note is not None:
            noted = self._note(self.observation, {**self.info, "history": tuple(self._history)}, action)
            self._visits.append(Visit(self.observation, self.info, action, self._snapshot(), noted))
        self._step(action)

    def fail(self, error: Exception) -> None:
        """End the play, for the actor cannot go on."""
        self._failure = f"{type(error).__name__}: {error}"
        self.ended = True

    def played(self) -> Played:
        """What came of the play."""
        return Played(tuple(self._rewards), self.observation, self.info, tuple(self._visits), self._failure)

    def _branch(self, start: Start, action: str) -> None:
        if self._loaded != start.seed and not isinstance(self._env, ReplaySnapshot):
            self._reset(start.seed)  # a snapshot is of one task, which has to be the loaded one
        *before, here = start.visits
        for visit in before:
            tell(self.actor, visit.observation, visit.info, visit.action)
        self.observation, self.info = self._restore(here.snapshot)
        tell(self.actor, self.observation, self.info, action)
        self._step(action)

    def _reset(self, seed: int) -> None:
        self._loaded = None
        self.observation, self.info = self._env.reset(seed=seed)
        self._loaded = seed

    def _step(self, action: str) -> None:
        self.observation, reward, terminated, truncated, self.info = self._env.step(action)
        self._rewards.append(float(reward))
        self._history.append((action, self.observation))
        self.ended = terminated or truncated


def play_all(starts: Iterable[Start], stages: Sequence[Stage]) -> Iterator[tuple[int, Played]]:
    """Play everything, as many at a time as there are stages; each result comes with its number when it is there.

    Actors that put a question to one shared model (``model``, ``query`` and ``choose``, as `ConstrainedReadoutActor`
    has) are asked together. What comes of a play does not depend on what is played beside it.
    """
    waiting = deque(enumerate(starts))
    running: dict[int, Stage] = {}
    free = list(stages)
    while waiting or running:
        while waiting and free:
            number, start = waiting.popleft()
            running[number] = free.pop()
            running[number].begin(start)
        playing = [stage for stage in running.values() if not stage.ended]
        for stage, action in zip(playing, act_together(playing), strict=True):
            if isinstance(action, Exception):
                stage.fail(action)
            else:
                stage.execute(action)
        for number in [number for number, stage in running.items() if stage.ended]:
            stage = running.pop(number)
            free.append(stage)
            yield number, stage.played()


def act_together(stages: Sequence[Stage]) -> list[str | Exception]:
    """The next action of each stage's actor, or what it raised instead."""
    model = getattr(stages[0].actor, "model", None) if len(stages) > 1 else None
    if model is None or not all(_asks(stage, model) for stage in stages):
        return [_act(stage) for stage in stages]
    try:
        queries = [_asking(stage).query(stage.observation, stage.info) for stage in stages]
        decisions = list(model(queries))
        if len(decisions) != len(queries):
            raise ValueError(f"the model gave {len(decisions)} decisions for {len(queries)} queries")
    except Exception as error:
        # One question that the model cannot cope with must not cost the other branches their return.
        logger.warning("the model failed on a batch of %d, asked one by one: %r", len(stages), error)
        return [_act(stage) for stage in stages]
    return [_choose(stage, decision) for stage, decision in zip(stages, decisions, strict=True)]


def _asks(stage: Stage, model: Any) -> bool:
    actor = stage.actor
    asks = getattr(actor, "model", None) is model and hasattr(actor, "query") and hasattr(actor, "choose")
    return asks and bool(stage.info.get("admissible_actions"))


def _asking(stage: Stage) -> Any:
    return stage.actor


def _act(stage: Stage) -> str | Exception:
    try:
        return stage.actor(stage.observation, stage.info)
    except Exception as error:
        return error


def _choose(stage: Stage, decision: Any) -> str | Exception:
    try:
        return _asking(stage).choose(decision, stage.observation)
    except Exception as error:
        return error
