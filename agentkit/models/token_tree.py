"""Token sequences that share beginnings, laid out so that each shared token is computed once.

Sequences become a trie. Its tokens are put in one row, parents before children, and an attention mask lets each token
see exactly its ancestors, at its own depth as position. One forward pass over the row then gives every sequence the
same hidden states as a pass of its own.
"""

from collections.abc import Sequence

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
    """N unique tokens of some items, in depth-first order, so that what follows a token stands in one run after it.

    The first ``shared`` tokens are a chain that every sequence begins with.
    """

    tokens: list[int]
    depths: list[int]
    """Position of each token in its sequences."""
    parents: list[int]
    """Index of the token before it; -1 for the first."""
    ends: list[int]
    """One past the last descendant of each token: j is an ancestor of i, or i itself, when j <= i < ends[j]."""
    shared: int
    paths: list[list[list[int]]]
    """For each item, for each continuation: the indices of its tokens."""

    def __len__(self) -> int:
        return len(self.tokens)

    def mask(self) -> np.ndarray:
        """Bool array of shape (N, N): row i is True at i and at its ancestors."""
        index = np.arange(len(self.tokens))
        return (index[None, :] <= index[:, None]) & (index[:, None] < np.asarray(self.ends)[None, :])


def build_tree(items: Sequence[Item]) -> TokenTree:
    """The trie of all sequences of some items (which should share a long beginning)."""
    first = items[0].prefix
    shared = min(common_prefix_length(first, item.prefix) for item in items)
    rests = {(i, k): item.prefix[shared:] + c for i, item in enumerate(items) for k, c in enumerate(item.continuations)}
    tree = TokenTree(list(first[:shared]), list(range(shared)), list(range(-1, shared - 1)), [], shared, [])
    places: dict[tuple[int, int], list[int]] = {}
    open_path: list[int] = []  # the nodes from the chain down to the last one that was made
    spelled: Tokens = ()
    # In sorted order each sequence leaves the one before it once and for all, which makes the numbering depth-first.
    for key, rest in sorted(rests.items(), key=lambda pair: pair[1]):
        keep = common_prefix_length(spelled, rest)
        del open_path[keep:]
        for token in rest[keep:]:
            tree.parents.append(open_path[-1] if open_path else shared - 1)
            tree.depths.append(shared + len(open_path))
            open_path.append(len(tree.tokens))
            tree.tokens.append(token)
        spelled = rest
        places[key] = list(open_path)
    tree.ends = _ends(tree.parents)
    for i, item in enumerate(items):
        own = len(item.prefix) - shared
        tree.paths.append([places[i, k][own:] for k in range(len(item.continuations))])
    return tree


def _ends(parents: Sequence[int]) -> list[int]:
    """One past the last descendant of each node of a depth-first numbering."""
    ends = list(range(1, len(parents) + 1))
    for node in range(len(parents) - 1, 0, -1):
        parent = parents[node]
        if parent >= 0 and ends[node] > ends[parent]:
            ends[parent] = ends[node]
    return ends


def group_by_prefix(items: Sequence[Item], token_budget: int) -> list[list[int]]:
    """Indices of neighbouring items, in groups that share at least half of their prefixes and fit the budget.

    ``token_budget`` bounds the tokens of a group's tree (a single item may exceed it).
    """
    groups: list[list[int]] = []
    shared, used = 0, 0
    for i, item in enumerate(items):
        own = sum(map(len, item.continuations))
        if groups:
            first = items[groups[-1][0]].prefix
            overlap = common_prefix_length(first[:shared], item.prefix)
            added = len(item.prefix) - overlap + own
            if overlap * 2 >= max(len(item.prefix), len(first)) and used + added <= token_budget:
                groups[-1].append(i)
                shared, used = overlap, used + added
                continue
        groups.append([i])
        shared, used = len(item.prefix), len(item.prefix) + own
    return groups
