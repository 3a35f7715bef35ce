"""Records of branches: labels, splits, orders, files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.branches import (
    SPLITS,
    Branch,
    BranchEpisode,
    BranchPair,
    BranchState,
    common_labels,
    load_branch_episodes,
    load_branches,
    preference,
    split_of,
)
from agentkit.journal import Journal
from tests.strategies import texts

pairs_of_texts = st.lists(st.tuples(texts, texts), max_size=3).map(tuple)
numbers = st.floats(-10, 10)


def branch(action, *returns, unscored=0):
    return Branch(action=action, returns=returns, steps=(1,) * len(returns), unscored=unscored)


def episode(seed=0, task="t", margin=0.0, history=(("a", "x"), ("b", "y")), branches=(), step=1, **options):
    state = BranchState(step=step, observation="seen", admissible_actions=("p", "q"), branches=tuple(branches))
    return BranchEpisode(seed=seed, task_id=task, margin=margin, goal="g", history=history, states=(state,), **options)


@given(numbers, numbers, st.floats(0, 5))
def test_the_preference_of_swapped_returns_is_mirrored(first, second, margin):
    mirrored = {"A": "B", "B": "A", "T": "T"}
    assert preference(second, first, margin) == mirrored[preference(first, second, margin)]


def test_equal_sums_that_differ_in_the_last_digit_are_a_tie():
    assert preference(0.1 + 0.2, 0.3) == "T"
    assert preference(0.3, 0.2, margin=0.1) == "T"
    assert preference(0.31, 0.2, margin=0.1) == "A"


def test_tasks_fall_into_splits_by_their_shares_and_stay_there():
    names = [f"task {i}" for i in range(3000)]
    splits = [split_of(name, (0.6, 0.3, 0.1)) for name in names]
    assert splits == [split_of(name, (0.6, 0.3, 0.1)) for name in names]
    shares = [splits.count(split) / len(names) for split in SPLITS]
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=0.03)
    assert splits != [split_of(name, (0.6, 0.3, 0.1), seed=1) for name in names]
    assert {split_of(name, (0.0, 0.0, 1.0)) for name in names} == {"test"}


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.2, -0.1), (0.5, 0.2, 0.2)])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(ValueError, match="sum to 1"):
        split_of("task", shares)


def test_pairs_are_the_proposal_against_each_alternative():
    e = episode(branches=[branch("p", 1.0, 0.0), branch("q", 0.0, 0.0), branch("r", 1.0, 1.0)], split="test")
    assert [(p.a, p.b, p.return_a, p.return_b, p.label) for p in e.pairs()] == [
        ("p", "q", 0.5, 0.0, "A"),
        ("p", "r", 0.5, 1.0, "B"),
    ]
    pair = next(e.pairs())
    assert (pair.history, pair.split, pair.margin) == ((("a", "x"),), "test", 0.5)
    assert [p.label for p in e.pairs(margin=0.5)] == ["T", "T"]


def test_a_branch_without_a_scored_continuation_is_in_no_pair():
    assert not list(episode(branches=[branch("p", unscored=1), branch("q", 1.0)]).pairs())
    e = episode(branches=[branch("p", 0.0, unscored=1), branch("q", unscored=2), branch("r", 1.0)])
    assert [(p.b, p.label) for p in e.pairs()] == [("r", "B")]


pairs = st.builds(
    BranchPair,
    goal=texts,
    history=pairs_of_texts,
    observation=texts,
    admissible_actions=st.lists(texts, max_size=3).map(tuple),
    a=texts,
    b=texts,
    label=st.sampled_from("ABT"),
    return_a=numbers,
    return_b=numbers,
    task_id=texts,
    split=st.sampled_from(SPLITS),
)


@given(pairs)
def test_swapping_twice_changes_nothing_and_stays_in_the_split(pair):
    swapped = pair.swapped()
    assert swapped.swapped() == pair
    assert (swapped.a, swapped.b, swapped.split, swapped.margin) == (pair.b, pair.a, pair.split, pair.margin)
    one, other = pair.comparison(), swapped.comparison()
    assert (one.a, one.b, one.history, one.observation) == (other.b, other.a, other.history, other.observation)


episodes = st.builds(
    BranchEpisode,
    seed=st.integers(0, 2**40),
    settings=texts,
    margin=st.floats(0, 2),
    task_id=texts,
    task_type=texts,
    split=st.sampled_from(SPLITS),
    goal=texts,
    won=st.booleans(),
    history=pairs_of_texts,
    states=st.lists(
        st.builds(
            BranchState,
            step=st.integers(0, 3),
            observation=texts,
            admissible_actions=st.lists(texts, max_size=3).map(tuple),
            branches=st.lists(
                st.builds(branch, texts, numbers, unscored=st.integers(0, 2)), min_size=1, max_size=3
            ).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    duplicates=st.integers(0, 9),
)


@given(episodes)
def test_files_bring_back_what_was_written(tmp_path_factory, episode):
    path = tmp_path_factory.mktemp("branches") / "b.jsonl"
    Journal(path, BranchEpisode).add(episode)
    assert load_branch_episodes(path) == [episode]
    assert load_branches(path) == list(episode.pairs())


def test_a_file_is_read_by_split_and_each_seed_once(tmp_path):
    path = tmp_path / "b.jsonl"
    journal = Journal(path, BranchEpisode)
    two = [branch("p", 1.0), branch("q", 0.9)]
    for seed, split in ((0, "train"), (1, "test"), (0, "train")):
        journal.add(episode(seed, f"t{seed}", branches=two, split=split))
    assert [p.task_id for p in load_branches(path)] == ["t0", "t1"]
    assert [p.task_id for p in load_branches(path, "test")] == ["t1"]
    assert [p.label for p in load_branches(path, "test", margin=0.2)] == ["T"]


def test_bad_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="agentkit branches"):
        load_branches(tmp_path / "none.jsonl")
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps({"seed": 0, "split": "dev"}) + "\n")
    with pytest.raises(ValueError, match=r"b.jsonl, line 1 is no BranchEpisode: .*split"):
        load_branches(path)
    with pytest.raises(ValueError, match="no split 'dev'; choose from train, validation, test"):
        load_branches(path, "dev")


def test_records_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="2 returns but 1 numbers of steps"):
        Branch(action="a", returns=(0.0, 1.0), steps=(1,))
    with pytest.raises(ValueError, match="label"):
        BranchPair(goal="", observation="", a="a", b="b", label="C", return_a=0.0, return_b=0.0)


def test_common_labels_are_of_the_same_pairs():
    first = list(episode(branches=[branch("p", 1.0), branch("q", 0.0), branch("r", 1.0)]).pairs())
    second = list(episode(branches=[branch("p", 0.0), branch("r", 1.0)]).pairs())
    elsewhere = list(episode(task="other", branches=[branch("p", 0.0), branch("q", 1.0)]).pairs())
    assert common_labels(first, second) == (["T"], ["B"])
    assert common_labels(first, elsewhere) == ([], [])
