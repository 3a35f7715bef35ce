"""`Cached`: decisions kept on disk, so that no question is paid for twice."""

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentkit.decisions import Decision, DecisionModel, Query, Question, Usage

logger = logging.getLogger(__name__)

FORMAT = 1
_PARAMETERS = 500  # a statement of SQLite takes at least 999
_SCHEMA = "CREATE TABLE IF NOT EXISTS decisions (key TEXT PRIMARY KEY, value TEXT NOT NULL, used REAL NOT NULL)"


class Cached:
    """``decide(queries) -> decisions``, asking the model only what it has not answered before.

    Decisions lie in one SQLite file as JSON, keyed by the model's identity, the question and its context. Several
    processes and threads may use one folder. Unscored decisions are never kept. A decision from the cache has no usage.

    Args:
        model: a decision model.
        folder: where the file ``decisions.sqlite`` lies; made if absent.
        identity: what the answers depend on besides the query (the weights, the settings); None = the model's own
            ``identity``, which the backends behind services have.
        max_bytes: the size of the file beyond which the decisions that were used longest ago are dropped.

    Raises:
        ValueError: the model has no identity and none is given, or the file is no cache.
    """

    def __init__(
        self,
        model: DecisionModel,
        folder: str | os.PathLike[str],
        *,
        identity: str | None = None,
        max_bytes: int = 1 << 30,
    ):
        own = identity if identity is not None else getattr(model, "identity", None)
        if not own:
            raise ValueError(
                f"identity is None and {type(model).__name__} has none of its own; "
                "name its weights and settings: Cached(model, folder, identity='...')"
            )
        if max_bytes < 1 << 16:
            raise ValueError(f"max_bytes must be at least {1 << 16}, got {max_bytes!r}")
        self.model = model
        self.identity = str(own)
        self.max_bytes = max_bytes
        self.hits = 0
        self.misses = 0
        self._path = Path(folder) / "decisions.sqlite"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._open() as database:
                # Another process that switches the mode at this moment makes this fail, and leaves nothing to do.
                with contextlib.suppress(sqlite3.OperationalError):
                    database.execute("PRAGMA journal_mode = WAL")
                database.execute(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{self._path} is no cache of decisions ({error}); delete it or give another folder"
            ) from error

    def __deepcopy__(self, memo: dict[int, Any]) -> "Cached":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order; equal queries of one call are asked once."""
        keys = [query_key(self.identity, query) for query in queries]
        known = self._load(list(dict.fromkeys(keys)))
        results = [_decision(query.question, known.get(key)) for key, query in zip(keys, queries, strict=True)]
        first = {key: i for i, key in reversed(list(enumerate(keys))) if results[i] is None}
        asked = sorted(first.values())
        self.hits += len(queries) - len(asked)
        self.misses += len(asked)
        answers = dict(zip(asked, self.model([queries[i] for i in asked]) if asked else (), strict=True))
        self._store({keys[i]: answer for i, answer in answers.items() if answer.unscored is None})
        return [
            result if result is not None else answers[i] if i in answers else _repeated(answers[first[keys[i]]])
            for i, result in enumerate(results)
        ]

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # A connection must not cross threads or forks; opening one takes a fraction of a millisecond.
        database = sqlite3.connect(self._path, timeout=30.0)
        try:
            with database:
                yield database
        finally:
            database.close()

    def _load(self, keys: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        try:
            with self._open() as database:
                for start in range(0, len(keys), _PARAMETERS):
                    some = keys[start : start + _PARAMETERS]
                    marks = ",".join("?" * len(some))
                    found |= dict(database.execute(f"SELECT key, value FROM decisions WHERE key IN ({marks})", some))
                rows = [(time.time(), key) for key in found]
                database.executemany("UPDATE decisions SET used = ? WHERE key = ?", rows)
        except sqlite3.Error as error:
            logger.warning("the cache %s could not be read: %s", self._path, error)
        return found

    def _store(self, decisions: Mapping[str, Decision]) -> None:
        rows = [(key, _text(decision), time.time()) for key, decision in decisions.items()]
        if not rows:
            return
        try:
            with self._open() as database:
                database.executemany("INSERT OR REPLACE INTO decisions VALUES (?, ?, ?)", rows)
                self._shrink(database)
        except sqlite3.Error as error:  # answers that were paid for are not lost with the disk
            logger.warning("%d decisions could not be cached in %s: %s", len(rows), self._path, error)

    def _shrink(self, database: sqlite3.Connection) -> None:
        while _used_bytes(database) > self.max_bytes:
            (count,) = database.execute("SELECT COUNT(*) FROM decisions").fetchone()
            if not count:
                return
            oldest = "SELECT key FROM decisions ORDER BY used LIMIT ?"
            database.execute(f"DELETE FROM decisions WHERE key IN ({oldest})", (max(1, count // 5),))


def query_key(identity: str, query: Query) -> str:
    """A digest of everything that an answer depends on."""
    question = query.question
    parts = [FORMAT, identity, query.system, query.context, question.kind, question.text, list(question.options)]
    if query.focus:  # decides what an over-long context loses
        parts.append(list(query.focus))
    # ASCII escapes keep lone surrogates, which text from the web may hold, encodable.
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


def _text(decision: Decision) -> str:
    kept = {"probabilities": decision.probabilities, "label_mass": decision.label_mass}
    return json.dumps(kept | ({"dropped_tokens": decision.dropped_tokens} if decision.dropped_tokens else {}))


def _decision(question: Question, text: str | None) -> Decision | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
        dropped = value.get("dropped_tokens", 0)
        return Decision(question, value["probabilities"], value["label_mass"], dropped_tokens=dropped)
    except (ValueError, KeyError, TypeError):  # a damaged row is a question not asked yet
        return None


def _repeated(decision: Decision) -> Decision:
    return attrs.evolve(decision, usage=Usage())


def _used_bytes(database: sqlite3.Connection) -> int:
    page, count, free = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    return page * (count - free)
