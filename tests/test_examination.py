"""Examinations: both orders, and Copeland's score."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from agentkit.comparison import Comparison
from agentkit.examination import copeland_wins, examine

STATE = Comparison("win", (), "here", "p", "p")


def by_rank(rank):
    def compare(comparisons):
        return ["A" if rank[c.a] > rank[c.b] else "B" if rank[c.b] > rank[c.a] else "T" for c in comparisons]

    return compare


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), min_size=1), st.integers(0, 3))
def test_with_a_consistent_comparator_the_preferred_are_those_of_higher_rank(ranks, own):
    found = examine(by_rank({**ranks, "p": own}), STATE, "p", list(ranks))
    assert found.preferred == tuple(a for a in ranks if ranks[a] > own)
    assert found.worse == tuple(a for a in ranks if ranks[a] < own)
    assert (found.comparisons, found.unanswered, found.failed) == (2 * len(ranks), 0, False)
    assert -1 <= found.margin <= found.preferred_share <= 1


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), min_size=1))
def test_copeland_counts_those_that_are_ranked_lower(ranks):
    wins = copeland_wins(by_rank(ranks), STATE, list(ranks))
    assert wins == {a: sum(ranks[b] < ranks[a] for b in ranks) for a in ranks}


def test_one_action_alone_is_not_compared():
    def never(comparisons):
        raise AssertionError("asked")

    assert copeland_wins(never, STATE, ["a"]) == {"a": 0}


def test_a_position_bias_gives_no_win():
    def first(comparisons):
        return ["A"] * len(comparisons)

    assert set(copeland_wins(first, STATE, ["a", "b", "c"]).values()) == {0}
    assert examine(first, STATE, "p", ["a", "b"]).preferred == ()


def test_every_ordered_pair_is_asked_once():
    asked = []

    def compare(comparisons):
        asked.extend((c.a, c.b) for c in comparisons)
        return ["T"] * len(comparisons)

    copeland_wins(compare, STATE, ["a", "b", "c"])
    assert sorted(asked) == sorted(itertools.permutations("abc", 2))
