"""Token sequences that share beginnings, laid out so that each shared token is computed once.

Sequences become a trie. Its tokens are put in one row, parents before children, and an attention mask lets each token
see exactly its ancestors, at its own depth as position. One forward pass over the row then gives every sequence the
same hidden states as a pass of its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
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
        if () in self.continuations:
            raise ValueError("a continuation is empty; give at least one token, such as the terminator")


def common_prefix_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """How many leading tokens two sequences share. Compares slices, so the work is done in C."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_prefix(beginning: Tokens, other: Tokens) -> Tokens:
    """What both begin with; cheapest where that is all of ``beginning``."""
    if other[: len(beginning)] == beginning:
        return beginning
    return beginning[: common_prefix_length(beginning, other)]


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
    first = beginning = items[0].prefix
    for item in items:
        beginning = _common_prefix(beginning, item.prefix)
    shared = len(beginning)
    rests = [(i, k, item.prefix[shared:] + c) for i, item in enumerate(items) for k, c in enumerate(item.continuations)]
    tree = TokenTree(list(first[:shared]), list(range(shared)), list(range(-1, shared - 1)), [0] * shared, shared, [])
    places: dict[tuple[int, int], list[int]] = {}
    open_path: list[int] = []  # the nodes from the chain down to the last one that was made
    spelled: Tokens = ()
    # In sorted order each sequence leaves the one before it once and for all, which makes the numbering depth-first.
    for i, k, rest in sorted(rests, key=itemgetter(2)):
        keep = common_prefix_length(spelled, rest)
        _close(tree, open_path[keep:])
        del open_path[keep:]
        added = range(len(tree.tokens), len(tree.tokens) + len(rest) - keep)
        if added:
            tree.parents.append(open_path[-1] if open_path else shared - 1)
            tree.parents.extend(added[:-1])
            tree.depths.extend(range(shared + keep, shared + len(rest)))
            tree.tokens.extend(rest[keep:])
            tree.ends.extend(added)  # filled in when the node is closed
            open_path.extend(added)
        spelled = rest
        places[i, k] = open_path.copy()
    _close(tree, [*range(shared), *open_path])
    for i, item in enumerate(items):
        own = len(item.prefix) - shared
        tree.paths.append([places[i, k][own:] for k in range(len(item.continuations))])
    return tree


def _close(tree: TokenTree, nodes: Sequence[int]) -> None:
    """Nothing further descends from these nodes."""
    end = len(tree.tokens)
    for node in nodes:
        tree.ends[node] = end


def group_by_prefix(items: Iterable[Item], token_budget: int) -> Iterator[list[Item]]:
    """Neighbouring items, in groups that share at least half of their prefixes and fit the budget.

    ``token_budget`` bounds the tokens of a group's tree (a single item may exceed it). Groups come as soon as they are
    complete, so that items may be made while earlier groups are computed.
    """
    group: list[Item] = []
    beginning: Tokens = ()
    used = 0
    for item in items:
        own = sum(map(len, item.continuations))
        if group:
            common = _common_prefix(beginning, item.prefix)
            overlap = len(common)
            added = len(item.prefix) - overlap + own
            longest = max(len(item.prefix), len(group[0].prefix))
            if overlap * 2 >= longest and used + added <= token_budget:
                group.append(item)
                beginning = common
                used += added
                continue
            yield group
        group, beginning, used = [item], item.prefix, len(item.prefix) + own
    if group:
        yield group
