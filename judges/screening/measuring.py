"""From the answers of a candidate to its measures."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from agentkit.bootstrap import mean_interval
from agentkit.judges.screening.asking import Answers
from agentkit.judges.screening.candidates import Candidate
from agentkit.judges.screening.measures import (
    KINDS,
    MILESTONE,
    NO_OP,
    UNKNOWN,
    auc,
    brier_score,
    calibration_error,
    flip_rate,
    kind_means,
    milestones_on_top,
    step_kinds,
)
from agentkit.judges.screening.result import Measures, OnTop
from agentkit.trajectory import Trajectory


@attrs.frozen(eq=False)
class Scored:
    """One candidate's scores of one trajectory, beside the truth."""

    scores: np.ndarray
    """(T,), NaN = unscored."""
    kinds: np.ndarray
    """(T,), see `step_kinds`."""
    swapped: np.ndarray
    """(T,), the scores with the options in the other order; NaN where that was not asked."""

    @property
    def gap(self) -> float:
        """Mean score of the milestones less that of the no-ops; NaN when the trajectory has only one of them."""
        means = kind_means(self.scores, self.kinds)
        return float(means[MILESTONE] - means[NO_OP])


def pair_with_truth(
    trajectories: Sequence[Trajectory], answers: Sequence[Answers], swapped: Mapping[int, Answers]
) -> list[Scored]:
    """The scores of one candidate, in the order of the trajectories; ``swapped`` is by the trajectory's number."""
    pairs = []
    for number, (trajectory, answer) in enumerate(zip(trajectories, answers, strict=True)):
        other = swapped.get(number)
        empty = np.full(len(trajectory), math.nan)
        pairs.append(Scored(_scores(answer), step_kinds(trajectory), empty if other is None else _scores(other)))
    return pairs


def measure(
    candidate: Candidate,
    pairs: Sequence[Scored],
    answers: Sequence[Answers],
    *,
    edges: Sequence[int] = (10, 20, 30),
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Measures:
    """All measures of one candidate.

    Args:
        candidate: whose scores they are.
        pairs: one for each trajectory.
        answers: the same as they were given, for what they cost.
        edges: the longest length of each group but the last.
        resamples: of the bootstrap.
        level: of its intervals.
        seed: of its draws.
    """
    every = np.concatenate([pair.scores for pair in pairs])
    swapped = np.concatenate([pair.swapped for pair in pairs])
    kinds = np.concatenate([pair.kinds for pair in pairs])
    labels = (kinds == MILESTONE).astype(np.float64)
    known = np.where(kinds == UNKNOWN, np.nan, every)
    means = np.array([kind_means(pair.scores, pair.kinds) for pair in pairs])
    scored = int(np.isfinite(every).sum())
    return Measures(
        candidate=candidate.name,
        model=candidate.model,
        context=candidate.context,
        question=candidate.question,
        reference=candidate.reference,
        means={kind: _mean(means[:, column]) for column, kind in enumerate(KINDS)},
        gap=mean_interval(np.array([pair.gap for pair in pairs]), resamples, level, seed),
        on_top=_on_top(pairs, edges),
        auc_no_op=_mean(np.array([_auc(pair, pair.kinds == NO_OP) for pair in pairs])),
        auc_rest=_mean(np.array([_auc(pair, (pair.kinds != MILESTONE) & (pair.kinds != UNKNOWN)) for pair in pairs])),
        brier=_optional(brier_score(known, labels)),
        calibration_error=_optional(calibration_error(known, labels)),
        flip_rate=_optional(flip_rate(every, swapped)),
        asked_reversed=int((np.isfinite(every) & np.isfinite(swapped)).sum()),
        scored=scored,
        unscored=every.size - scored,
        reasons=dict(Counter(v.unscored for a in answers for v in a.verdicts if v.unscored is not None).most_common()),
        **_costs(candidate, answers, scored),
    )


def _costs(candidate: Candidate, answers: Sequence[Answers], scored: int) -> dict[str, float | None]:
    """Per score: seconds, tokens, dollars. Questions without an answer are paid by those with one."""
    metered = candidate.meter is not None
    tokens = sum(answer.usage.input_tokens + answer.usage.output_tokens for answer in answers)
    price = candidate.meter.prices.get(candidate.model) if candidate.meter is not None else None
    dollars = None if price is None else sum(price.dollars(answer.usage) for answer in answers)
    return {
        "seconds_per_score": sum(answer.seconds for answer in answers) / scored if scored else None,
        "tokens_per_score": tokens / scored if scored and metered else None,
        "dollars_per_score": dollars / scored if scored and dollars is not None else None,
    }


def _on_top(pairs: Sequence[Scored], edges: Sequence[int]) -> list[OnTop]:
    """Over all trajectories, then by length; groups without a scored milestone are left out."""
    bounds = [(1, None), *zip((1, *(edge + 1 for edge in edges)), (*edges, None), strict=True)]
    groups = []
    for number, (low, high) in enumerate(bounds):
        chosen = [pair for pair in pairs if low <= pair.scores.size and (high is None or pair.scores.size <= high)]
        shares = np.array([milestones_on_top(pair.scores, pair.kinds == MILESTONE) for pair in chosen])
        chances = np.array([milestones_on_top(_constant(pair), pair.kinds == MILESTONE) for pair in chosen])
        if np.isfinite(shares).any():
            label = "all" if number == 0 else f"{low}+" if high is None else f"{low}-{high}"
            count = int(np.isfinite(shares).sum())
            share, chance = float(np.nanmean(shares)), float(np.nanmean(chances))
            groups.append(OnTop(steps=label, trajectories=count, share=share, chance=chance))
    return groups


def _constant(pair: Scored) -> np.ndarray:
    return np.where(np.isfinite(pair.scores), 0.5, np.nan)


def _auc(pair: Scored, negative: np.ndarray) -> float:
    return auc(pair.scores[pair.kinds == MILESTONE], pair.scores[negative])


def _scores(answers: Answers) -> np.ndarray:
    return np.array([math.nan if v.score is None else v.score for v in answers.verdicts], dtype=np.float64)


def _mean(values: np.ndarray) -> float | None:
    return float(np.nanmean(values)) if np.isfinite(values).any() else None


def _optional(value: float) -> float | None:
    return value if math.isfinite(value) else None
