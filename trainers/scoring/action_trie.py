"""Exact log-probabilities of the tokens of an action that was chosen among candidates.

A constrained policy samples action a with p(a) = softmax_a(s_a), s_a = Σ log p(token) / τ over the action's tokens,
the terminator included. That is a distribution over the leaves of the trie of all candidates, and it factorises along
the path to a leaf (*own reading*: no source states it for GRPO; it is the chain rule):

    log P(token | node) = logsumexp of s over the leaves under the child − logsumexp of s over the leaves under the node

These sum to log p(a) over the action's tokens, so that importance ratios, clipping and KL act on exactly the
distribution that was sampled. `exact_log_probabilities` does this in numpy while sampling, `exact_terms` in torch, with
gradient, for many decisions at once.
"""

from collections.abc import Sequence

import attrs
import numpy as np
import torch

from agentkit.credit import Floats
from agentkit.trainers.rollouts.token_episode import Decision, Tokens

MASKED = -1e30
"""A finite stand-in for log 0: minus infinity would turn gradients into NaN."""


def exact_log_probabilities(candidates: Sequence[Tokens], scores: Floats, chosen: int) -> Floats:
    """Log-probability of each of the n tokens of ``candidates[chosen]``, shape (n,).

    Args:
        candidates: K token sequences, none the beginning of another (all end with the terminator).
        scores: s, shape (K,).
        chosen: which one.

    >>> two = exact_log_probabilities([(1, 2, 0), (1, 3, 0)], np.log([0.25, 0.75]), 0)
    >>> np.exp(two).round(9)
    array([1.  , 0.25, 1.  ])
    """
    answer = candidates[chosen]
    levels = [np.logaddexp.reduce(scores[_under(candidates, answer, j)]) for j in range(len(answer) + 1)]
    return np.diff(np.array(levels))


def _under(candidates: Sequence[Tokens], answer: Tokens, depth: int) -> np.ndarray:
    """Bool (K,): which candidates begin with the first ``depth`` tokens of the answer."""
    return np.array([candidate[:depth] == answer[:depth] for candidate in candidates])


@attrs.frozen
class TrieIndex:
    """Which leaves stand under which nodes, for D decisions of at most K candidates and at most n chosen tokens."""

    under: torch.Tensor
    """Bool (D, n + 1, K): the candidates that share the first j tokens with the chosen one; padding repeats the last
    row."""
    child: torch.Tensor
    """Int64 (D, n, K): candidates with the same number share one more token below node j."""
    sizes: tuple[int, ...]
    """Number of chosen tokens of each decision."""

    @classmethod
    def build(cls, decisions: Sequence[Decision], chosen: Sequence[Tokens], device: torch.device) -> "TrieIndex":
        """From the decisions and, for each, the tokens that were chosen."""
        width = max(len(d.candidates) for d in decisions)
        longest = max(map(len, chosen))
        under = np.zeros((len(decisions), longest + 1, width), dtype=bool)
        child = np.zeros((len(decisions), longest, width), dtype=np.int64)
        for i, (decision, answer) in enumerate(zip(decisions, chosen, strict=True)):
            for j in range(longest + 1):
                under[i, j, : len(decision.candidates)] = _under(decision.candidates, answer, min(j, len(answer)))
            for j in range(len(answer)):
                numbers: dict[Tokens, int] = {}
                for k, candidate in enumerate(decision.candidates):
                    child[i, j, k] = numbers.setdefault(candidate[: j + 1], len(numbers))
        sizes = tuple(map(len, chosen))
        return cls(torch.from_numpy(under).to(device), torch.from_numpy(child).to(device), sizes)


def exact_terms(scores: torch.Tensor, index: TrieIndex) -> tuple[torch.Tensor, torch.Tensor]:
    """Exact log-probability and entropy at each chosen token.

    Args:
        scores: s, shape (D, K); anything where there is no candidate.
        index: of the same decisions.

    Returns:
        Two tensors of shape (D, n): log P(token | node), and the entropy of the distribution over the node's children,
        whose expectation summed over a path is the entropy of the action distribution. 0 behind an action's end.
    """
    spread = torch.where(index.under, scores[:, None, :], MASKED)  # (D, n + 1, K)
    levels = torch.logsumexp(spread, dim=-1)
    leaf = torch.softmax(spread[:, :-1], dim=-1) * index.under[:, :-1]
    share = torch.zeros_like(leaf).scatter_add(-1, index.child, leaf).gather(-1, index.child)
    # A leaf outside the node has probability 0; the clamp keeps its logarithm, and so the gradient, finite.
    entropy = -(leaf * torch.log(share.clamp_min(torch.finfo(leaf.dtype).tiny))).sum(-1)
    return levels[:, 1:] - levels[:, :-1], entropy
