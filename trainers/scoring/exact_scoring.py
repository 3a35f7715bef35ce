"""Log-probabilities of chosen actions under the distribution that was sampled, with gradient, from a model."""

from collections.abc import Sequence
from typing import Any

import torch

from agentkit.trainers.rollouts.token_episode import TokenSample
from agentkit.trainers.scoring.action_layout import Layout, LayoutBatch, lay_out
from agentkit.trainers.scoring.action_trie import TrieIndex, exact_terms


def score_samples(
    model: Any, samples: Sequence[TokenSample], *, width: int, temperature: float, padding: int, attention: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Exact log-probability and entropy at every completion token of B samples; see `action_trie`.

    Args:
        model: a causal LM with TRL's fused head (`trl.trainer.utils.add_fused_lm_head`), however it is wrapped.
        samples: B of them.
        width: C, at least the length of the longest completion.
        temperature: τ of the softmax over summed log-probabilities.
        padding: the token that rows are filled up with.
        attention: the model's attention implementation, ``"sdpa"`` or ``"eager"``.

    Returns:
        Two float32 tensors of shape (B, C), 0 at tokens that were not chosen among candidates.
    """
    layouts = [lay_out(sample) for sample in samples]
    parameter = next(model.parameters())
    batch = LayoutBatch.collate(layouts, padding, parameter.device)
    output = model(
        input_ids=batch.tokens,
        position_ids=batch.depths,
        attention_mask=batch.attention_mask(attention == "sdpa", parameter.dtype),
        shift_labels=batch.labels,
        fused_lm_head=True,
    )
    return _chosen_terms(output.log_probs.double(), samples, layouts, width, temperature)


def _chosen_terms(
    log_probs: torch.Tensor, samples: Sequence[TokenSample], layouts: Sequence[Layout], width: int, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, N) log-probabilities of edges -> (B, C) exact terms of the chosen tokens."""
    shape = (len(samples), width)
    nothing = log_probs.sum() * 0.0  # keeps a batch without decisions connected to the model, for the backward pass
    flat = [nothing.expand(shape).reshape(-1)] * 2
    decisions = [(b, d) for b, sample in enumerate(samples) for d in sample.decisions]
    if decisions:
        device = log_probs.device
        chosen = [tuple(samples[b].completion_ids[d.start : d.start + d.size]) for b, d in decisions]
        index = TrieIndex.build([d for _, d in decisions], chosen, device)
        terms = exact_terms(_leaf_scores(log_probs, layouts, index.under.shape[2]) / temperature, index)
        places = [(i, j, b * width + d.start + j) for i, (b, d) in enumerate(decisions) for j in range(d.size)]
        row, column, target = torch.tensor(places, device=device).T
        flat = [empty.index_put((target,), term[row, column]) for empty, term in zip(flat, terms, strict=True)]
    log_probabilities, entropies = (values.view(shape).float() for values in flat)
    return log_probabilities, entropies


def _leaf_scores(log_probs: torch.Tensor, layouts: Sequence[Layout], width: int) -> torch.Tensor:
    """Summed log-probability of each candidate of each decision, shape (D, K)."""
    size = log_probs.shape[1]
    positions, leaves, count = [], [], 0
    for b, layout in enumerate(layouts):
        for edges in layout.edges:
            for k, path in enumerate(edges):
                positions.extend(b * size + position for position in path)
                leaves.extend([count * width + k] * len(path))
            count += 1
    device = log_probs.device
    source = log_probs.reshape(-1)[torch.tensor(positions, device=device)]
    total = torch.zeros(count * width, dtype=log_probs.dtype, device=device)
    return total.index_add(0, torch.tensor(leaves, device=device), source).view(count, width)
