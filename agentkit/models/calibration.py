"""`Calibrated`: decisions without the preferences that a model has before it sees any content."""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from agentkit.decisions import Decision, DecisionModel, Query, Usage, softmax
from agentkit.models.identity import wrapped_identity

CONTENT_FREE = ("N/A", "[MASK]", "")
"""The content-free contexts of contextual calibration."""


@attrs.frozen
class Calibrated:
    """Divides each probability by the mean probability that the option has after content-free contexts.

    Contextual calibration (Zhao et al. 2021, arXiv 2102.09690): ``q ∝ p(option | context) / mean p(option | neutral)``.
    It removes a preference for options, letters or places that is there without content.

    Cost: one query more for each different question of a call and each content-free context.

    Args:
        model: any decision model.
        contexts: the content-free contexts.

    A decision whose baseline is unscored is unscored.
    """

    model: DecisionModel
    contexts: tuple[str, ...] = attrs.field(
        default=CONTENT_FREE, converter=tuple, validator=attrs.validators.min_len(1)
    )

    @property
    def identity(self) -> str | None:
        """What the answers depend on, where the wrapped model says it."""
        return wrapped_identity(f"calibrated {self.contexts}", self.model)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Calibrated":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order; the first of each question bears the baseline's usage."""
        heads = list(dict.fromkeys((query.system, query.question) for query in queries))
        neutral = [Query(text, question, system) for system, question in heads for text in self.contexts]
        answers = list(self.model([*queries, *neutral])) if queries else []
        size = len(self.contexts)
        baselines = {
            head: answers[len(queries) + i * size : len(queries) + (i + 1) * size] for i, head in enumerate(heads)
        }
        results, paid = [], set()
        for query, decision in zip(queries, answers, strict=False):
            head = (query.system, query.question)
            baseline = baselines[head]
            extra = sum((d.usage for d in baseline), Usage()) if head not in paid else Usage()
            paid.add(head)
            results.append(_calibrated(decision, baseline, decision.usage + extra))
        return results


def _calibrated(decision: Decision, baseline: Sequence[Decision], usage: Usage) -> Decision:
    for one in (decision, *baseline):
        if one.unscored is not None:
            return Decision(decision.question, usage=usage, unscored=one.unscored)
    prior = np.mean([one.probabilities for one in baseline], axis=0)
    # An option that is impossible without content keeps a finite ratio.
    floor = np.finfo(float).tiny
    with np.errstate(divide="ignore"):
        ratios = softmax(np.log(decision.probabilities) - np.log(np.maximum(prior, floor)))
    return Decision(decision.question, ratios.tolist(), decision.label_mass, usage)
