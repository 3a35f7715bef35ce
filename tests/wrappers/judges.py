"""Judges, comparators and candidates that tests share; module-level, so that they pickle."""

import attrs

from agentkit import Verdict


def milestones(trajectory):
    """1 for a step with a milestone, unscored for a no-op, else 0."""
    return [None if s.state_changed is False else float(bool(s.milestones)) for s in trajectory.steps]


def half(trajectory):
    return [0.5] * len(trajectory)


def by_milestone(trajectory):
    """A role judge that abstains on no-ops."""
    return [role_of(step) for step in trajectory.steps]


def role_of(step):
    if step.state_changed is False:
        return None
    return "decisive" if step.milestones else "regression"


def failing(trajectory):
    raise TimeoutError("no answer in 30 s")


@attrs.frozen
class PrefixJudge:
    """Scores a step by how much has been done, which needs no later steps."""

    context: str = "prefix"
    name: str = "prefix"

    def __call__(self, trajectory):
        return [Verdict(min(1.0, 0.1 * (t + 1))) for t in range(len(trajectory))]


@attrs.frozen
class LastOnly(PrefixJudge):
    """Scores the last step alone; asking it for all of them is a mistake."""

    name: str = "last only"

    def __call__(self, trajectory):
        raise AssertionError("asked for every step")

    def score_last(self, trajectory):
        return min(1.0, 0.1 * len(trajectory))


def prefers_progress(comparisons):
    """To take and to unlock beats everything else; ties otherwise."""
    return [prefer(c.a, c.b) for c in comparisons]


def prefer(a, b):
    good_a, good_b = (action.split()[0] in ("take", "unlock") for action in (a, b))
    return "T" if good_a == good_b else "A" if good_a else "B"


def always_first(comparisons):
    """One position bias that asking in both orders must see through."""
    return ["A"] * len(comparisons)


def always_second(comparisons):
    """The other one."""
    return ["B"] * len(comparisons)


def reversed_admissible(observation, info, proposal, k):
    return info["admissible_actions"][::-1][:k]


def early(features):
    """A router that sees value in the first two steps."""
    return 1.0 - features["step"] / 2


def failing_router(features):
    """A router that knows nothing."""
    raise KeyError("step")
