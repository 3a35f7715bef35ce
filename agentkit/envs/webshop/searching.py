"""From the keywords of a search to the products that the result pages list."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentkit.envs.webshop.session import SEARCH_DEPTH

if TYPE_CHECKING:
    from agentkit.envs.webshop.catalogue import Catalogue, SearchEngine


def search_products(
    catalogue: "Catalogue", keywords: tuple[str, ...], engine: "SearchEngine | None", seed: str
) -> Sequence[str]:
    """Ids of the products found, best first.

    A first keyword in angle brackets is one of the original's special searches: ``<r>`` 50 products at random (here the
    same ones for the same ``seed``), ``<a>`` all with an attribute, ``<c>`` of a category, ``<q>`` of a query. Anything
    else goes to the engine; ids that the shop does not sell are left out.

    Raises:
        TypeError: the engine returned something that is no sequence of strings.
    """
    first, rest = keywords[0] if keywords else "", " ".join(keywords[1:]).strip()
    if first == "<r>":
        return catalogue.sample(seed, SEARCH_DEPTH)
    special = {"<a>": "attributes", "<c>": "category", "<q>": "query"}
    if first in special:
        # The original reads one word of a category only.
        value = "".join(keywords[1:2]).strip() if first == "<c>" else rest
        return catalogue.select(special[first], value)
    query = " ".join(keywords)
    if engine is None:
        return catalogue.search(query, SEARCH_DEPTH)
    found = list(engine(query, SEARCH_DEPTH))
    if not all(isinstance(name, str) for name in found):
        raise TypeError(f"search({query!r}, {SEARCH_DEPTH}) must return product ids (str), got {found[:3]!r}")
    return [name for name in found[:SEARCH_DEPTH] if catalogue.products.get(name) is not None]
