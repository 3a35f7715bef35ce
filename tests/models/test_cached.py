"""`Cached`: what is kept, under which key, by whom, and for how long."""

import multiprocessing
import sqlite3
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models import Cached
from agentkit.models.cached import query_key
from agentkit.testing import ScriptedModel

HOT = Question("Is it hot?")


class Counting:
    """Answers 0.25 to everything, with usage, and counts what it is asked."""

    identity = "counting 1"

    def __init__(self) -> None:
        self.asked: list[Query] = []

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        self.asked += queries
        return [
            Decision(
                q.question,
                (0.25, *[0.75 / (len(q.question.options) - 1)] * (len(q.question.options) - 1)),
                0.5,
                Usage(9, 1, 1),
            )
            for q in queries
        ]


def test_a_question_is_asked_once_and_answered_alike(tmp_path: Path) -> None:
    model = Counting()
    queries = [Query("A", HOT), Query("B", HOT), Query("A", HOT)]
    first = Cached(model, tmp_path)(queries)
    assert [q.context for q in model.asked] == ["A", "B"]
    assert [d.usage.requests for d in first] == [1, 1, 0]
    cache = Cached(model, tmp_path)
    again = cache([*queries, Query("C", HOT)])
    assert [q.context for q in model.asked] == ["A", "B", "C"]
    assert [(d.probabilities, d.label_mass) for d in again] == [((0.25, 0.75), 0.5)] * 4
    assert [d.usage for d in again] == [Usage(), Usage(), Usage(), Usage(9, 1, 1)]
    assert (cache.hits, cache.misses) == (3, 1)
    assert cache([]) == []


def test_every_part_of_a_query_is_part_of_the_key() -> None:
    base = Query("context", Question("text", "choice", ("a", "b")), "system")
    others = [
        Query("context ", base.question, "system"),
        Query("context", base.question, "system "),
        Query("contextsystem", base.question),
        Query("context", Question("text.", "choice", ("a", "b")), "system"),
        Query("context", Question("text", "choice", ("b", "a")), "system"),
        Query("context", Question("text", "choice", ("a", "b", "")), "system"),
        Query("context", Question("text", "score", ("a", "b")), "system"),
    ]
    keys = {query_key("m", query) for query in (base, *others)} | {query_key("n", base)}
    assert len(keys) == len(others) + 2


@given(st.text(), st.text(), st.text())
def test_keys_differ_exactly_when_queries_do(one: str, other: str, system: str) -> None:
    keys = query_key("m", Query(one, HOT, system)), query_key("m", Query(other, HOT, system))
    assert (keys[0] == keys[1]) == (one == other)


def test_lone_surrogates_can_be_cached(tmp_path: Path) -> None:
    assert Cached(Counting(), tmp_path)([Query("\ud800", HOT)])[0].unscored is None


def test_another_identity_is_another_model(tmp_path: Path) -> None:
    model = Counting()
    Cached(model, tmp_path)([Query("A", HOT)])
    Cached(model, tmp_path, identity="counting 2")([Query("A", HOT)])
    assert len(model.asked) == 2


def test_a_model_without_an_identity_needs_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"identity is None and ScriptedModel has none .* identity='...'"):
        Cached(ScriptedModel(), tmp_path)


def test_unscored_decisions_are_asked_again(tmp_path: Path) -> None:
    model = ScriptedModel([None, 0.5, 0.75])
    cache = Cached(model, tmp_path, identity="scripted")
    queries = [Query("A", HOT), Query("B", HOT), Query("A", HOT)]
    assert [d.unscored is None for d in cache(queries)] == [False, True, False]
    with sqlite3.connect(tmp_path / "decisions.sqlite") as database:
        assert database.execute("SELECT COUNT(*) FROM decisions").fetchone() == (1,)
    assert [d.value for d in cache(queries)] == [0.75, 0.5, 0.75]


def test_the_file_stays_below_its_bound_and_loses_what_was_used_longest_ago(tmp_path: Path) -> None:
    model, bound = Counting(), 1 << 17
    cache = Cached(model, tmp_path, max_bytes=bound)
    options = Question("?", "choice", tuple(string.ascii_letters))
    favourite = Query("favourite", options)
    for i in range(400):
        cache([favourite, Query(f"context {i}", options)])
    assert sum(q.context == "favourite" for q in model.asked) == 1
    with sqlite3.connect(tmp_path / "decisions.sqlite") as database:
        (kept,) = database.execute("SELECT COUNT(*) FROM decisions").fetchone()
    assert 20 < kept < 300
    assert (tmp_path / "decisions.sqlite").stat().st_size < 2 * bound


def test_large_batches_are_found_again(tmp_path: Path) -> None:
    model = Counting()
    queries = [Query(str(i), HOT) for i in range(1300)]
    Cached(model, tmp_path)(queries)
    Cached(model, tmp_path)(queries)
    assert len(model.asked) == 1300


def _work(folder: str, start: int) -> int:
    cache = Cached(Counting(), folder)
    for i in range(start, start + 40):
        cache([Query(str(i), HOT)])
    return cache.misses


def test_several_processes_use_one_folder(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        misses = pool.starmap(_work, [(str(tmp_path), start) for start in (0, 20, 40)])
    assert sum(misses) >= 80
    cache = Cached(Counting(), tmp_path)
    cache([Query(str(i), HOT) for i in range(80)])
    assert (cache.hits, cache.misses) == (80, 0)


def test_a_damaged_row_is_asked_again(tmp_path: Path) -> None:
    model = Counting()
    Cached(model, tmp_path)([Query("A", HOT), Query("B", HOT)])
    with sqlite3.connect(tmp_path / "decisions.sqlite") as database:
        database.execute('UPDATE decisions SET value = \'{"probabilities": [2, 0], "label_mass": null}\'')
    database.close()
    assert [d.probabilities for d in Cached(model, tmp_path)([Query("A", HOT)])] == [(0.25, 0.75)]


def test_a_file_that_is_no_cache_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "decisions.sqlite").write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(ValueError, match=r"is no cache of decisions .* delete it or give another folder"):
        Cached(Counting(), tmp_path)


def test_answers_are_returned_when_the_disk_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = Cached(Counting(), tmp_path)
    (tmp_path / "decisions.sqlite").unlink()
    (tmp_path / "decisions.sqlite").mkdir()
    assert cache([Query("A", HOT)])[0].unscored is None
    assert "1 decisions could not be cached" in caplog.text


@pytest.mark.parametrize("bound", [0, 1000])
def test_a_bound_that_holds_nothing_is_refused(tmp_path: Path, bound: Any) -> None:
    with pytest.raises(ValueError, match=f"max_bytes must be at least 65536, got {bound}"):
        Cached(Counting(), tmp_path, max_bytes=bound)
