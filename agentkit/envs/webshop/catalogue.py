"""`Catalogue`: everything about a shop that never changes, shared by all environments of a process."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import overload

import numpy as np

from agentkit.envs.webshop.analysis import analyzer
from agentkit.envs.webshop.bm25 import BM25Index
from agentkit.envs.webshop.generated import GeneratedSource
from agentkit.envs.webshop.goals import Goal, draw_price, make_goal
from agentkit.envs.webshop.nouns import NounSource, RememberedNouns, noun_source
from agentkit.envs.webshop.products import Product
from agentkit.envs.webshop.sources import FileSource, Source
from agentkit.envs.webshop.store import ProductStore, open_store

SearchEngine = Callable[[str, int], Sequence[str]]
"""``search(query, k)``: at most k product ids, best first."""

GENERATED = "generated"
"""The ``data`` that stands for the made-up catalogue."""

_PRECOMPUTED_TITLES = 10_000


class GoalList(Sequence[Goal]):
    """The goals of a shop in the original's order, each made when it is asked for.

    Args:
        store: the products.
        folder: where the store was built.
        human: the goals that people wrote, else the synthetic ones.
        price: product -> its price in dollars.
        seed: of the upper prices.
    """

    def __init__(self, store: ProductStore, folder: Path, human: bool, price: Callable[[Product], float], seed: int):
        kind = "human" if human else "synthetic"
        self._store, self._human, self._price, self._seed = store, human, price, seed
        self._starts = np.load(folder / f"{kind}_starts.npy", mmap_mode="r")
        self._order = np.load(folder / f"{kind}_order.npy", mmap_mode="r")

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Goal: ...

    @overload
    def __getitem__(self, index: slice) -> list[Goal]: ...

    def __getitem__(self, index: int | slice) -> Goal | list[Goal]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"goal index {index} is out of range; there are {len(self)} goals")
        position = int(self._order[index])
        row = int(np.searchsorted(self._starts, position, side="right")) - 1
        product = self._store.row(row)
        number = position - int(self._starts[row])
        return make_goal(product, number, human=self._human, price=self._price(product), seed=self._seed)

    @cached_property
    def _attribute_counts(self) -> Counter[str]:
        """Attribute -> how many synthetic goals ask for it."""
        counts: Counter[str] = Counter()
        for product, goals in zip(self._store, np.diff(self._starts), strict=True):
            for attribute in product.instruction_attributes:
                counts[attribute] += int(goals)
        return counts

    def weight(self, goal: Goal) -> float:
        """The original's sampling weight of a goal: the mean over its attributes of 1 / (number of goals with it).

        It is 1 for human goals. Reads every product the first time.
        """
        if self._human:
            return 1.0
        return sum(1.0 / self._attribute_counts[name] for name in goal.attributes) / len(goal.attributes)


class Catalogue:
    """Products, prices, goals, search engine and nouns of one shop.

    Args:
        source: where the products come from.
        nouns: the source of nouns for the type reward.
        price_seed: seed of the prices that are drawn within a range, and of the goals' upper prices.
        prices: product id -> price in dollars, for the products that are not to have a drawn one.
        cache: where built shops are kept; None = the default cache folder.
    """

    def __init__(
        self,
        source: Source,
        nouns: NounSource,
        *,
        price_seed: int = 0,
        prices: Mapping[str, float] | None = None,
        cache: Path | None = None,
    ):
        self._folder = open_store(source, cache)
        self._seed, self._prices = price_seed, dict(prices or {})
        self.key = source.key
        self.products = ProductStore(self._folder)
        self._index = BM25Index.load(self._folder / "index", analyzer())
        self.search = lru_cache(maxsize=4096)(self._search)
        self._goals = [GoalList(self.products, self._folder, human, self.price, price_seed) for human in (False, True)]
        self.noun_source = nouns.name
        self.nouns = RememberedNouns(nouns, self._titles, self._folder)

    def search_hits(self, query: str, k: int) -> list[tuple[str, float]]:
        """The ``k`` best (product id, BM25 score) pairs for the query, best first."""
        return self._index.search(query, k)

    def _titles(self) -> list[str]:
        """The titles of a small shop, whose nouns are worth finding all at once; none of a large one."""
        return sorted({p.title for p in self.products}) if len(self.products) <= _PRECOMPUTED_TITLES else []

    def _search(self, query: str, k: int) -> tuple[str, ...]:
        """Ids of the ``k`` best products for the query, by BM25."""
        return tuple([name for name, _ in self._index.search(query, k)])

    def price(self, product: Product) -> float:
        """What the product costs, in dollars."""
        given = self._prices.get(product.id)
        return draw_price(product, self._seed) if given is None else given

    def goals(self, human: bool) -> GoalList:
        """The human or the synthetic goals."""
        return self._goals[human]

    def select(self, field: str, value: str) -> Sequence[str]:
        """Ids of the products whose ``field`` is (or, "attributes", holds) ``value``, in order; reads all products."""
        if field == "attributes":
            return [product.id for product in self.products if value in product.attributes]
        return [product.id for product in self.products if getattr(product, field) == value]

    def sample(self, seed: str, k: int) -> Sequence[str]:
        """``k`` products at random, the same for the same seed."""
        rows = random.Random(seed).sample(range(len(self.products)), min(k, len(self.products)))
        return [self.products.row(row).id for row in rows]


def check_prices(prices: object) -> tuple[tuple[str, float], ...]:
    """The (product id, price) pairs of a ``prices`` argument, sorted.

    Raises:
        ValueError: it is no mapping from ids to numbers of dollars.
    """
    if not isinstance(prices, Mapping):
        raise ValueError(f"prices must be a dict from product id to dollars, got {type(prices).__name__}: {prices!r}")
    for name, price in prices.items():
        if isinstance(price, bool) or not isinstance(price, (int, float)) or not price >= 0:
            raise ValueError(f"prices[{name!r}] must be a number of dollars, got {price!r}")
    return tuple(sorted((str(name), float(price)) for name, price in prices.items()))


@lru_cache(maxsize=8)
def _load(source: Source, key: str, nouns: str, price_seed: int, prices: Iterable[tuple[str, float]]) -> Catalogue:
    # The key changes with the files behind the source, so replaced data are not taken for the old ones.
    return Catalogue(source, noun_source(nouns), price_seed=price_seed, prices=dict(prices))


def load_catalogue(
    data: str | None,
    num_products: int | None = 1000,
    *,
    nouns: str = "auto",
    price_seed: int = 0,
    prices: Mapping[str, float] | None = None,
) -> Catalogue:
    """The catalogue of a data folder, or the made-up one for ``data="generated"``; one a process for equal arguments.

    Raises:
        WebShopDataError: the data cannot be used.
        ValueError: ``nouns`` or ``prices`` is wrong.
    """
    if data is None or data == GENERATED:
        source: Source = GeneratedSource()
    else:
        source = FileSource.find(data, num_products)
    return _load(source, source.key, nouns, price_seed, check_prices(prices or {}))
