"""Search against the original's Lucene index, and its parts by hand."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.envs.webshop import load_catalogue
from agentkit.envs.webshop.analysis import STOP_WORDS, analyzer
from agentkit.envs.webshop.bm25 import BM25Index, encode_length


def test_rankings_equal_lucenes(webshop_data: Path, recorded) -> None:
    catalogue = load_catalogue(str(webshop_data), nouns="rules")
    cases = recorded("lucene_rankings.json.xz")
    same, errors = 0, []
    for case in cases:
        hits = catalogue.search_hits(case["query"], 50)
        assert len(hits) == len(case["hits"])
        same += [name for name, _ in hits[:10]] == [name for name, _ in case["hits"][:10]]
        scores = dict(hits)
        errors += [abs(scores[name] - score) / score for name, score in case["hits"][:10]]
    print(f"same top 10 on {same} of {len(cases)} queries; largest relative error of a score {max(errors):.1e}")
    assert same == len(cases) == 320
    assert max(errors) < 1e-3


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The Men's T-Shirts", ["men", "t", "shirt"]),
        ("3.5 inch 1,000 pcs", ["3.5", "inch", "1,000", "pc"]),
        ("caresses ponies ties", ["caress", "poni", "ti"]),
        ("assembly technology possibly", ["assembl", "technolog", "possibl"]),
        ("is us as TV", ["us", "tv"]),
        ("snow_white ___ !!", ["snow_whit"]),
        ("日本語 ★★ ♥", ["日", "本", "語", "★", "★", "♥"]),
        ("A&B C++ <b>x</b>", ["b", "c", "b", "x", "b"]),
        ("", []),
    ],
)
def test_analysis(text: str, terms: list[str]) -> None:
    assert analyzer()(text) == terms


def test_long_runs_of_letters_are_cut() -> None:
    assert [len(term) for term in analyzer()("x" * 600)] == [255, 255, 90]


@given(st.text(max_size=200))
def test_analysis_takes_any_text(text: str) -> None:
    for term in analyzer()(text):
        assert term
        assert term not in STOP_WORDS or len(term) > 1


@given(st.integers(0, 10**6))
def test_lengths_keep_four_bits(length: int) -> None:
    kept = encode_length(length)
    assert kept <= length < max(kept * 9 / 8, 25) + 4
    assert encode_length(kept) == kept


def _slow_scores(documents: dict[str, str], query: str) -> dict[str, float]:
    """BM25 of the module's docstring, term by term in double precision."""
    words = {name: text.split() for name, text in documents.items()}
    filled = [name for name in words if words[name]]
    average = sum(map(len, words.values())) / max(len(filled), 1)
    scores: dict[str, float] = Counter()
    for term in query.split():
        holders = [name for name in filled if term in words[name]]
        idf = math.log(1 + (len(filled) - len(holders) + 0.5) / (len(holders) + 0.5))
        for name in holders:
            norm = 0.9 * (0.6 + 0.4 * encode_length(len(words[name])) / average)
            frequency = words[name].count(term)
            scores[name] += idf * frequency / (frequency + norm)
    return scores


_TEXTS = st.lists(st.sampled_from("red blue shoe hat cup".split()), max_size=60).map(" ".join)  # noqa: SIM905


@settings(deadline=None)
@given(st.lists(_TEXTS, min_size=1, max_size=12), _TEXTS, st.integers(1, 15))
def test_index_equals_the_formula(texts: list[str], query: str, k: int) -> None:
    documents = {f"D{number}": text for number, text in enumerate(texts)}
    expected = _slow_scores(documents, query)
    hits = BM25Index.build(documents.items(), str.split).search(query, k)
    assert len(hits) == min(k, len(expected))
    for name, score in hits:
        assert score == pytest.approx(expected[name], rel=1e-5)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def test_ties_are_in_the_order_of_ids() -> None:
    index = BM25Index.build([("B", "red hat"), ("C", "blue hat"), ("A", "red hat")], str.split)
    assert [name for name, _ in index.search("red", 5)] == ["A", "B"]
    assert [name for name, _ in index.search("hat", 2)] == ["A", "B"]
    assert index.search("green", 5) == [] == index.search("", 5)


def test_a_saved_index_is_the_same_and_memory_mapped(tmp_path: Path) -> None:
    index = BM25Index.build([("B", "red hat"), ("A", "red red")], str.split)
    index.save(tmp_path)
    loaded = BM25Index.load(tmp_path, str.split)
    assert loaded.search("red hat", 5) == index.search("red hat", 5)
    assert isinstance(loaded._documents.base, np.memmap)
    assert len(loaded) == 2
