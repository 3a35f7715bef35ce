"""Where raw products come from: the benchmark's own JSON files, read one record at a time."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import attrs

from agentkit.envs.webshop.products import MAX_ID_LENGTH, Product, WebShopDataError, product_from_record

_CHUNK = 1 << 20
_LONGEST_ELEMENT = 64 << 20  # one product of more characters than this is a broken file, which need not be read on


class Source(Protocol):
    """Yields the products of a shop in their order, each id once."""

    @property
    def key(self) -> str:
        """A name that changes whenever the products do; what is built from them is cached under it."""
        ...

    def products(self) -> Iterator[Product]:
        """The products, one at a time."""
        ...


@attrs.frozen
class FileSource:
    """The benchmark's files in a folder: the first ``num_products`` products (None = all)."""

    products_file: Path
    attributes_file: Path
    human_file: Path | None
    reviews_file: Path | None
    num_products: int | None

    @classmethod
    def find(cls, folder: str | os.PathLike[str], num_products: int | None) -> "FileSource":
        """The files of a data folder: the 1,000-product set where it is enough, else the full one.

        Raises:
            WebShopDataError: the folder, or a file that must be there, is missing; the message says which and where to
                get it.
        """
        root = Path(folder)
        if not root.is_dir():
            raise WebShopDataError(f"data must be a folder with WebShop's files, got {str(folder)!r}, which is none")
        suffixes = ["_1000", ""] if num_products is not None and num_products <= 1000 else [""]
        for suffix in suffixes:
            products = root / f"items_shuffle{suffix}.json"
            if products.is_file():
                break
        else:
            wanted = " or ".join(f"items_shuffle{suffix}.json" for suffix in suffixes)
            raise WebShopDataError(
                f"no {wanted} in {root} for num_products={num_products}; download WebShop's data with its setup.sh, or "
                "give num_products=1000 if the folder has the small set"
            )
        attributes = root / f"items_ins_v2{suffix}.json"
        if not attributes.is_file():
            raise WebShopDataError(f"{attributes} is missing; it comes with {products.name} in WebShop's data")
        optional = (root / "items_human_ins.json", root / "reviews.json")
        human, reviews = (path if path.is_file() else None for path in optional)
        return cls(products, attributes, human, reviews, num_products)

    @property
    def key(self) -> str:
        """Changes when a file is replaced, or another number of products is asked for."""
        paths = (self.products_file, self.attributes_file, self.human_file, self.reviews_file)
        stats = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path]
        digest = hashlib.blake2b(repr((stats, self.num_products)).encode(), digest_size=8).hexdigest()
        return f"files-{self.num_products or 'all'}-{digest}"

    def products(self) -> Iterator[Product]:
        """The products; ids that are "nan", longer than 10 characters or repeated are left out, as in the original.

        Raises:
            WebShopDataError: a file is no JSON, or a record is no product.
        """
        attributes = _read_object(self.attributes_file)
        human = _read_object(self.human_file) if self.human_file else {}
        reviews = {r["asin"]: r for r in iterate_array(self.reviews_file)} if self.reviews_file else {}
        seen: set[str] = set()
        for number, raw in enumerate(iterate_array(self.products_file)):
            if self.num_products is not None and number >= self.num_products:
                return
            name = str(raw.get("asin")) if isinstance(raw, Mapping) else ""
            if name in seen or name == "nan" or len(name) > MAX_ID_LENGTH:
                continue
            product = product_from_record(
                raw,
                where=f"{self.products_file}, product {number}",
                attributes=attributes.get(name),
                human_goals=human.get(name, ()),
                reviews=reviews.get(name),
            )
            seen.add(product.id)
            yield product


def _read_object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise WebShopDataError(f"{path}: not JSON ({error}); download it again") from error
    if not isinstance(data, dict):
        raise WebShopDataError(f"{path}: must hold a JSON object with product ids as keys, got a {type(data).__name__}")
    return data


def iterate_array(path: Path) -> Iterator[Any]:
    """Elements of the JSON array in a file, without holding the file in memory.

    Raises:
        WebShopDataError: the file is no JSON array, or is cut off.
    """
    with open(path, encoding="utf-8") as file:
        yield from _elements(iter(lambda: file.read(_CHUNK), ""), path)


def _elements(chunks: Iterable[str], path: Path) -> Iterator[Any]:
    """Elements of a JSON array whose text arrives in pieces."""
    decoder, source = json.JSONDecoder(), iter(chunks)
    text = next(source, "").lstrip()
    if not text.startswith("["):
        raise WebShopDataError(f"{path}: must hold a JSON array of products")
    position = 1
    while True:
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        if position < len(text):
            if text[position] == "]":
                return
            try:
                element, end = decoder.raw_decode(text, position)
            except ValueError as error:
                failure: ValueError | None = error
            else:
                # A number at the very end of a piece may go on in the next one; products are objects and cannot.
                failure, position = None, end
                yield element
                continue
        else:
            failure = None
        more = next(source, "") if len(text) - position < _LONGEST_ELEMENT else ""
        if not more:
            raise WebShopDataError(f"{path}: not JSON, or cut off ({failure or 'the array does not end'})") from failure
        text, position = text[position:] + more, 0
