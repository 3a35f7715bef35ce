"""BM25 over an inverted index, with the scores and the order of the original's Lucene index.

Lucene 9 `BM25Similarity` with k1 = 0.9, b = 0.4 (Anserini's defaults): a term adds

    w - w / (1 + tf / (k1 (1 - b + b L / avgL))),   w = qtf log(1 + (N - df + 0.5) / (df + 0.5)),

in single precision, where L is the document length as Lucene keeps it in one byte (`SmallFloat.intToByte4`), and qtf
how often the term is in the query. bm25s, the well-kept BM25 library for Python, keeps exact lengths and counts a query
term once, so its scores differ; hence this index, which is arrays that can be memory-mapped.
"""

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

K1 = 0.9
B = 0.4

_ARRAYS = ("ids", "terms", "starts", "documents", "saturation", "num_documents")


def encode_length(length: int) -> int:
    """The document length that Lucene's one-byte code stands for: exact up to 39, then 4 significant bits.

    >>> [encode_length(n) for n in (7, 39, 41, 258, 1000)]
    [7, 39, 40, 248, 984]
    """
    if length < 24:
        return length
    rest = length - 24
    shift = max(rest.bit_length() - 4, 0)
    return 24 + (rest >> shift << shift)


def _hash(term: str) -> int:
    """A 64-bit name of the term, the same in every process."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")


def saturations(frequencies: np.ndarray, lengths: np.ndarray, average_length: float) -> np.ndarray:
    """``1 + tf / (k1 (1 - b + b L / avgL))`` for arrays of one shape; float32, computed as Lucene does."""
    k1, b, one, average = np.float32(K1), np.float32(B), np.float32(1), np.float32(average_length)
    inverse = one / (k1 * ((one - b) + b * lengths.astype(np.float32) / average))
    return one + frequencies.astype(np.float32) * inverse


class BM25Index:
    """An inverted index; its documents are numbered in the alphabetical order of their ids, which breaks ties.

    Args:
        arrays: ``ids`` bytes (N,), sorted; ``terms`` uint64 (V,), sorted term hashes; ``starts`` int64 (V + 1,), where
            a term's postings begin; ``documents`` int32 (P,), ascending within a term; ``saturation`` float32 (P,);
            ``num_documents`` int64 (1,), how many documents hold a term.
        analyze: the text analysis that the documents went through.
    """

    def __init__(self, arrays: dict[str, np.ndarray], analyze: Callable[[str], Sequence[str]]):
        # Plain views: slicing a `numpy.memmap` itself costs microseconds.
        self._arrays = {name: np.asarray(values) for name, values in arrays.items()}
        self._analyze = analyze
        self._ids, self._terms, self._starts, self._documents, self._saturation = (
            self._arrays[name] for name in ("ids", "terms", "starts", "documents", "saturation")
        )
        # Lucene counts only documents that hold a term; an id without one has no postings.
        self._num_documents = int(arrays["num_documents"][0])
        self._postings = lru_cache(maxsize=20_000)(self._find_postings)

    def __len__(self) -> int:
        return len(self._ids)

    @classmethod
    def build(cls, documents: Iterable[tuple[str, str]], analyze: Callable[[str], Sequence[str]]) -> "BM25Index":
        """Index (id, text) pairs; ids are unique."""
        numbers: dict[str, int] = {}
        ids, lengths = [], []
        terms, rows, frequencies = array("i"), array("i"), array("i")
        for row, (name, text) in enumerate(documents):
            words = analyze(text)
            ids.append(name)
            lengths.append(len(words))
            for word, count in Counter(words).items():
                terms.append(numbers.setdefault(word, len(numbers)))
                rows.append(row)
                frequencies.append(count)
        return cls(_assemble(ids, lengths, list(numbers), terms, rows, frequencies), analyze)

    def save(self, folder: Path) -> None:
        """Write the arrays as ``.npy`` files into ``folder``, which exists."""
        for name, values in self._arrays.items():
            np.save(folder / f"{name}.npy", values)

    @classmethod
    def load(cls, folder: Path, analyze: Callable[[str], Sequence[str]]) -> "BM25Index":
        """The index that `save` wrote, memory-mapped."""
        return cls({name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}, analyze)

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """The ``k`` best (id, score) pairs, best first, ties in the order of ids; only documents that hold a term."""
        counts = Counter(self._analyze(query))
        if not counts:
            return []
        idfs, documents, saturations = zip(*map(self._postings, counts), strict=True)
        weights = np.array(list(counts.values()), np.float32) * np.array(idfs, np.float32)
        weight = np.repeat(weights, [len(rows) for rows in documents])
        # One pass over all postings; sums are in double precision and rounded once, as in Lucene.
        impact = weight - weight / np.concatenate(saturations)
        rounded = np.bincount(np.concatenate(documents), impact, len(self._ids)).astype(np.float32)
        found = np.flatnonzero(rounded)
        if len(found) > k:
            kept = rounded[found]
            found = found[kept >= np.partition(kept, len(kept) - k)[len(kept) - k]]
        best = found[np.argsort(-rounded[found], kind="stable")[:k]]
        names, values = self._ids[best].tolist(), rounded[best].tolist()
        return [(name.decode(), value) for name, value in zip(names, values, strict=True)]

    def _find_postings(self, term: str) -> tuple[np.float32, np.ndarray, np.ndarray]:
        """Inverse document frequency, documents and saturations of a term; an unknown one has no documents."""
        wanted = np.uint64(_hash(term))
        position = int(np.searchsorted(self._terms, wanted))
        start = end = 0
        if position < len(self._terms) and self._terms[position] == wanted:
            start, end = int(self._starts[position]), int(self._starts[position + 1])
        count = end - start
        idf = np.float32(math.log(1 + (self._num_documents - count + 0.5) / (count + 0.5)))
        return idf, self._documents[start:end], self._saturation[start:end]


def _assemble(
    ids: list[str], lengths: list[int], words: list[str], terms: array, rows: array, frequencies: array
) -> dict[str, np.ndarray]:
    """The index's arrays from P (term number, row, frequency) triples of N documents and V words."""
    names = np.array([name.encode() for name in ids], dtype=np.bytes_)
    order = np.argsort(names, kind="stable")
    rank = np.empty(len(ids), np.int32)
    rank[order] = np.arange(len(ids), dtype=np.int32)
    hashes = np.array([_hash(word) for word in words], np.uint64)
    term_rank = np.empty(len(words), np.int64)
    term_rank[np.argsort(hashes)] = np.arange(len(words))
    term, row = term_rank[np.frombuffer(terms, np.int32)], np.frombuffer(rows, np.int32)
    posting_order = np.lexsort((rank[row], term))
    exact = np.array(lengths, np.int64)
    filled = int((exact > 0).sum())
    average = exact.sum() / max(filled, 1)
    kept = np.array([encode_length(int(length)) for length in lengths], np.int64)
    saturation = saturations(np.frombuffer(frequencies, np.int32), kept[row], average or 1.0)
    return {
        "ids": names[order],
        "terms": np.sort(hashes),
        "starts": np.concatenate([[0], np.cumsum(np.bincount(term, minlength=len(words)))]).astype(np.int64),
        "documents": rank[row][posting_order],
        "saturation": saturation[posting_order],
        "num_documents": np.array([filled], np.int64),
    }
