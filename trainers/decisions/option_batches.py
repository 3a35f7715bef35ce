"""Options of questions as one batch, in which every shared token stands once, and their scores with gradients.

Each example is one row: its prompt and the trie of its options (`agentkit.models.token_tree`), with a mask through
which every token sees its ancestors alone. These are the sequences, the masks and the sums of `ConstrainedReadout`, so
that what is trained is what is read out.
"""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import torch

from agentkit.models.token_tree import Item, build_tree


@attrs.frozen
class EncodedExample:
    """An example as token sequences."""

    item: Item
    """The prompt and one continuation for each of the K options."""
    target: tuple[float, ...]
    """Probability of each option, shape (K,)."""


def collate(examples: Sequence[EncodedExample]) -> dict[str, torch.Tensor]:
    """B examples as tensors, filled up on the right.

    Returns:
        input_ids, position_ids: (B, N).
        attention_mask: (B, 1, N, N) bool, True where a token (row) sees a token (column).
        kept: (P,) positions whose logits are needed.
        parents: (B, K, L) for each option's tokens the place in ``kept`` of the logits that predict them.
        tokens: (B, K, L) the options' tokens; -1 where there is none.
        target: (B, K).
    """
    trees = [build_tree([example.item]) for example in examples]
    paths = [tree.paths[0] for tree in trees]
    rows, longest = len(trees), max(map(len, trees))
    options, size = max(map(len, paths)), max(len(path) for row in paths for path in row)
    ids, depths = (np.zeros((rows, longest), dtype=np.int64) for _ in range(2))
    mask = np.zeros((rows, 1, longest, longest), dtype=bool)
    mask[:, :, range(longest), range(longest)] = True  # padding sees itself, so that no softmax runs over nothing
    parents, tokens = np.zeros((rows, options, size), dtype=np.int64), np.full((rows, options, size), -1)
    target = np.zeros((rows, options), dtype=np.float32)
    for b, (tree, example) in enumerate(zip(trees, examples, strict=True)):
        n = len(tree)
        ids[b, :n], depths[b, :n], mask[b, 0, :n, :n] = tree.tokens, tree.depths, tree.mask()
        target[b, : len(example.target)] = example.target
        for k, path in enumerate(paths[b]):
            tokens[b, k, : len(path)] = np.asarray(tree.tokens)[path]
            parents[b, k, : len(path)] = np.asarray(tree.parents)[path]
    kept, places = np.unique(parents, return_inverse=True)
    columns = {
        "input_ids": ids,
        "position_ids": depths,
        "attention_mask": mask,
        "kept": kept,
        "parents": places.reshape(parents.shape),
        "tokens": tokens,
        "target": target,
    }
    return {name: torch.from_numpy(column) for name, column in columns.items()}


def option_scores(model: Any, batch: dict[str, torch.Tensor], scoring: str, temperature: float) -> torch.Tensor:
    """(B, K) log-scores of the options, as `ConstrainedReadout` computes them; -inf where a row has no such option."""
    mask = batch["attention_mask"]
    if attention_of(model) == "eager":  # which adds its mask to the logits
        dtype = next(model.parameters()).dtype
        mask = torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, torch.finfo(dtype).min)
    logits = model(
        input_ids=batch["input_ids"],
        position_ids=batch["position_ids"],
        attention_mask=mask,
        logits_to_keep=batch["kept"],
        use_cache=False,
    ).logits.float()
    tokens, parents = batch["tokens"], batch["parents"]
    rows = torch.arange(len(tokens), device=tokens.device)[:, None, None]
    real = tokens >= 0
    chosen = logits[rows, parents, tokens.clamp(min=0)] - logits.logsumexp(dim=-1)[rows, parents]
    scores = torch.where(real, chosen, torch.zeros_like(chosen)).sum(dim=-1)
    counts = real.sum(dim=-1)
    if scoring == "mean":
        scores = scores / counts.clamp(min=1)
    return (scores / temperature).masked_fill(counts == 0, -torch.inf)


def decision_loss(scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy - Σ_k t_k log softmax(scores)_k of (B, K) log-scores against (B, K) labels."""
    log_probabilities = scores.log_softmax(dim=-1)
    # 0 · log 0 = 0: an option that a row does not have has target 0 and score -inf.
    terms = torch.where(target > 0, target * log_probabilities, torch.zeros_like(target))
    return -terms.sum(dim=-1).mean()


def attention_of(model: Any) -> str:
    """The name of a model's attention implementation, under any wrapper that accelerate put around it."""
    return getattr(getattr(model, "module", model).config, "_attn_implementation", "eager")
