"""Token sequences that share beginnings, laid out so that each shared token is computed once.

Sequences become a trie. Its tokens are put in one row, parents before children, and an attention mask lets each token
see exactly its ancestors, at its own depth as position. One forward pass over the row then gives every sequence the
same hidden states as a pass of its own.
"""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

Tokens = tuple[int, ...]


@attrs.frozen
class Item:
    """One prefix and the continuations to score after it."""

    prefix: Tokens = attrs.field(converter=tuple)
    continuations: tuple[Tokens, ...] = attrs.field(converter=tuple)

    def __attrs_post_init__(self) -> None:
        if not self.prefix:
            raise ValueError("prefix is empty; the first token of a continuation needs something to follow")
        if any(not c for c in self.continuations):
            raise ValueError("a continuation is empty; give at least one token, such as the terminator")


def common_prefix_length(a: Sequence[int], b: Sequence[int]) -> int:
    """How many leading tokens two sequences share. Compares slices, so the work is done in C."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@attrs.define
class TokenTree:
    """N unique tokens of some items; the first ``shared`` of them are a chain that every sequence begins with."""

    tokens: list[int]
    depths: list[int]
    """Position of each token in its sequences."""
    parents: list[int]
    """Index of the token before it; -1 for the first."""
    shared: int
    paths: list[list[list[int]]]
    """For each item, for each continuation: the indices of its tokens."""

    def __len__(self) -> int:
        return len(self.tokens)

    def mask(self) -> np.ndarray:
        """Bool array of shape (N, N): row i is True at i and at its ancestors."""
        size, shared = len(self.tokens), self.shared
        mask = np.zeros((size, size), dtype=bool)
        mask[:, :shared] = np.tri(size, shared, dtype=bool)
        for i in range(shared, size):
            parent = self.parents[i]
            if parent >= shared:
                mask[i, shared:] = mask[parent, shared:]
            mask[i, i] = True
        return mask


def build_tree(items: Sequence[Item]) -> TokenTree:
    """The trie of all sequences of some items (which should share a long beginning)."""
    shared = len(items[0].prefix)
    for item in items[1:]:
        shared = common_prefix_length(items[0].prefix[:shared], item.prefix)
    chain = list(items[0].prefix[:shared])
    tree = TokenTree(chain, list(range(shared)), list(range(-1, shared - 1)), shared, [])
    children: dict[tuple[int, int], int] = {}

    def walk(node: int, depth: int, sequence: Sequence[int]) -> list[int]:
        path = []
        for token in sequence:
            child = children.get((node, token))
            if child is None:
                child = len(tree.tokens)
                tree.tokens.append(token)
                tree.depths.append(depth)
                tree.parents.append(node)
                children[node, token] = child
            path.append(child)
            node, depth = child, depth + 1
        return path

    for item in items:
        rest = walk(shared - 1, shared, item.prefix[shared:])
        start = rest[-1] if rest else shared - 1
        tree.paths.append([walk(start, len(item.prefix), c) for c in item.continuations])
    return tree


def group_by_prefix(items: Sequence[Item], token_budget: int) -> list[list[int]]:
    """Indices of the items, in groups that share at least half of their prefixes and fit the budget.

    ``token_budget`` bounds the tokens of a group's tree (a single item may exceed it).
    """
    order = sorted(range(len(items)), key=lambda i: items[i].prefix)
    groups: list[list[int]] = []
    shared, used = 0, 0
    for i in order:
        item = items[i]
        own = sum(map(len, item.continuations))
        if groups:
            first = items[groups[-1][0]].prefix
            overlap = min(shared, common_prefix_length(first, item.prefix))
            added = len(item.prefix) - overlap + own
            if overlap * 2 >= max(len(item.prefix), len(first)) and used + added <= token_budget:
                groups[-1].append(i)
                shared, used = overlap, used + added
                continue
        groups.append([i])
        shared, used = len(item.prefix), len(item.prefix) + own
    return groups


def pad_trees(trees: Sequence[TokenTree], pad_token: int) -> dict[str, Any]:
    """Arrays for one forward pass over a batch of trees.

    Returns:
        ``tokens`` and ``positions`` of shape (B, N) and a bool ``mask`` of shape (B, 1, N, N), right-padded; a padding
        token sees itself alone, so that no softmax runs over nothing.
    """
    width = max(map(len, trees))
    tokens = np.full((len(trees), width), pad_token, dtype=np.int64)
    positions = np.zeros((len(trees), width), dtype=np.int64)
    mask = np.zeros((len(trees), 1, width, width), dtype=bool)
    mask[:, 0, np.arange(width), np.arange(width)] = True
    for row, tree in enumerate(trees):
        size = len(tree)
        tokens[row, :size], positions[row, :size] = tree.tokens, tree.depths
        mask[row, 0, :size, :size] = tree.mask()
    return {"tokens": tokens, "positions": positions, "mask": mask}
