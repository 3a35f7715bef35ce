"""Turns episodes of an actor into branches: which states, which actions, and what came of each."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import attrs
import gymnasium as gym
import numpy as np

from agentkit.branches import Branch, BranchEpisode, BranchState, split_of
from agentkit.candidates import EnvironmentCandidates
from agentkit.examination import Candidates, propose_alternatives
from agentkit.rollout import Actor
from agentkit.trainers.branching.plays import MakeActor, Note, Played, Stage, Start, Visit, play_all
from agentkit.trainers.branching.progress import ProgressCount

logger = logging.getLogger(__name__)

MakeCandidates: TypeAlias = Callable[[Actor, int], Candidates]
"""``(actor, seed) -> candidates``: the source of alternatives to that actor's proposals."""


@attrs.frozen(kw_only=True)
class BranchSettings:
    """What determines the branches of an episode, besides the environment and the actor."""

    k: int
    continuations: int
    states_per_episode: int | None
    discount: float
    margin: float
    shares: tuple[float, ...]
    split_seed: int
    note: Mapping[str, Any] = attrs.field(factory=dict)
    """What the caller says about the environment, the actors and the candidates."""

    def __attrs_post_init__(self) -> None:
        for name in ("k", "continuations", "states_per_episode"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
        if not 0 < self.discount <= 1:
            raise ValueError(f"discount must be in (0, 1], got {self.discount!r}")
        if self.margin < 0:
            raise ValueError(f"margin must be at least 0, got {self.margin!r}")
        split_of("", self.shares)  # says what is wrong with them

    def line(self) -> str:
        """As it is kept with each episode."""
        return json.dumps(attrs.asdict(self), sort_keys=True)

    def check_same(self, line: str, where: str) -> None:
        """Raises ValueError where another `line` says something else; the message names all that differs."""
        if line == self.line():
            return
        before, here = (_flat(json.loads(text)) for text in (line, self.line()))
        different = [key for key in {**before, **here} if before.get(key) != here.get(key)]
        named = ", ".join(f"{key}={before.get(key)!r} (here {here.get(key)!r})" for key in different)
        raise ValueError(f"{where} was collected with {named}; choose another file, or the same settings")


class _Base(NamedTuple):
    """An episode of the actor, and the numbers of those of its steps that are branched."""

    seed: int
    played: Played
    steps: list[int]
    duplicates: int


class BranchCollector:
    """Plays episodes and their branches.

    Args:
        envs: environments that can branch; so many plays run side by side.
        make_actor: plays the episodes.
        make_continuation: goes on after each branch.
        make_candidates: see `MakeCandidates`; None = the admissible actions.
        settings: how many, and how they are labelled.
    """

    def __init__(
        self,
        envs: Sequence[gym.Env],
        make_actor: MakeActor,
        make_continuation: MakeActor,
        make_candidates: MakeCandidates | None,
        settings: BranchSettings,
    ):
        self._stages = [Stage(env) for env in envs]
        self._make_actor, self._make_continuation = make_actor, make_continuation
        self._make_candidates = make_candidates or (lambda actor, seed: EnvironmentCandidates(seed))
        self._settings = settings
        self._branched: set[tuple[Any, ...]] = set()

    def remember(self, episode: BranchEpisode) -> None:
        """The states of an episode that is finished already are not branched again."""
        for state in episode.states:
            self._branched.add((episode.task_id, episode.history[: state.step], state.observation))

    def collect(self, seeds: Sequence[int], count: ProgressCount) -> Iterator[BranchEpisode]:
        """The episodes of some seeds, in order, with all their branches.

        Raises:
            RuntimeError: the actor failed at the start of an episode, or in every branch of one.
        """
        episodes = dict(play_all([self._own_start(seed) for seed in seeds], self._stages))
        bases = [self._base(seed, episodes[i]) for i, seed in enumerate(seeds)]
        starts = [start for base in bases for start in self._branch_starts(base)]
        count.planned(len(bases), len(starts))
        results: dict[int, Played] = {}
        for number, played in play_all(starts, self._stages):
            results[number] = played
            count.played()
        in_order = iter([results[number] for number in range(len(starts))])
        for base in bases:
            episode = self._episode(base, in_order)
            count.finished()
            yield episode

    def _own_start(self, seed: int) -> Start:
        def make_note(actor: Actor) -> Note:
            candidates = self._make_candidates(actor, seed)
            return lambda observation, info, proposal: propose_alternatives(
                candidates, observation, info, proposal, self._settings.k
            )

        return Start(seed=seed, make_actor=self._make_actor, actor_seed=_derived_seed(seed, 0), make_note=make_note)

    def _base(self, seed: int, played: Played) -> _Base:
        """Choose the states to branch."""
        if played.failure is not None:
            logger.warning("the actor failed in its episode of seed %d, which ends there: %s", seed, played.failure)
            if not played.visits:
                raise RuntimeError(f"the actor failed at the start of the episode of seed {seed}: {played.failure}")
        keys = _state_keys(played)
        eligible = [t for t, visit in enumerate(played.visits) if visit.noted]
        fresh = [t for t in eligible if keys[t] not in self._branched]
        limit = self._settings.states_per_episode
        if limit is not None and len(fresh) > limit:
            drawn = np.random.default_rng([seed, limit]).choice(len(fresh), size=limit, replace=False)
            fresh = [fresh[i] for i in sorted(drawn)]
        self._branched.update(keys[t] for t in fresh)
        return _Base(seed, played, fresh, sum(keys[t] in self._branched for t in eligible) - len(fresh))

    def _branch_starts(self, base: _Base) -> Iterator[Start]:
        for t in base.steps:
            visits = base.played.visits[: t + 1]
            for action in _actions(visits[-1]):
                for number in range(self._settings.continuations):
                    yield Start(
                        seed=base.seed,
                        make_actor=self._make_continuation,
                        actor_seed=_derived_seed(base.seed, 1 + number, t),
                        visits=visits,
                        action=action,
                    )

    def _episode(self, base: _Base, results: Iterator[Played]) -> BranchEpisode:
        played, settings = base.played, self._settings
        states = tuple(self._state(base, t, results) for t in base.steps)
        info = played.visits[0].info
        branches = [branch for state in states for branch in state.branches]
        unscored = sum(branch.unscored for branch in branches)
        reason = next((branch.failure for branch in branches if branch.failure), "")
        # A branch of one step ended with its own action: there the actor was not asked.
        if unscored and all(steps == 1 for branch in branches for steps in branch.steps):
            raise RuntimeError(
                f"the actor failed in all {unscored} continuations of the episode of seed {base.seed}: {reason}"
            )
        if unscored:
            logger.warning(
                "seed %d: %d continuations are unscored, for the actor failed: %s", base.seed, unscored, reason
            )
        return BranchEpisode(
            seed=base.seed,
            settings=settings.line(),
            margin=settings.margin,
            task_id=info.get("task_id", ""),
            task_type=info.get("task_type", ""),
            split=split_of(info.get("task_id", "") or info.get("goal", ""), settings.shares, settings.split_seed),
            goal=info.get("goal", ""),
            won=bool(played.final_info.get("won", False)),
            history=_history(played),
            states=states,
            duplicates=base.duplicates,
        )

    def _state(self, base: _Base, t: int, results: Iterator[Played]) -> BranchState:
        visit = base.played.visits[t]
        branches = []
        for action in _actions(visit):
            ends = [next(results) for _ in range(self._settings.continuations)]
            branches.append(_branch(action, ends, self._settings.discount))
        admissible = tuple(visit.info.get("admissible_actions", ()))
        return BranchState(
            step=t, observation=visit.observation, admissible_actions=admissible, branches=tuple(branches)
        )


def _branch(action: str, ends: Sequence[Played], discount: float) -> Branch:
    scored = [end.rewards for end in ends if end.failure is None]
    return Branch(
        action=action,
        returns=tuple(discounted(rewards, discount) for rewards in scored),
        steps=tuple(map(len, scored)),
        unscored=len(ends) - len(scored),
        failure=next((end.failure for end in ends if end.failure is not None), ""),
    )


def discounted(rewards: Sequence[float], discount: float) -> float:
    """The sum of ``discount ** t`` times the t-th reward.

    >>> discounted([1.0, 0.0, 4.0], 0.5)
    2.0
    """
    return float(sum(discount**t * reward for t, reward in enumerate(rewards)))


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**settings, **settings["note"], "note": None}


def _actions(visit: Visit) -> tuple[str, ...]:
    """The proposal and its alternatives."""
    return visit.action, *visit.noted


def _history(played: Played) -> tuple[tuple[str, str], ...]:
    """The (action, observation) pairs of an episode."""
    after = [*(visit.observation for visit in played.visits[1:]), played.final_observation]
    return tuple((visit.action, seen) for visit, seen in zip(played.visits, after, strict=True))


def _state_keys(played: Played) -> list[tuple[Any, ...]]:
    """What makes the states of an episode different: the task, and all that was done and seen."""
    history = _history(played)
    return [(visit.info.get("task_id", ""), history[:t], visit.observation) for t, visit in enumerate(played.visits)]


def _derived_seed(*numbers: int) -> int:
    """A seed that numbers determine, different from those of others."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
