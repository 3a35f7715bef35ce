"""A made-up catalogue, generated from a seed, so that examples and tests need no download; any size, for benchmarks."""

import hashlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentkit.envs.webshop.products import Product, product_from_record


@attrs.frozen
class _Kind:
    """A sort of product: what it is called and what it may be like."""

    category: str
    query: str
    path: str
    nouns: tuple[str, ...]
    attributes: tuple[str, ...]
    options: tuple[tuple[str, tuple[str, ...]], ...]
    price: tuple[float, float]


_COLORS = ("black", "white", "navy blue", "wine red", "olive green", "grey", "rose gold", "sky blue", "yellow")
_SIZES = ("small", "medium", "large", "x-large", "xx-large")
_FLAVORS = ("sea salt", "dark chocolate", "honey mustard", "wild berry", "smoked paprika", "lemon ginger")
_PACKS = ("pack of 1", "pack of 3", "pack of 6", "pack of 12")

_KINDS = (
    _Kind("fashion", "men's t-shirts", "Clothing, Shoes & Jewelry › Men › Clothing › Shirts › T-Shirts",
          ("T-Shirt", "Crew Neck Tee", "Henley"), ("machine wash", "short sleeve", "classic fit", "cotton spandex"),
          (("color", _COLORS), ("size", _SIZES)), (9, 40)),
    _Kind("fashion", "women's dresses", "Clothing, Shoes & Jewelry › Women › Clothing › Dresses › Casual",
          ("Midi Dress", "Wrap Dress", "Tunic Dress"), ("hand wash", "long sleeve", "elastic waist", "loose fit"),
          (("color", _COLORS), ("size", _SIZES)), (15, 80)),
    _Kind("fashion", "women's boots", "Clothing, Shoes & Jewelry › Women › Shoes › Boots › Ankle & Bootie",
          ("Ankle Boots", "Chelsea Boots"), ("rubber sole", "slip resistant", "memory foam", "arch support"),
          (("color", _COLORS), ("size", ("6", "6.5", "7", "7.5", "8", "8.5", "9"))), (30, 120)),
    _Kind("electronics", "headphones", "Electronics › Headphones, Earbuds & Accessories › Headphones › Over-Ear",
          ("Headphones", "Wireless Headset"), ("noise cancelling", "fast charging", "long lasting", "hands free"),
          (("color", _COLORS[:5]),), (20, 300)),
    _Kind("electronics", "chargers", "Electronics › Accessories & Supplies › Power Strips › Chargers & Adapters",
          ("Wall Charger", "USB C Power Adapter"), ("quick release", "fast charging", "easy carry", "high speed"),
          (("color", ("black", "white")), ("size", ("20 watt", "45 watt", "65 watt"))), (8, 60)),
    _Kind("beauty", "shampoo", "Beauty & Personal Care › Hair Care › Shampoo & Conditioner › Shampoos",
          ("Shampoo", "Scalp Wash"), ("sulfate free", "cruelty free", "tea tree", "argan oil"),
          (("scent", ("lavender", "coconut", "citrus", "none")), ("size", ("200 ml", "400 ml", "1 liter"))), (5, 30)),
    _Kind("beauty", "makeup brushes", "Beauty & Personal Care › Tools & Accessories › Makeup Brushes › Brush Sets",
          ("Makeup Brush Set", "Blending Brush Kit"), ("easy clean", "eco friendly", "high quality", "bpa free"),
          (("color", _COLORS[:6]),), (6, 45)),
    _Kind("garden", "desk lamps", "Tools & Home Improvement › Lighting & Ceiling Fans › Lamps & Shades › Desk Lamps",
          ("Desk Lamp", "Reading Light"), ("easy install", "height adjustable", "energy efficient", "space saving"),
          (("color", _COLORS[:5]), ("style", ("modern", "retro"))), (18, 90)),
    _Kind("garden", "console tables", "Home & Kitchen › Furniture › Living Room Furniture › Tables › Console Tables",
          ("Console Table", "Entryway Table"), ("solid wood", "easy assemble", "heavy duty", "storage space"),
          (("color", ("oak", "walnut", "white", "espresso")), ("size", ("80 cm", "100 cm", "120 cm"))), (60, 420)),
    _Kind("grocery", "snack bars", "Grocery & Gourmet Food › Snacks & Sweets › Snack Foods › Bars › Granola",
          ("Granola Bars", "Nut Bars"), ("gluten free", "low sugar", "non gmo", "plant based"),
          (("flavor name", _FLAVORS), ("size", _PACKS)), (4, 35)),
    _Kind("grocery", "tea", "Grocery & Gourmet Food › Beverages › Coffee, Tea & Cocoa › Tea › Herbal",
          ("Herbal Tea", "Loose Leaf Tea"), ("caffeine free", "usda organic", "natural flavors", "resealable bag"),
          (("flavor name", ("mint", "chamomile", "hibiscus", "rooibos")), ("size", _PACKS)), (5, 28)),
)  # fmt: skip

_SYLLABLES = ("bo", "ka", "lu", "mi", "no", "ra", "so", "ti", "ve", "zu", "fen", "dor", "wick", "mar", "lin", "tor")
_MOODS = ("Everyday", "Premium", "Lightweight", "Essential", "Handy", "Signature", "Cozy", "Compact", "Deluxe")
_USES = ("travel", "home", "office", "daily use", "weekends", "gifts", "guests", "outdoor days")


def _options(kind: _Kind, rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    chosen = {}
    for name, values in kind.options:
        kept = [value for value in values if rng.random() < 0.6] or [values[0]]
        chosen[name] = [{"value": value} for value in kept[:5]]
    return chosen


def _record(number: int, seed: int) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Product ``number`` as the benchmark's files would hold it: product, attributes and human goals."""
    rng = random.Random(f"product {seed} {number}")
    kind = _KINDS[number % len(_KINDS)]
    brand = "".join(rng.sample(_SYLLABLES, 2)).capitalize()
    noun, mood, use = rng.choice(kind.nouns), rng.choice(_MOODS), rng.choice(_USES)
    tags = rng.sample(kind.attributes, rng.randint(2, len(kind.attributes)))
    wanted = rng.sample(tags, rng.randint(1, min(3, len(tags))))
    options = _options(kind, rng)
    low = round(rng.uniform(*kind.price), 2)
    high = round(low * rng.uniform(1.1, 1.6), 2)
    product = {
        "asin": f"G{number:09d}",
        "name": f"{brand} {mood} {noun} {rng.randint(100, 9999)}, {tags[0].title()}, for {use.title()}",
        "full_description": f"The {brand} {noun.lower()} for {use}: {', '.join(tags)}. Made to last.",
        "small_description": [f"{tag.capitalize()}: made with {use} in mind." for tag in tags],
        "pricing": rng.choice(("", f"${low}", f"${low}", f"${low}", f"${low} to ${high}")),
        "product_category": kind.path,
        "category": kind.category,
        "query": kind.query,
        "customization_options": options,
    }
    attributes = {
        "attributes": tags,
        "instruction": f"Find me {', '.join(wanted)} {kind.query}",
        "instruction_attributes": wanted,
    }
    picked = {name: rng.choice(values)["value"] for name, values in options.items()}
    human = {
        "instruction": f"i want {' '.join(picked.values())} {kind.query} that are {' and '.join(wanted)}.",
        "instruction_attributes": wanted,
        "instruction_options": list(picked.values()),
    }
    return product, attributes, [human]


@attrs.frozen
class GeneratedSource:
    """``num_products`` made-up products; the same seed gives the same ones, and more products only add to them."""

    num_products: int = 300
    seed: int = 0

    @property
    def key(self) -> str:
        """Changes with the arguments, and with the recipe: a sample of its products is part of the name."""
        sample = repr([_record(number, self.seed) for number in range(len(_KINDS))])
        digest = hashlib.blake2b(sample.encode(), digest_size=8).hexdigest()
        return f"generated-{self.num_products}-{self.seed}-{digest}"

    def products(self) -> Iterator[Product]:
        """The products, one at a time."""
        for number in range(self.num_products):
            record, attributes, human = _record(number, self.seed)
            yield product_from_record(
                record, where=f"generated product {number}", attributes=attributes, human_goals=human
            )


def generated_records(num_products: int, seed: int = 0) -> Iterator[Mapping[str, Any]]:
    """The raw product records, as ``items_shuffle.json`` would hold them."""
    return (_record(number, seed)[0] for number in range(num_products))
