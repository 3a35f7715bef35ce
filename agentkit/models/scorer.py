"""Log-probabilities of continuations under a local causal language model, without encoding anything twice."""

import inspect
from collections import OrderedDict
from collections.abc import Mapping, Sequence
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
        """For each item, for each continuation of n tokens: their n log-probabilities, float64 of shape (n,).

        Neighbouring items with a common beginning are computed together, so put those that share one side by side.
        """
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

    def _attention_mask(self, boolean: torch.Tensor) -> torch.Tensor:
        if self._boolean_mask:
            return boolean
        lowest = torch.finfo(self.model.dtype).min
        return torch.zeros(boolean.shape, dtype=self.model.dtype, device=boolean.device).masked_fill(~boolean, lowest)

    def _batched(self, trees: Sequence[TokenTree]) -> list[dict[int, float]]:
        """Two passes: the chains, plainly causal, then what branches off them, under a mask."""
        self.tokens_computed += sum(map(len, trees))
        device = self.model.device
        # The last token of a chain is scored from, so it goes with the branches.
        chains = [tree.shared - 1 for tree in trees]
        cache = self._encode_chains(trees, chains)
        branches = [(tree.tokens[c:], tree.depths[c:], tree.ends[c:]) for tree, c in zip(trees, chains, strict=True)]
        tokens, depths, ends = (_padded(column, device) for column in zip(*branches, strict=True))
        wanted = [sorted(node - c for node in _scored_nodes(tree)) for tree, c in zip(trees, chains, strict=True)]
        everyone = sorted(set().union(*wanted))
        logits = self.model(
            input_ids=tokens,
            position_ids=depths,
            attention_mask=self._attention_mask(_branch_mask(torch.tensor(chains, device=device)[:, None], ends)),
            logits_to_keep=torch.tensor(everyone, device=device),
            use_cache=True,
            **{self._cache_argument: cache},
        ).logits
        rows = {node: row for row, node in enumerate(everyone)}
        return [
            _gather(logits[b], {node + c: rows[node] for node in wanted[b]}, tree)
            for b, (tree, c) in enumerate(zip(trees, chains, strict=True))
        ]

    def _encode_chains(self, trees: Sequence[TokenTree], chains: Sequence[int]) -> DynamicCache:
        """Keys and values of the first ``chains[b]`` tokens of each tree, padded on the right."""
        cache = DynamicCache()
        if max(chains):
            tokens = _padded([tree.tokens[:c] for tree, c in zip(trees, chains, strict=True)], self.model.device)
            self.model(input_ids=tokens, logits_to_keep=1, use_cache=True, **{self._cache_argument: cache})
        return cache

    def _remembering(self, tree: TokenTree) -> list[dict[int, float]]:
        past, known = self._recall(tuple(tree.tokens[: tree.shared]))
        self.tokens_computed += len(tree) - known
        device = self.model.device
        wanted = sorted(_scored_nodes(tree))
        cache = DynamicCache(ddp_cache_data=past) if past else DynamicCache()
        logits = self.model(
            input_ids=torch.tensor([tree.tokens[known:]], device=device),
            position_ids=torch.tensor([tree.depths[known:]], device=device),
            attention_mask=self._attention_mask(torch.from_numpy(tree.mask()[None, None, known:]).to(device)),
            logits_to_keep=torch.tensor([w - known for w in wanted], device=device),
            use_cache=True,
            **{self._cache_argument: cache},
        ).logits
        self._remember(tuple(tree.tokens[: tree.shared]), cache)
        return [_gather(logits[0], {node: row for row, node in enumerate(wanted)}, tree)]

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


def _gather(logits: torch.Tensor, rows: Mapping[int, int], tree: TokenTree) -> dict[int, float]:
    """Node -> its log-probability after its parent, for every token of every continuation.

    ``rows`` says in which row of ``logits``, shape (R, V), the distribution after a node stands.
    """
    nodes = sorted({node for paths in tree.paths for path in paths for node in path})
    used = torch.tensor([rows[tree.parents[n]] for n in nodes], device=logits.device)
    tokens = torch.tensor([tree.tokens[n] for n in nodes], device=logits.device)
    needed, place = used.unique(return_inverse=True)
    picked = torch.log_softmax(logits[needed].float(), dim=-1)[place, tokens]
    return dict(zip(nodes, picked.double().cpu().tolist(), strict=True))


def _branch_mask(chains: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """What branch tokens see: their own chain, then their ancestors.

    Args:
        chains: shape (B, 1), the length of each chain.
        ends: shape (B, S), `TokenTree.ends` of the branch tokens.

    Returns:
        Bool of shape (B, 1, S, longest chain + S).
    """
    size = ends.shape[1]
    index = torch.arange(size, device=ends.device)
    own = (index[None, None, :] <= index[None, :, None]) & (index[None, :, None] < (ends - chains)[:, None, :])
    own |= (index[:, None] == index[None, :])[None]  # padding sees itself, so that no softmax runs over nothing
    before = torch.arange(int(chains.max()), device=ends.device)[None, :] < chains
    return torch.cat([before[:, None, :].expand(-1, size, -1), own], dim=2)[:, None]


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> torch.Tensor:
    """Integers of unequal lengths as one tensor of shape (B, longest), filled up with 0 on the right."""
    array = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for b, row in enumerate(rows):
        array[b, : len(row)] = row
    return torch.from_numpy(array).to(device)
