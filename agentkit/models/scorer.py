"""Log-probabilities of continuations under a local causal language model, without encoding anything twice."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import attrs
import numpy as np
import torch
from transformers import DynamicCache

from agentkit.models.forwarding import attention_mask, cache_argument, output_of, takes_boolean_masks
from agentkit.models.token_tree import (
    Item,
    Tokens,
    TokenTree,
    build_tree,
    common_prefix_length,
    group_by_prefix,
)

KeyValues = list[tuple[torch.Tensor, torch.Tensor]]

TOKEN_BUDGETS = {"cpu": 8192}
"""Tokens of one forward pass by type of device: small enough to stay in memory, large enough to keep it busy."""
OTHER_TOKEN_BUDGET = 65536


class SequenceScorer:
    """Scores continuations of token prefixes; items with a common beginning share its computation.

    Args:
        model: a Hugging Face causal LM whose attention is ``sdpa`` or ``eager`` (both take a mask per pair of tokens).
        token_budget: the most tokens (rows times padded width) of one forward pass; bounds the memory. None = 8,192 on
            a CPU and 65,536 elsewhere.
        remembered: how many prefixes' keys and values to keep between calls (a conversation that grows is then
            encoded once). Rows go one at a time then, which suits a CPU; 0 batches rows, which suits a GPU. None
            chooses by the model's device.
    """

    def __init__(self, model: Any, token_budget: int | None = None, remembered: int | None = None):
        takes_boolean_masks(model)
        if token_budget is not None and token_budget < 1:
            raise ValueError(f"token_budget must be at least 1, got {token_budget}")
        if model.get_output_embeddings() is None:
            raise ValueError(f"{type(model).__name__} has no output embeddings; give a causal language model")
        self.model = model
        self.token_budget = token_budget or TOKEN_BUDGETS.get(model.device.type, OTHER_TOKEN_BUDGET)
        self.remembered = (8 if model.device.type == "cpu" else 0) if remembered is None else remembered
        self.tokens_computed = 0
        self._cache_argument = cache_argument(model)
        self._memory: OrderedDict[Tokens, KeyValues] = OrderedDict()

    def forget(self) -> None:
        """Drop remembered prefixes; call it whenever the model's weights change."""
        self._memory.clear()

    @torch.inference_mode()
    def score(self, items: Iterable[Item]) -> list[list[np.ndarray]]:
        """For each item, for each continuation of n tokens: their n log-probabilities, float64 of shape (n,).

        Neighbouring items with a common beginning are computed together, so put those that share one side by side.
        Items may be made lazily: a GPU computes the first ones while later ones are encoded.
        """
        launched = []
        for batch in self._batches(items):
            trees = [placed.tree for placed in batch]
            targets = [_Targets.of(tree) for tree in trees]
            values = self._remembering(trees[0], targets) if self.remembered else self._batched(trees, targets)
            launched.append((batch, targets, values))
        scores: dict[int, list[np.ndarray]] = {}
        for batch, targets, values in launched:
            parts = np.split(values.double().cpu().numpy(), np.cumsum([len(t.nodes) for t in targets])[:-1])
            for placed, target, part in zip(batch, targets, parts, strict=True):
                scores.update(enumerate(target.along(placed.tree, part), start=placed.first))
        return [scores[i] for i in range(len(scores))]

    def _batches(self, items: Iterable[Item]) -> Iterator[list["_Placed"]]:
        """Trees as they come, in batches that fit the budget."""
        window: list[_Placed] = []
        first = tokens = 0
        for group in group_by_prefix(items, self.token_budget):
            window.append(_Placed(first, build_tree(group)))
            first += len(group)
            tokens += len(window[-1].tree)
            if self.remembered or tokens >= self.token_budget:
                yield from self._fitting(window)
                window, tokens = [], 0
        yield from self._fitting(window)

    def _fitting(self, window: Sequence["_Placed"]) -> Iterator[list["_Placed"]]:
        batch: list[_Placed] = []
        for placed in sorted(window, key=lambda p: len(p.tree)):  # alike in length, so that little is padding
            if batch and (len(batch) + 1) * len(placed.tree) > self.token_budget:
                yield batch
                batch = []
            batch.append(placed)
        if batch:
            yield batch

    def _batched(self, trees: Sequence[TokenTree], targets: Sequence["_Targets"]) -> torch.Tensor:
        """Two passes: the chains, plainly causal, then what branches off them, under a mask."""
        self.tokens_computed += sum(map(len, trees))
        # The last token of a chain is scored from, so it goes with the branches.
        chains = [tree.shared - 1 for tree in trees]
        cache = DynamicCache()
        if max(chains):
            tokens = self._padded([tree.tokens[:c] for tree, c in zip(trees, chains, strict=True)])
            self.model(input_ids=tokens, logits_to_keep=1, use_cache=True, **{self._cache_argument: cache})
        branches = [(tree.tokens[c:], tree.depths[c:], tree.ends[c:]) for tree, c in zip(trees, chains, strict=True)]
        tokens, depths, ends = (self._padded(column) for column in zip(*branches, strict=True))
        mask = _branch_mask(self._on_device(np.array(chains))[:, None], ends, max(chains))
        return self._log_probabilities(
            targets,
            chains,
            input_ids=tokens,
            position_ids=depths,
            attention_mask=attention_mask(self.model, mask),
            use_cache=True,
            **{self._cache_argument: cache},
        )

    def _remembering(self, tree: TokenTree, targets: Sequence["_Targets"]) -> torch.Tensor:
        """One pass over what no remembered prefix covers."""
        past, known = self._recall(tuple(tree.tokens[: tree.shared]))
        self.tokens_computed += len(tree) - known
        cache = DynamicCache(ddp_cache_data=past) if past else DynamicCache()
        values = self._log_probabilities(
            targets,
            [known],
            input_ids=self._on_device(np.array([tree.tokens[known:]])),
            position_ids=self._on_device(np.array([tree.depths[known:]])),
            attention_mask=attention_mask(self.model, self._on_device(tree.mask()[None, None, known:])),
            use_cache=True,
            **{self._cache_argument: cache},
        )
        self._remember(tuple(tree.tokens[: tree.shared]), cache)
        return values

    def _log_probabilities(self, targets: Sequence["_Targets"], starts: Sequence[int], **inputs: Any) -> torch.Tensor:
        """One forward pass -> the log-probabilities of all targets, float32 of shape (N,).

        Row b of the pass begins with token ``starts[b]`` of its tree. The hidden states that targets are predicted from
        are picked before the output embeddings, which for a large vocabulary are most of the work.
        """
        sizes = [len(t.parents) for t in targets]
        rows = self._on_device(np.repeat(np.arange(len(targets)), sizes))
        columns = self._on_device(np.concatenate([t.parents - s for t, s in zip(targets, starts, strict=True)]))
        offsets = np.cumsum([0, *sizes[:-1]])
        places = self._on_device(np.concatenate([t.places + o for t, o in zip(targets, offsets, strict=True)]))
        tokens = self._on_device(np.concatenate([t.tokens for t in targets]))

        with output_of(self.model, lambda hidden: hidden[rows, columns][None]):
            logits = self.model(**inputs).logits[0]
        # In parts, since a whole vocabulary in float32 for every hidden state can be gigabytes.
        norms = torch.cat([part.float().logsumexp(dim=-1) for part in logits.split(1024)])
        return logits[places, tokens].float() - norms[places]

    def _padded(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Integers of unequal lengths as one tensor of shape (B, longest), filled up with 0 on the right."""
        array = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        for b, row in enumerate(rows):
            array[b, : len(row)] = row
        return self._on_device(array)

    def _on_device(self, array: np.ndarray) -> torch.Tensor:
        tensor = torch.from_numpy(array)
        if self.model.device.type != "cuda":
            return tensor.to(self.model.device)
        return tensor.pin_memory().to(self.model.device, non_blocking=True)  # does not wait for the passes before it

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


@attrs.frozen
class _Placed:
    """A tree, and the index of the first of its items among all."""

    first: int
    tree: TokenTree


@attrs.frozen(eq=False)
class _Targets:
    """The N nodes of a tree whose log-probabilities are wanted, and the P nodes they are predicted from."""

    nodes: np.ndarray
    tokens: np.ndarray
    parents: np.ndarray
    """Shape (P,), without repetition."""
    places: np.ndarray
    """Shape (N,), where each node's parent stands in ``parents``."""

    @classmethod
    def of(cls, tree: TokenTree) -> "_Targets":
        """Every token of every continuation."""
        nodes = np.unique(np.fromiter(chain.from_iterable(chain.from_iterable(tree.paths)), dtype=np.int64))
        parents, places = np.unique(np.asarray(tree.parents)[nodes], return_inverse=True)
        return cls(nodes, np.asarray(tree.tokens)[nodes], parents, places)

    def along(self, tree: TokenTree, values: np.ndarray) -> list[list[np.ndarray]]:
        """The N values by item and continuation."""
        spread = np.empty(len(tree))
        spread[self.nodes] = values
        return [[spread[path] for path in paths] for paths in tree.paths]


def _branch_mask(chains: torch.Tensor, ends: torch.Tensor, longest: int) -> torch.Tensor:
    """What branch tokens see: their own chain, then their ancestors.

    Args:
        chains: shape (B, 1), the length of each chain.
        ends: shape (B, S), `TokenTree.ends` of the branch tokens.
        longest: the longest chain, known without asking the device.

    Returns:
        Bool of shape (B, 1, S, longest + S).
    """
    size = ends.shape[1]
    index = torch.arange(size, device=ends.device)
    own = (index[None, None, :] <= index[None, :, None]) & (index[None, :, None] < (ends - chains)[:, None, :])
    own |= (index[:, None] == index[None, :])[None]  # padding sees itself, so that no softmax runs over nothing
    before = torch.arange(longest, device=ends.device)[None, :] < chains
    return torch.cat([before[:, None, :].expand(-1, size, -1), own], dim=2)[:, None]
