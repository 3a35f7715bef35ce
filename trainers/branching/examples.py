"""Branches as `DecisionExample`\\ s, asked in the very words that comparators and critics use at test time."""

import logging
import os
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from agentkit.branches import BranchPair, load_branches
from agentkit.comparison import PREFERENCES
from agentkit.judges import AbsoluteCritic, PairwiseComparator
from agentkit.trainers.decisions.examples import DecisionExample

logger = logging.getLogger(__name__)

Pairs: TypeAlias = Sequence[BranchPair] | str | os.PathLike[str]
"""Pairs, or the file of branches that holds them."""


def comparator_examples(
    pairs: Pairs, comparator: PairwiseComparator, split: str | None = None
) -> list[DecisionExample]:
    """A comparator's questions about both orders of every pair, each labelled with what the branches showed.

    Args:
        pairs: from `collect_branches` or `load_branches`, or a file.
        comparator: what is to be trained; without ``ties`` it learns from A and B alone, and ties are left out.
        split: only the pairs of this split; None = all.

    Both orders of a pair follow each other, and belong to one group, its task.
    """
    examples, ties = [], 0
    for pair in _chosen(pairs, split):
        if pair.label == PREFERENCES[2] and not comparator.ties:
            ties += 1
            continue
        for order in (pair, pair.swapped()):
            examples.append(DecisionExample(comparator.query(order.comparison()), order.label, _group(pair)))
    _report(ties, "pairs are ties, which this comparator is not asked for")
    return examples


def critic_examples(pairs: Pairs, critic: AbsoluteCritic, split: str | None = None) -> list[DecisionExample]:
    """A critic's question about every action once, with its mean return q as P(yes): the soft label (q, 1 - q).

    Args:
        pairs: from `collect_branches` or `load_branches`, or a file; their returns must be in [0, 1].
        critic: what is to be trained.
        split: only the pairs of this split; None = all.

    Raises:
        ValueError: a return is outside [0, 1].
    """
    examples: dict[DecisionExample, None] = {}
    for pair in _chosen(pairs, split):
        for action, value in ((pair.a, pair.return_a), (pair.b, pair.return_b)):
            if not 0 <= value <= 1:
                raise ValueError(f"a critic learns returns in [0, 1], got {value!r} for {action!r} in {pair.task_id!r}")
            examples[DecisionExample(critic.query(pair.comparison(), action), (value, 1 - value), _group(pair))] = None
    return list(examples)


def _chosen(pairs: Pairs, split: str | None) -> Iterator[BranchPair]:
    loaded = load_branches(pairs) if isinstance(pairs, (str, os.PathLike)) else pairs
    return (pair for pair in loaded if split in (None, pair.split))


def _group(pair: BranchPair) -> str:
    return pair.task_id or pair.goal


def _report(count: int, why: str) -> None:
    if count:
        logger.warning("%d %s; they make no examples", count, why)
