"""Where the alternatives to a proposed action come from (COTA, arXiv 2608.21027, Tables 7 and 14).

Every source is called ``candidates(observation, info, proposal, k)`` and returns at most ``k`` different actions, never
the proposal. What is drawn depends on the seed and on what is seen, not on earlier calls, so that collecting branches
can be interrupted and goes on alike. ``info["history"]``, the executed (action, observation) pairs where the caller
knows them, is shown to the models that are asked here.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from agentkit.actors.telling import Actor, asked_again, correct, distribution_of
from agentkit.decisions import DecisionModel, Query, Question
from agentkit.examination import Candidates
from agentkit.trajectory import Trajectory

Info: TypeAlias = Mapping[str, Any]

_FORM = re.compile(r"<[^<>]+>")
_SYSTEM = "You are an agent in a text environment. Reach the goal. Answer with your next action only."


class EnvironmentCandidates:
    """Admissible actions, drawn uniformly without replacement; none where the environment lists none.

    Args:
        seed: of the draws.
    """

    def __init__(self, seed: int = 0):
        self.seed = seed

    def __call__(self, observation: str, info: Info, proposal: str, k: int) -> list[str]:
        """At most ``k`` alternatives."""
        actions = dict.fromkeys(_possible(info), 1.0)
        return _draw(actions, proposal, k, _generator(self.seed, observation, info, proposal))


class SampledCandidates:
    """What the actor itself might have done: samples from its distribution, without replacement.

    Where it tells no ``distribution``, it is asked again, and then told that its proposal stands; that needs an actor
    which acts at random, and whose memory a further question leaves in order.

    Args:
        actor: the actor whose proposals are looked at, so that it has just chosen ``proposal``.
        seed: of the draws.
        attempts: how often an actor without a distribution is asked for each of the ``k``.
    """

    def __init__(self, actor: Actor, seed: int = 0, attempts: int = 2):
        if attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {attempts!r}")
        self.actor, self.seed, self.attempts = actor, seed, attempts

    def __call__(self, observation: str, info: Info, proposal: str, k: int) -> list[str]:
        """At most ``k`` alternatives."""
        distribution = distribution_of(self.actor)
        if distribution:
            return _draw(distribution, proposal, k, _generator(self.seed, observation, info, proposal))
        found: dict[str, None] = {}
        for _ in range(self.attempts * k):
            found[self.actor(observation, asked_again(info))] = None
            if len(found.keys() - {proposal}) == k:
                break
        correct(self.actor, observation, info, proposal)
        return [action for action in found if action != proposal]


class ModelCandidates:
    """What another decision model, such as a small language model, would do: samples from its distribution.

    Args:
        model: a decision model; needs a closed set of actions.
        history: how many pairs of ``info["history"]`` it is shown.
        temperature: each probability is raised to ``1 / temperature``.
        seed: of the draws.
        instruction: the question, which may have ``{proposal}`` in it.

    Raises:
        ValueError: the temperature is not above 0, or ``history`` is below 0.
    """

    def __init__(
        self,
        model: DecisionModel,
        history: int = 4,
        temperature: float = 1.0,
        seed: int = 0,
        instruction: str = "What is your next action?",
    ):
        if temperature <= 0:
            raise ValueError(f"temperature must be above 0, got {temperature!r}")
        if history < 0:
            raise ValueError(f"history must be at least 0, got {history!r}")
        self.model, self.history, self.temperature = model, history, temperature
        self.seed, self.instruction = seed, instruction

    def __call__(self, observation: str, info: Info, proposal: str, k: int) -> list[str]:
        """At most ``k`` alternatives.

        Raises:
            RuntimeError: the model gave no answer.
        """
        options = tuple(action for action in _possible(info) if action != proposal)
        if not options:
            return []
        question = Question(self.instruction.format(proposal=proposal), "choice", options)
        query = Query(_context(observation, info, self.history), question, _SYSTEM)
        decision = self.model([query])[0]
        if decision.unscored is not None:
            raise RuntimeError(f"the model proposed no alternative to {proposal!r}: {decision.unscored}")
        weights = {a: p ** (1 / self.temperature) for a, p in zip(options, decision.probabilities, strict=True)}
        return _draw(weights, proposal, k, _generator(self.seed, observation, info, proposal))


class CounterfactualCandidates(ModelCandidates):
    """What a model proposes when it is told not to do what the actor proposed: counterfactual prompting.

    The arguments are those of `ModelCandidates`; the model may be the actor's own. The proposal is not among the
    options.
    """

    def __init__(
        self,
        model: DecisionModel,
        history: int = 4,
        temperature: float = 1.0,
        seed: int = 0,
        instruction: str = "Someone proposes '{proposal}'. Propose a different next action.",
    ):
        super().__init__(model, history, temperature, seed, instruction)


class PooledCandidates:
    """Actions from an offline pool, drawn by how often they are in it, without replacement.

    Where the environment lists its admissible actions, only those are drawn.

    Args:
        pool: action -> weight; or actions, each weighing as much as it is often there.
        seed: of the draws.

    Raises:
        ValueError: the pool is empty, or a weight is not above 0.
    """

    def __init__(self, pool: Mapping[str, float] | Iterable[str], seed: int = 0):
        self.pool: Mapping[str, float] = dict(pool) if isinstance(pool, Mapping) else Counter(pool)
        self.seed = seed
        if not self.pool or min(self.pool.values()) <= 0:
            raise ValueError(f"the pool must have actions with weights above 0, got {dict(self.pool)!r}")

    @classmethod
    def from_trajectories(cls, trajectories: Iterable[Trajectory], only_won: bool = True, seed: int = 0):
        """The actions of recorded episodes.

        Raises:
            ValueError: there are none.
        """
        kept = (trajectory for trajectory in trajectories if trajectory.won or not only_won)
        return cls([step.action for trajectory in kept for step in trajectory.steps], seed)

    def __call__(self, observation: str, info: Info, proposal: str, k: int) -> list[str]:
        """At most ``k`` alternatives."""
        admissible = info.get("admissible_actions") or self.pool
        weights = {action: self.pool[action] for action in admissible if action in self.pool}
        return _draw(weights, proposal, k, _generator(self.seed, observation, info, proposal))


class UnionCandidates:
    """The candidates of several sources in turn, so that each contributes even when ``k`` is small.

    Every source is asked for ``k``; what several of them name counts once.

    Args:
        sources: at least one.

    Raises:
        ValueError: there are none.
    """

    def __init__(self, *sources: Candidates):
        if not sources:
            raise ValueError("UnionCandidates needs at least one source")
        self.sources = sources

    def __call__(self, observation: str, info: Info, proposal: str, k: int) -> list[str]:
        """At most ``k`` alternatives."""
        drawn = [list(source(observation, info, proposal, k)) for source in self.sources]
        turns = (actions[i] for i in range(max(map(len, drawn))) for actions in drawn if i < len(actions))
        return [action for action in dict.fromkeys(turns) if action != proposal][:k]


def _possible(info: Info) -> list[str]:
    """The admissible actions, without forms that are yet to be filled in, such as ``search[<your query>]``."""
    return [action for action in dict.fromkeys(info.get("admissible_actions", ())) if not _FORM.search(action)]


def _context(observation: str, info: Info, shown: int) -> str:
    past: Sequence[tuple[str, str]] = info.get("history", ())
    lines = [f"Goal: {info.get('goal', '')}"]
    lines += [f"Action: {action}\nResult: {seen}" for action, seen in (past[-shown:] if shown else ())]
    lines.append(f"Observation: {observation}")
    return "\n".join(lines)


def _generator(seed: int, observation: str, info: Info, proposal: str) -> np.random.Generator:
    """Random numbers that belong to a state and a proposal."""
    seen = repr((seed, info.get("goal", ""), observation, info.get("history", ()), proposal))
    digest = hashlib.sha256(seen.encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def _draw(weights: Mapping[str, float], proposal: str, k: int, rng: np.random.Generator) -> list[str]:
    """At most ``k`` actions other than the proposal, drawn by weight without replacement."""
    actions = [action for action, weight in weights.items() if action != proposal and weight > 0]
    if not actions:
        return []
    logits = np.log([weights[action] for action in actions])
    # The k largest of log-weights with Gumbel noise are k draws without replacement (Gumbel top-k).
    order = np.argsort(-(logits + rng.gumbel(size=len(actions))), kind="stable")
    return [actions[i] for i in order[:k]]
