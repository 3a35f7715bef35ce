"""The trie of token sequences: every path spells its sequence, and the mask shows exactly the ancestors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.models.token_tree import Item, build_tree, common_prefix_length, group_by_prefix

tokens = st.lists(st.integers(0, 3), min_size=1, max_size=8).map(tuple)
items = st.lists(st.builds(Item, tokens, st.lists(tokens, min_size=1, max_size=4).map(tuple)), min_size=1, max_size=5)


@given(tokens, tokens)
def test_common_prefix_length(a, b):
    slow = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert common_prefix_length(a, b) == slow


def spelled(tree, node):
    """The tokens from the root to a node, and the nodes."""
    nodes = []
    while node >= 0:
        nodes.append(node)
        node = tree.parents[node]
    return tuple(tree.tokens[n] for n in reversed(nodes)), set(nodes)


@given(items)
def test_every_path_spells_its_sequence(group):
    tree = build_tree(group)
    mask = tree.mask()
    for item, paths in zip(group, tree.paths, strict=True):
        for continuation, path in zip(item.continuations, paths, strict=True):
            sequence, nodes = spelled(tree, path[-1])
            assert sequence == item.prefix + continuation
            assert tree.depths[path[-1]] == len(sequence) - 1
            assert set(np.flatnonzero(mask[path[-1]])) == nodes


@given(items)
def test_no_token_is_computed_twice(group):
    tree = build_tree(group)
    unique = {
        (item.prefix + c)[: n + 1] for item in group for c in item.continuations for n in range(len(item.prefix + c))
    }
    assert len(tree) == len(unique)


@given(items, st.integers(1, 40))
def test_groups_hold_every_item_once(group, budget):
    groups = list(group_by_prefix(iter(group), budget))
    assert [item for members in groups for item in members] == group
    for members in groups:
        if len(members) > 1:
            assert len(build_tree(members)) <= budget


def test_a_group_comes_before_later_items_are_asked_for():
    made = []

    def stream():
        for token in (1, 1, 2, 2):
            made.append(token)
            yield Item((token, token), ((3,),))

    assert len(next(group_by_prefix(stream(), 100))) == 2
    assert made == [1, 1, 2]


@given(items)
def test_descendants_stand_in_one_run(group):
    tree = build_tree(group)
    for node, end in enumerate(tree.ends):
        descendants = {i for i in range(len(tree)) if node in spelled(tree, i)[1]}
        assert descendants == set(range(node, end))


@pytest.mark.parametrize(("prefix", "continuations"), [((), ((1,),)), ((1,), ((),))])
def test_nothing_to_score_is_an_error(prefix, continuations):
    with pytest.raises(ValueError, match="empty"):
        Item(prefix, continuations)
