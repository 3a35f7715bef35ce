"""`Product`: one article of the shop, read from a raw record the way the original WebShop reads it.

Source of the rules: princeton-nlp/WebShop, `web_agent_site/engine/engine.py`, `load_products`.
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import attrs

DEFAULT_PRICE = 100.0
"""Price, in dollars, of a product without one."""

MAX_ID_LENGTH = 10
"""The original leaves out products whose id is longer than this, or is "nan"."""


class WebShopDataError(ValueError):
    """A data file of WebShop is missing or cannot be used; the message names the file, the record and the mend."""


@attrs.frozen(kw_only=True)
class Review:
    """What one customer wrote."""

    title: str
    score: str
    body: str


@attrs.frozen(kw_only=True, slots=True)
class Product:
    """One article. Texts are kept as they stand in the data; option names and values are lower-case."""

    id: str
    """The product id (ASIN)."""
    title: str
    description: str = ""
    bullets: tuple[str, ...] = ()
    """The bullet points of the features page."""
    category: str = ""
    """One of the benchmark's five: beauty, electronics, fashion, garden, grocery."""
    query: str = ""
    """The search that the product was collected with, lower-case."""
    product_category: str = ""
    """The shop's category path, parts separated by "›"."""
    prices: tuple[float, ...] = (DEFAULT_PRICE,)
    """One price, or the two ends of a range, in dollars."""
    price_tag: str = f"${DEFAULT_PRICE}"
    """The price as pages show it."""
    options: dict[str, tuple[str, ...]] = attrs.field(factory=dict)
    """Option name -> its values, in page order."""
    attributes: tuple[str, ...] = ("DUMMY_ATTR",)
    """What the product is tagged with, such as "machine wash"."""
    reviews: tuple[Review, ...] = ()
    rating: str = "N.A."
    instruction: str | None = None
    """The synthetic goal's sentence; None when the product is no goal."""
    instruction_attributes: tuple[str, ...] = ()
    """The attributes that the synthetic goal asks for."""
    human_goals: tuple["HumanGoal", ...] = ()

    @property
    def searchable_text(self) -> str:
        """The document that the search engine indexes: title, description, first bullet and options, lower-case."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options.items())
        return " ".join([self.title, self.description, self.bullets[0] if self.bullets else "", options]).lower()

    @property
    def evidence(self) -> tuple[str, str, str]:
        """Title, bullets and description, lower-case: where the reward looks for an attribute or option."""
        return self.title.lower(), " ".join(self.bullets).lower(), self.description.lower()


@attrs.frozen(kw_only=True)
class HumanGoal:
    """An instruction that a person wrote for a product."""

    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


def parse_prices(pricing: Any) -> tuple[tuple[float, ...], str]:
    """Prices and price tag of the ``pricing`` field; a field without a readable price gives the default, 100 dollars.

    >>> parse_prices("$19.99 to $27.99")
    ((19.99, 27.99), '$19.99 to $27.99')
    >>> parse_prices("")
    ((100.0,), '$100.0')
    """
    prices = []
    for part in str(pricing or "").split("$")[1:]:
        try:
            prices.append(float(Decimal(re.sub(r"[^\d.]", "", part))))
        except InvalidOperation:
            continue
    if not prices:
        prices = [DEFAULT_PRICE]
    prices = prices[:2]
    return tuple(prices), " to ".join(f"${price}" for price in prices)


def parse_options(raw: Any) -> dict[str, tuple[str, ...]]:
    """Option name -> values of the ``customization_options`` field, but for options whose contents are no list."""
    if not isinstance(raw, Mapping):
        return {}
    options = {}
    for name, contents in raw.items():
        if not isinstance(contents, (list, tuple)):
            continue
        values = (str(content["value"]) for content in contents if isinstance(content, Mapping) and "value" in content)
        options[str(name).lower()] = tuple(value.strip().replace("/", " | ").lower() for value in values)
    return options


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else (str(value),)


def _human_goal(raw: Mapping[str, Any]) -> HumanGoal:
    return HumanGoal(
        instruction=str(raw.get("instruction") or ""),
        attributes=_texts(raw.get("instruction_attributes")),
        options=_texts(raw.get("instruction_options")),
    )


def _review(raw: Mapping[str, Any]) -> Review:
    score = raw.get("score", raw.get("stars", ""))
    return Review(title=str(raw.get("title", "")), score=str(score), body=str(raw.get("review", raw.get("body", ""))))


def product_from_record(
    raw: Any,
    *,
    where: str,
    attributes: Mapping[str, Any] | None = None,
    human_goals: Any = (),
    reviews: Mapping[str, Any] | None = None,
) -> Product:
    """The product in a raw record.

    Args:
        raw: one element of ``items_shuffle*.json``. Only ``asin`` and ``name`` are needed; the rest may be absent.
        where: the file and position, for the message.
        attributes: the product's entry of ``items_ins_v2*.json``.
        human_goals: the product's entry of ``items_human_ins.json``.
        reviews: the product's entry of ``reviews.json``.

    Raises:
        WebShopDataError: the record is no object, or lacks its id or title.
    """
    if not isinstance(raw, Mapping):
        raise WebShopDataError(f"{where}: a product must be a JSON object, got {type(raw).__name__}")
    for key in ("asin", "name"):
        if not isinstance(raw.get(key), str):
            keys = sorted(map(str, raw))[:8]
            raise WebShopDataError(f"{where}: the product lacks {key!r} (a string); its first keys are {keys}")
    attributes, reviews = attributes or {}, reviews or {}
    prices, price_tag = parse_prices(raw.get("pricing"))
    instruction = attributes.get("instruction")
    return Product(
        id=raw["asin"],
        title=raw["name"],
        description=str(raw.get("full_description") or ""),
        bullets=_texts(raw.get("small_description")),
        category=str(raw.get("category") or ""),
        query=str(raw.get("query") or "").lower().strip(),
        product_category=str(raw.get("product_category") or ""),
        prices=prices,
        price_tag=price_tag,
        options=parse_options(raw.get("customization_options")),
        attributes=_texts(attributes["attributes"]) if "attributes" in attributes else ("DUMMY_ATTR",),
        reviews=tuple(_review(review) for review in reviews.get("reviews") or ()),
        rating=str(reviews.get("average_rating", "N.A.")),
        instruction=None if instruction is None else str(instruction),
        instruction_attributes=_texts(attributes.get("instruction_attributes")),
        human_goals=tuple(_human_goal(goal) for goal in human_goals if isinstance(goal, Mapping)),
    )
