"""Log-probabilities of continuations under a local causal language model, without encoding anything twice."""

import inspect
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from agentkit.models.token_tree import (
    Item,
    Tokens,
    TokenTree,
    build_tree,
    common_prefix_length,
    group_by_prefix,
    pad_trees,
)

KeyValues = list[tuple[torch.Tensor, torch.Tensor]]


class SequenceScorer:
    """Scores continuations of token prefixes; items with a common beginning share its computation.

    Args:
        model: a Hugging Face causal LM whose attention is ``sdpa`` or ``eager`` (both take a mask per pair of tokens).
        token_budget: the most tokens (rows times padded width) of one forward pass; bounds the memory.
        remembered: how many prefixes' keys and values to keep between calls (a conversation that grows is then
            encoded once). Rows go one at a time then, which suits a CPU; 0 batches rows, which suits a GPU. None
            chooses by the model's device.
    """

    def __init__(self, model: Any, token_budget: int = 8192, remembered: int | None = None):
        attention = getattr(model.config, "_attn_implementation", "eager")
        if attention not in ("sdpa", "eager"):
            raise ValueError(f"attention {attention!r} takes no custom mask; load with attn_implementation='sdpa'")
        if token_budget < 1:
            raise ValueError(f"token_budget must be at least 1, got {token_budget}")
        self.model = model
        self.token_budget = token_budget
        self.remembered = (8 if model.device.type == "cpu" else 0) if remembered is None else remembered
        self.tokens_computed = 0
        # transformers renames the argument during 5.x and warns about the former name
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        takes_cache = "cache" in inspect.signature(type(base).forward).parameters
        self._cache_argument = "cache" if takes_cache else "past_key_values"
        self._boolean_mask = attention == "sdpa"
        self._memory: OrderedDict[Tokens, KeyValues] = OrderedDict()

    def forget(self) -> None:
        """Drop remembered prefixes; call it whenever the model's weights change."""
        self._memory.clear()

    @torch.inference_mode()
    def score(self, items: Sequence[Item]) -> list[list[np.ndarray]]:
        """For each item, for each continuation of n tokens: their n log-probabilities, float64 of shape (n,)."""
        results: list[list[np.ndarray]] = [[] for _ in items]
        groups = group_by_prefix(items, self.token_budget)
        trees = [build_tree([items[i] for i in group]) for group in groups]
        for batch in self._batches(trees):
            chosen = [trees[b] for b in batch]
            scores = self._remembering(chosen[0]) if self.remembered else self._batched(chosen)
            for row, b in enumerate(batch):
                for i, paths in zip(groups[b], trees[b].paths, strict=True):
                    results[i] = [np.array([scores[row][node] for node in path]) for path in paths]
        return results

    def _batches(self, trees: Sequence[TokenTree]) -> list[list[int]]:
        order = sorted(range(len(trees)), key=lambda i: len(trees[i]))
        if self.remembered:
            return [[i] for i in order]
        batches: list[list[int]] = []
        for i in order:
            if batches and (len(batches[-1]) + 1) * len(trees[i]) <= self.token_budget:
                batches[-1].append(i)
            else:
                batches.append([i])
        return batches

    def _attention_mask(self, mask: np.ndarray) -> torch.Tensor:
        boolean = torch.from_numpy(mask).to(self.model.device)
        if self._boolean_mask:
            return boolean
        lowest = torch.finfo(self.model.dtype).min
        return torch.zeros(boolean.shape, dtype=self.model.dtype, device=boolean.device).masked_fill(~boolean, lowest)

    def _batched(self, trees: Sequence[TokenTree]) -> list[dict[int, float]]:
        arrays = pad_trees(trees, pad_token=0)
        self.tokens_computed += sum(map(len, trees))
        wanted = sorted({start for tree in trees for start in _scored_nodes(tree)})
        logits = self.model(
            input_ids=torch.from_numpy(arrays["tokens"]).to(self.model.device),
            position_ids=torch.from_numpy(arrays["positions"]).to(self.model.device),
            attention_mask=self._attention_mask(arrays["mask"]),
            logits_to_keep=torch.tensor(wanted, device=self.model.device),
            use_cache=False,
        ).logits
        log_probabilities = torch.log_softmax(logits.float(), dim=-1)
        return [_gather(log_probabilities[row], wanted, tree) for row, tree in enumerate(trees)]

    def _remembering(self, tree: TokenTree) -> list[dict[int, float]]:
        past, known = self._recall(tuple(tree.tokens[: tree.shared]))
        self.tokens_computed += len(tree) - known
        wanted = sorted(_scored_nodes(tree))
        cache = DynamicCache(ddp_cache_data=past) if past else DynamicCache()
        logits = self.model(
            input_ids=torch.tensor([tree.tokens[known:]], device=self.model.device),
            position_ids=torch.tensor([tree.depths[known:]], device=self.model.device),
            attention_mask=self._attention_mask(tree.mask()[None, None, known:]),
            logits_to_keep=torch.tensor([w - known for w in wanted], device=self.model.device),
            **{self._cache_argument: cache},
            use_cache=True,
        ).logits
        self._remember(tuple(tree.tokens[: tree.shared]), cache)
        return [_gather(torch.log_softmax(logits[0].float(), dim=-1), wanted, tree)]

    def _recall(self, prefix: Tokens) -> tuple[KeyValues, int]:
        """The longest remembered beginning of ``prefix``, at most all but its last token (whose logits are needed)."""
        best, known = None, 0
        for tokens in self._memory:
            overlap = min(common_prefix_length(tokens, prefix), len(prefix) - 1)
            if overlap > known:
                best, known = tokens, overlap
        if best is None:
            return [], 0
        self._memory.move_to_end(best)
        return [(k[:, :, :known], v[:, :, :known]) for k, v in self._memory[best]], known

    def _remember(self, prefix: Tokens, cache: DynamicCache) -> None:
        size = len(prefix)
        for tokens in [t for t in self._memory if t == prefix[: len(t)]]:
            del self._memory[tokens]  # the longer prefix serves whatever the shorter one did
        layers: list[Any] = cache.layers
        self._memory[prefix] = [(layer.keys[:, :, :size], layer.values[:, :, :size]) for layer in layers]
        while len(self._memory) > self.remembered:
            self._memory.popitem(last=False)


def _scored_nodes(tree: TokenTree) -> set[int]:
    """Tokens whose next-token distribution is needed: the parent of every token of every continuation."""
    return {tree.parents[node] for paths in tree.paths for path in paths for node in path}


def _gather(log_probabilities: torch.Tensor, wanted: Sequence[int], tree: TokenTree) -> dict[int, float]:
    """Node -> its log-probability after its parent, for every token of every continuation."""
    nodes = sorted({node for paths in tree.paths for path in paths for node in path})
    rows = {node: row for row, node in enumerate(wanted)}
    picked = log_probabilities[
        torch.tensor([rows[tree.parents[n]] for n in nodes], device=log_probabilities.device),
        torch.tensor([tree.tokens[n] for n in nodes], device=log_probabilities.device),
    ]
    return dict(zip(nodes, picked.double().cpu().tolist(), strict=True))
