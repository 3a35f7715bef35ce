"""`BestOfNActor`: a reward model chooses among N actions that the actor samples."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

from agentkit.actors.telling import Actor, asked_again, correct, distribution_of, restart, tell
from agentkit.comparison import Comparator, Comparison
from agentkit.decisions import Verdict
from agentkit.episode import EpisodeBuilder
from agentkit.examination import copeland_wins
from agentkit.trajectory import Step, Trajectory

logger = logging.getLogger(__name__)

PrefixScorer: TypeAlias = Callable[[Sequence[Trajectory]], Sequence[float | None]]
"""From episodes so far, each ending in an action whose outcome is not known, to a score each; None = unscored."""


class BestOfNActor:
    """Samples N actions from an actor and plays the one that a reward model scores best (as AgentRM does).

    Where the actor tells its distribution, the further samples are drawn from that; otherwise it is asked N times.

    Args:
        actor: any actor; with a temperature, or its N samples are the same.
        score: scores the candidates, each as the episode so far that ends in it. What is unscored is not played unless
            everything is; then the actor's first choice is, which is counted. So it is when ``score`` raises or gives
            another number of scores.
        n: how many actions are sampled, at least 1.
        seed: makes the draws from the distribution reproducible.

    Raises:
        ValueError: ``n`` is below 1.
    """

    def __init__(self, actor: Actor, score: PrefixScorer, n: int = 4, seed: int | None = None):
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        self.actor, self.score, self.n = actor, score, n
        self.interventions = 0
        """How often another action than the actor's own choice was played."""
        self.failures = 0
        """How often nothing was scored."""
        self._rng = np.random.default_rng(seed)
        self._episode: EpisodeBuilder | None = None
        self._last = ""

    @property
    def distribution(self) -> Mapping[str, float]:
        """The actor's own; the reward model's choice among the samples is not a distribution."""
        return distribution_of(self.actor)

    def reset(self) -> None:
        """Forget the episode."""
        restart(self.actor)
        self._episode = None

    def observe(self, observation: str, info: Mapping[str, Any], action: str) -> None:
        """Remember a step that another player chose."""
        self._follow(observation, info)
        tell(self.actor, observation, info, action)
        self._last = action

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """The best of the sampled actions."""
        episode = self._follow(observation, info)
        samples, said = self._sample(observation, info)
        best = samples[0] if len(samples) == 1 else self._best(episode.trajectory(), observation, info, samples)
        self.interventions += best != samples[0]
        if best != said:
            correct(self.actor, observation, info, best)
        self._last = best
        return best

    def _follow(self, observation: str, info: Mapping[str, Any]) -> EpisodeBuilder:
        """The episode so far, with what the last action led to."""
        if self._episode is None:
            self._episode = EpisodeBuilder(observation, info)
        else:
            executed = (info.get("gate") or {}).get("executed") or self._last
            self._episode.add(executed, observation, 0.0, False, False, info)
        return self._episode

    def _sample(self, observation: str, info: Mapping[str, Any]) -> tuple[list[str], str]:
        """At most N different actions, the actor's first choice first; and what it said last."""
        first = self.actor(observation, info)
        distribution = distribution_of(self.actor)
        if distribution:
            actions, weights = list(distribution), np.array(list(distribution.values()))
            drawn = self._rng.choice(len(actions), size=self.n - 1, p=weights / weights.sum())
            return list(dict.fromkeys([first, *(actions[i] for i in drawn)])), first
        others = [self.actor(observation, asked_again(info)) for _ in range(self.n - 1)]
        return list(dict.fromkeys([first, *others])), [first, *others][-1]

    def _best(self, so_far: Trajectory, observation: str, info: Mapping[str, Any], samples: Sequence[str]) -> str:
        admissible = info.get("admissible_actions", ())
        steps = [Step(observation=observation, action=a, reward=0.0, admissible_actions=admissible) for a in samples]
        goal, task = info.get("goal", ""), info.get("task_id", "")
        prefixes = [attrs.evolve(so_far, goal=goal, task_id=task, steps=(*so_far.steps, step)) for step in steps]
        scores = self._scores(prefixes)
        scored = [i for i, score in enumerate(scores) if score is not None and math.isfinite(score)]
        if not scored:
            self.failures += 1
            return samples[0]
        return samples[max(scored, key=lambda i: scores[i] or 0.0)]

    def _scores(self, prefixes: Sequence[Trajectory]) -> Sequence[float | None]:
        try:
            scores = list(self.score(prefixes))
        except Exception as error:
            logger.warning("the reward model failed, the actor's own choice is played: %r", error)
            return []
        if len(scores) != len(prefixes):
            logger.warning("the reward model gave %d scores for %d actions", len(scores), len(prefixes))
            return []
        return scores


def by_judge(judge: Callable[[Trajectory], Sequence[Verdict | float | None]]) -> PrefixScorer:
    """Score a prefix by what a judge says about its last step; the judge must not need the steps that follow."""

    def score(prefixes: Sequence[Trajectory]) -> list[float | None]:
        last = [judge(prefix)[-1] for prefix in prefixes]
        return [verdict.score if isinstance(verdict, Verdict) else verdict for verdict in last]

    return score


def by_comparator(comparator: Comparator) -> PrefixScorer:
    """Score the last actions of prefixes of one state by the share of the others that each beats in both orders."""

    def score(prefixes: Sequence[Trajectory]) -> list[float]:
        state = _state_before_last(prefixes[0])
        actions = [prefix.steps[-1].action for prefix in prefixes]
        wins = copeland_wins(comparator, state, actions)
        return [wins[action] / max(1, len(actions) - 1) for action in actions]

    return score


def _state_before_last(prefix: Trajectory) -> Comparison:
    *past, last = prefix.steps
    return Comparison(
        goal=prefix.goal,
        history=tuple((step.action, step.feedback) for step in past),
        observation=last.observation,
        a=last.action,
        b=last.action,
        admissible_actions=last.admissible_actions,
    )
