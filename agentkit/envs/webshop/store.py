"""The shop on disk: products, search index and goal order, built once in a cache folder, then memory-mapped."""

import json
import logging
import shutil
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from agentkit.caching import cache_folder
from agentkit.envs.webshop.analysis import analyzer
from agentkit.envs.webshop.bm25 import BM25Index
from agentkit.envs.webshop.goals import count_goals, shuffled_order
from agentkit.envs.webshop.products import HumanGoal, Product, Review, WebShopDataError
from agentkit.envs.webshop.sources import Source

logger = logging.getLogger(__name__)

FORMAT = 1
"""Changes when files in the cache folder change their meaning, so that older ones are not read."""


def _encode(product: Product) -> bytes:
    return json.dumps(attrs.asdict(product), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _decode(line: bytes) -> Product:
    data: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
    for name in ("bullets", "prices", "attributes", "instruction_attributes"):
        data[name] = tuple(data[name])
    data["options"] = {name: tuple(values) for name, values in data["options"].items()}
    data["reviews"] = tuple(Review(**review) for review in data["reviews"])
    data["human_goals"] = tuple(
        HumanGoal(instruction=goal["instruction"], attributes=tuple(goal["attributes"]), options=tuple(goal["options"]))
        for goal in data["human_goals"]
    )
    return Product(**data)


class ProductStore:
    """Products by row (their order in the data) or by id; the ones used last stay decoded.

    Args:
        folder: what `build_store` wrote.
        keep: how many products stay decoded.
    """

    def __init__(self, folder: Path, keep: int = 20_000):
        self._data = np.asarray(np.memmap(folder / "products.jsonl", np.uint8, "r"))
        names = ("offsets", "index/ids", "row_of_rank")
        self._offsets, self._ids, self._row_of_rank = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in names
        )
        self.row = lru_cache(maxsize=keep)(self._read)
        self.get = lru_cache(maxsize=keep)(self._find)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __iter__(self) -> Iterator[Product]:
        return (self._read(row) for row in range(len(self)))

    def _read(self, row: int) -> Product:
        return _decode(self._data[self._offsets[row] : self._offsets[row + 1]].tobytes())

    def _find(self, product_id: str) -> Product | None:
        """The product of this id, or None."""
        name = product_id.encode("utf-8", "surrogatepass")
        if len(name) > self._ids.dtype.itemsize or name.endswith(b"\0"):
            return None
        rank = int(np.searchsorted(self._ids, np.bytes_(name)))
        if rank == len(self._ids) or self._ids[rank] != name:
            return None
        return self.row(int(self._row_of_rank[rank]))


def build_store(source: Source, folder: Path) -> None:
    """Write products, index, and goal counts and orders of ``source`` into ``folder``, which exists and is empty."""
    offsets, synthetic, human, ids = [0], [], [], []

    def documents() -> Iterator[tuple[str, str]]:
        with open(folder / "products.jsonl", "wb") as file:
            for product in source.products():
                offsets.append(offsets[-1] + file.write(_encode(product)))
                synthetic.append(count_goals(product, human=False))
                human.append(count_goals(product, human=True))
                ids.append(product.id)
                yield product.id, product.searchable_text

    index = BM25Index.build(documents(), analyzer())
    if not ids:
        raise WebShopDataError(f"{source.key}: there is no product to sell; the products file is an empty list")
    (folder / "index").mkdir()
    index.save(folder / "index")
    np.save(folder / "offsets.npy", np.array(offsets, np.int64))
    np.save(folder / "row_of_rank.npy", np.argsort(np.array([name.encode() for name in ids], np.bytes_), kind="stable"))
    for name, counts in (("synthetic", synthetic), ("human", human)):
        np.save(folder / f"{name}_starts.npy", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
        np.save(folder / f"{name}_order.npy", np.array(shuffled_order(sum(counts)), np.int64))


def open_store(source: Source, cache: Path | None = None) -> Path:
    """The folder of the built shop; it is built now when the cache lacks it.

    A build is visible only when it is complete. When the cache cannot be written, the shop is built in a temporary
    folder that lasts as long as the process, and a warning is logged.

    Args:
        source: the products.
        cache: where built shops are kept; None = `cache_folder`.

    Raises:
        WebShopDataError: the source's data cannot be used.
    """
    root = (cache if cache is not None else cache_folder()) / "webshop"
    target = root / f"v{FORMAT}-{source.key}"
    if (target / "done").exists():
        return target
    try:
        root.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=root, prefix=".building-"))
    except OSError as error:
        logger.warning("the shop is not cached, for %s cannot be written: %s", root, error)
        return _temporary_store(source)
    try:
        build_store(source, work)
        (work / "done").touch()
        try:
            work.rename(target)
        except OSError:
            # Another process finished the same build first; an unfinished folder of that name is replaced.
            if not (target / "done").exists():
                shutil.rmtree(target, ignore_errors=True)
                work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


@lru_cache(maxsize=8)
def _temporary_folder(key: str) -> "tempfile.TemporaryDirectory[str]":
    # Kept by the cache, so that the folder is removed when the process ends.
    return tempfile.TemporaryDirectory(prefix=f"agentkit-{key}-")


def _temporary_store(source: Source) -> Path:
    folder = Path(_temporary_folder(source.key).name)
    if not (folder / "done").exists():
        build_store(source, folder)
        (folder / "done").touch()
    return folder
