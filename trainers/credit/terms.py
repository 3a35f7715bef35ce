"""Credit terms: what a step adds to its tokens' advantage, from the episodes of one rollout group or a whole batch.

A term is any callable ``term(group) -> G arrays of shape (T_i,)``; one with ``term.scope == "batch"`` takes all groups
of the batch and returns one such list for each. NaN adds exactly 0. The formulas are those of `agentkit.credit`.
"""

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs
import numpy as np

from agentkit.credit import (
    ROLE_CONSTANTS,
    Floats,
    Scale,
    anchor_state_advantages,
    centered_step_scores,
    discounted_advantages,
    outcome_advantages,
    role_advantages,
    role_credits,
)
from agentkit.trainers.robustness.guarding import is_dropped
from agentkit.trajectory import Step, Trajectory

Group: TypeAlias = Sequence[Trajectory]
Scope: TypeAlias = Literal["group", "batch"]
RewardKind: TypeAlias = Literal["raw", "shaped"]
GroupTerm: TypeAlias = Callable[[Group], Sequence[Floats]]
BatchTerm: TypeAlias = Callable[[Sequence[Group]], Sequence[Sequence[Floats]]]
CreditTerm: TypeAlias = GroupTerm | BatchTerm
"""``term(group) -> G arrays of shape (T_i,)``; with ``term.scope == "batch"``, ``term(groups)`` -> one list a group."""


@attrs.frozen
class Outcome:
    """GRPO's outcome advantage, the same number on every step (see `agentkit.credit.outcome_advantages`).

    The return of an episode is the sum of its raw rewards: what judges add is credited step by step, not twice.

    Args:
        scale: what the centred returns are divided by: the standard deviation of the ``"group"``, that of the
            ``"batch"``, or ``"none"`` (nothing).
        statistics: ``"trajectory"``: every episode counts once in mean and deviation. ``"sample"``: every *step* counts
            once, as verl-agent does by default, so that long episodes weigh more.
    """

    scale: Scale = attrs.field(default="group", validator=attrs.validators.in_(("group", "none", "batch")))
    statistics: Literal["trajectory", "sample"] = attrs.field(
        default="trajectory", validator=attrs.validators.in_(("trajectory", "sample"))
    )
    name: str = "outcome"
    scope: Scope = attrs.field(default="batch", init=False)

    def __call__(self, groups: Sequence[Group]) -> list[list[Floats]]:
        """For each group, G arrays of shape (T_i,)."""
        members = [(g, trajectory) for g, group in enumerate(groups) for trajectory in group]
        labels = [g for g, _ in members]
        returns = np.array([trajectory.total_reward for _, trajectory in members], dtype=np.float64)
        lengths = np.array([len(trajectory) for _, trajectory in members], dtype=np.intp)
        if self.statistics == "trajectory":
            advantages = np.repeat(outcome_advantages(returns, self.scale, labels), lengths)
        else:
            advantages = outcome_advantages(
                np.repeat(returns, lengths), self.scale, np.repeat(labels, lengths).tolist()
            )
        return _regroup(np.split(advantages, np.cumsum(lengths)[:-1]), groups)


@attrs.frozen
class StepScores:
    """λ (s - s̄): a judge's scores, centred within the rollout group (see `agentkit.credit.centered_step_scores`).

    Args:
        judge: the name under which a `JudgeRewardWrapper` keeps the scores; None = the last judge of each episode.
        weight: λ.
        baseline: whether s̄ is the mean of all scored ``"steps"`` of the group or of its ``"episodes"``' means.
    """

    judge: str | None = None
    weight: float = 0.5
    name: str = "step_scores"
    baseline: Literal["steps", "episodes"] = "steps"

    def __call__(self, group: Group) -> list[Floats]:
        """G arrays of shape (T_i,).

        Raises:
            ValueError: no episode of the group was judged under that name, though one was judged or ended by itself.
        """
        names = [self.judge or _last_judge(trajectory) for trajectory in group]
        known = sorted({judge for t in group for step in t.steps for judge in step.scores})
        # Episodes that ran out of tokens end out of the judge's sight: a whole group of them is unscored, no error.
        ended = any(len(t) and t.terminated for t in group)
        if (known or ended) and not set(names) & set(known):
            wanted = "any judge" if self.judge is None else f"judge {self.judge!r}"
            raise ValueError(f"no scores of {wanted} in the group (found {known}); put a JudgeRewardWrapper around it")
        scores = [t.score_array(n) for t, n in zip(group, names, strict=True)]
        return centered_step_scores(scores, self.weight, self.baseline)


@attrs.frozen
class RoleCredit:
    """λ c_role: TRIAGE's fixed constants (see `agentkit.credit.role_credits`), from roles that a wrapper typed.

    Args:
        weight: λ.
        constants: role name -> c.
        whiten: λ times the constants as they are (``"none"``), or whitened over the typed steps of the ``"group"`` or
            the ``"batch"``. For the sum of outcome and roles, whitened, use `TriageAdvantage`.
    """

    weight: float = 0.3
    constants: Mapping[str, float] = ROLE_CONSTANTS
    name: str = "roles"
    whiten: Literal["none", "group", "batch"] = attrs.field(
        default="none", validator=attrs.validators.in_(("none", "group", "batch"))
    )
    scope: Scope = attrs.field(default="batch", init=False)

    def __call__(self, groups: Sequence[Group]) -> list[list[Floats]]:
        """For each group, G arrays of shape (T_i,); exactly 0 where a step has no role."""
        pools = [[t for group in groups for t in group]] if self.whiten == "batch" else groups
        credits = [
            role_credits(_roles(pool), self.weight, self.constants, whitened=self.whiten != "none") for pool in pools
        ]
        return _regroup([values for pool in credits for values in pool], groups)


@attrs.frozen
class TriageAdvantage:
    """TRIAGE's whole advantage, A_out + λ c_role whitened over the batch (see `agentkit.credit.role_advantages`).

    It is named "outcome", so that it stands in the place of `Outcome`.

    Args:
        weight: λ.
        constants: role name -> c.
        outcome: how A_out is computed.
    """

    weight: float = 0.3
    constants: Mapping[str, float] = ROLE_CONSTANTS
    outcome: Outcome = attrs.field(factory=Outcome)
    name: str = "outcome"
    scope: Scope = attrs.field(default="batch", init=False)

    def __call__(self, groups: Sequence[Group]) -> list[list[Floats]]:
        """For each group, G arrays of shape (T_i,)."""
        played = [t for group in groups for t in group]
        spread = [values for group in self.outcome(groups) for values in group]
        outcomes = [values[0] if values.size else 0.0 for values in spread]
        return _regroup(role_advantages(outcomes, _roles(played), self.weight, self.constants, "sum"), groups)


@attrs.frozen
class DiscountedReturns:
    """w (G_t - b): discounted returns of the environment's own rewards (see `agentkit.credit.discounted_advantages`).

    The baseline b is one number for the group, so that it does not depend on when an episode stopped. Rewards that are
    positive at every step still make long episodes worth more; that lies in the rewards.

    Args:
        weight: w.
        gamma: the discount.
        rewards: ``"shaped"`` takes each step's shaped reward (its reward where nothing shaped it), ``"raw"`` what the
            innermost environment gave.
    """

    weight: float = 1.0
    gamma: float = 0.95
    rewards: RewardKind = attrs.field(default="shaped", validator=attrs.validators.in_(("raw", "shaped")))
    name: str = "discounted_returns"

    def __call__(self, group: Group) -> list[Floats]:
        """G arrays of shape (T_i,)."""
        advantages = discounted_advantages([_rewards(t, self.rewards) for t in group], self.gamma)
        return [self.weight * values for values in advantages]


@attrs.frozen
class AnchorState:
    """w A_step of GiGPO (see `agentkit.credit.anchor_state_advantages`); beside `Outcome` it makes A_out + w A_step.

    Args:
        weight: w (ω in arXiv 2505.10978, which uses 1).
        gamma: the discount of the returns.
        scale: whether an anchor's returns are divided by their standard deviation (``"group"``) or not (``"none"``).
        rewards: which rewards the returns are made of; see `DiscountedReturns`.
        anchor: what makes two steps start from the same state; the observation by default.
    """

    weight: float = 1.0
    gamma: float = 0.95
    scale: Literal["group", "none"] = "group"
    rewards: RewardKind = attrs.field(default="raw", validator=attrs.validators.in_(("raw", "shaped")))
    anchor: Callable[[Step], Hashable] = operator.attrgetter("observation")
    name: str = "anchor_state"

    def __call__(self, group: Group) -> list[Floats]:
        """G arrays of shape (T_i,); 0 for a state that was met once only."""
        anchors = [[self.anchor(step) for step in t.steps] for t in group]
        rewards = [_rewards(t, self.rewards) for t in group]
        return [self.weight * values for values in anchor_state_advantages(anchors, rewards, self.gamma, self.scale)]


def _rewards(trajectory: Trajectory, kind: RewardKind) -> Floats:
    field = "raw_reward" if kind == "raw" else "shaped_reward"
    values = (getattr(step, field) for step in trajectory.steps)
    pairs = zip(values, trajectory.steps, strict=True)
    return np.array([step.reward if value is None else value for value, step in pairs], dtype=np.float64)


def _roles(pool: Group) -> list[list[str | None]]:
    return [[step.role for step in trajectory.steps] for trajectory in pool]


def _last_judge(trajectory: Trajectory) -> str:
    names = list(trajectory.steps[-1].scores) if trajectory.steps else []
    return names[-1] if names else ""


def _regroup(values: Sequence[Floats], groups: Sequence[Sequence[Any]]) -> list[list[Floats]]:
    """One array for each episode of the batch -> one list for each group."""
    remaining = iter(values)
    return [[next(remaining) for _ in group] for group in groups]


def term_name(term: CreditTerm) -> str:
    """The term's own ``name``, else that of its function or class."""
    name = getattr(term, "name", None)
    return name if isinstance(name, str) else getattr(term, "__name__", type(term).__name__)


def evaluate_terms(terms: Sequence[CreditTerm], groups: Sequence[Group]) -> dict[str, list[Floats]]:
    """Every term on every episode of a batch.

    Episodes that were dropped (see `agentkit.trainers.robustness.guarding`) are shown to no term, so they count in no
    mean.

    Args:
        terms: with different names.
        groups: the groups of the whole batch, across processes.

    Returns:
        Name -> one array of shape (T_i,) for each episode, in order; NaN turned into exactly 0, and exactly 0 for
        dropped episodes.

    Raises:
        ValueError: two terms share a name, or one gave not one array of T_i finite values for each episode.
    """
    names = [term_name(term) for term in terms]
    if len(set(names)) != len(names):
        raise ValueError(f"credit terms must have different names, got {names}; set `name`")
    kept = [[t for t in group if not is_dropped(t)] for group in groups]
    played = [group for group in kept if group]
    results = {}
    for name, term in zip(names, terms, strict=True):
        values = iter([array for arrays in _evaluate(term, played) for array in arrays])
        results[name] = [np.zeros(len(t)) if is_dropped(t) else next(values) for group in groups for t in group]
    return results


def evaluate_term(term: CreditTerm, group: Group) -> list[Floats]:
    """One term's values for one group alone, checked as in `evaluate_terms`, with NaN turned into exactly 0."""
    return evaluate_terms([term], [group])[term_name(term)]


def _evaluate(term: CreditTerm, groups: Sequence[Group]) -> list[list[Floats]]:
    call: Any = term
    scope = getattr(term, "scope", "group")
    if scope not in ("group", "batch"):
        raise ValueError(f"credit term {term_name(term)!r} has scope {scope!r}; use 'group' or 'batch'")
    results = call(groups) if scope == "batch" else [call(group) for group in groups]
    if len(results) != len(groups):
        raise ValueError(f"credit term {term_name(term)!r} gave {len(results)} groups for {len(groups)}")
    return [_checked(term_name(term), values, group) for values, group in zip(results, groups, strict=True)]


def _checked(name: str, values: Sequence[Any], group: Group) -> list[Floats]:
    arrays = [np.asarray(array, dtype=np.float64) for array in values]
    shapes = [array.shape for array in arrays]
    if shapes != [(len(t),) for t in group]:
        raise ValueError(f"credit term {name!r} gave shapes {shapes} for episodes of {[len(t) for t in group]} steps")
    if any(np.isinf(array).any() for array in arrays):
        raise ValueError(f"credit term {name!r} gave an infinite value")
    return [np.nan_to_num(array, nan=0.0) for array in arrays]
