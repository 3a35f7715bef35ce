"""Goals: what the customer wants, synthetic (from product attributes) or human, in the original's order.

Source of the rules: princeton-nlp/WebShop, `web_agent_site/engine/goal.py` (`get_synthetic_goals`, `get_human_goals`)
and the shuffle with seed 233 in `web_agent_site/envs/web_agent_text_env.py`.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentkit.envs.webshop.products import Product

SHUFFLE_SEED = 233
"""The original shuffles its goals with this seed, so goal indices mean the same everywhere."""

NO_PRICE_LIMIT = 1_000_000
"""Upper price, in dollars, of a goal that names none."""

_PRICE_STEPS = [10.0 * step for step in range(1, 100)]


@attrs.frozen(kw_only=True)
class Goal:
    """What is to be bought. Fields are named by the original's goal keys (``asin``, ``goal_options``, …)."""

    asin: str
    """The product that the goal was made from."""
    instruction_text: str
    attributes: tuple[str, ...] = attrs.field(converter=tuple)
    goal_options: tuple[tuple[str, str], ...]
    """(option name, value) pairs; names are "" for human goals, which name values only."""
    price_upper: float
    category: str = ""
    query: str = ""
    name: str = ""
    """Title of the product that the goal was made from."""
    product_category: str = ""

    @property
    def option_values(self) -> tuple[str, ...]:
        """The wanted option values."""
        return tuple(value for _, value in self.goal_options)

    def to_dict(self) -> dict[str, Any]:
        """The goal with the original's keys; ``goal_options`` is a dict, or a list for a human goal."""
        named = all(name for name, _ in self.goal_options)
        options = dict(self.goal_options) if named else list(self.option_values)
        return {
            **attrs.asdict(self, filter=attrs.filters.exclude("goal_options", "attributes")),
            "attributes": list(self.attributes),
            "goal_options": options,
        }


def _option_pairs(options: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(options, Mapping):
        return tuple((str(name), str(value)) for name, value in options.items())
    if isinstance(options, (list, tuple)):
        return tuple(("", str(value)) for value in options)
    raise ValueError(f"goal['goal_options'] must be a dict or a list, got {type(options).__name__}: {options!r}")


def goal_from_dict(goal: Any, product: Product | None = None) -> Goal:
    """The goal in a dict with the original's keys; a category, query, name or path it lacks comes from ``product``.

    Raises:
        ValueError: ``asin``, ``instruction_text`` or ``attributes`` is missing or empty, or a value has the wrong form.
    """
    if not isinstance(goal, Mapping):
        raise ValueError(f"options['goal'] must be a dict, got {type(goal).__name__}: {goal!r}")
    for key in ("asin", "instruction_text"):
        if not isinstance(goal.get(key), str):
            raise ValueError(f"goal[{key!r}] must be a str, got {goal.get(key)!r}")
    attributes = goal.get("attributes")
    if not isinstance(attributes, (list, tuple)) or not attributes or not all(isinstance(a, str) for a in attributes):
        raise ValueError(f"goal['attributes'] must be a list of at least one str, got {attributes!r}")
    price = goal.get("price_upper", NO_PRICE_LIMIT)
    if isinstance(price, bool) or not isinstance(price, (int, float)) or not price > 0:
        raise ValueError(f"goal['price_upper'] must be a number of dollars above 0, got {price!r}")
    known = product or Product(id=goal["asin"], title="")
    return Goal(
        asin=goal["asin"],
        instruction_text=goal["instruction_text"],
        attributes=attributes,
        goal_options=_option_pairs(goal.get("goal_options", {})),
        price_upper=price,
        category=str(goal.get("category", known.category)),
        query=str(goal.get("query", known.query)),
        name=str(goal.get("name", known.title)),
        product_category=str(goal.get("product_category", known.product_category)),
    )


def count_goals(product: Product, human: bool) -> int:
    """How many goals the product yields: its human ones, or one a combination of option values."""
    if human:
        return sum(1 for goal in product.human_goals if goal.attributes)
    if product.instruction is None or not product.instruction_attributes:
        return 0
    return math.prod(len(values) for values in product.options.values())


def draw_price(product: Product, seed: int) -> float:
    """The product's price in dollars: its own, or uniform within its range (as the original draws it, but seeded)."""
    if len(product.prices) == 1:
        return product.prices[0]
    return random.Random(f"price {seed} {product.id}").uniform(*product.prices)


def draw_price_limit(price: float, product_id: str, number: int, seed: int) -> float:
    """An upper price, in dollars: the larger of two of the next four multiples of ten above ``price``; seeded."""
    above = [step for step in _PRICE_STEPS if step > price][:4]
    if len(above) < 2:
        return NO_PRICE_LIMIT
    return max(random.Random(f"limit {seed} {product_id} {number}").sample(above, 2))


def _combination(product: Product, number: int) -> tuple[tuple[str, str], ...]:
    """Combination ``number`` of option values: names in alphabetical order, the last one varying fastest."""
    pairs: list[tuple[str, str]] = []
    for name in sorted(product.options, reverse=True):
        number, position = divmod(number, len(product.options[name]))
        pairs.append((name, product.options[name][position]))
    return tuple(reversed(pairs))


def make_goal(product: Product, number: int, *, human: bool, price: float, seed: int) -> Goal:
    """Goal ``number`` of the product (0 … `count_goals` - 1), for a product that costs ``price`` dollars."""
    limit = draw_price_limit(price, product.id, number if human else 0, seed)
    price_text = "" if limit == NO_PRICE_LIMIT else f", and price lower than {limit:.2f} dollars"
    if human:
        source = [goal for goal in product.human_goals if goal.attributes][number]
        attributes, options = source.attributes, tuple(("", value) for value in source.options)
        text = source.instruction.strip(".")
    else:
        attributes, options = product.instruction_attributes, _combination(product, number)
        wanted = ", and ".join(f"{name}: {value}" for name, value in options)
        text = f"{product.instruction}{' with ' + wanted if wanted else ''}"
    return Goal(
        asin=product.id,
        instruction_text=text + price_text,
        attributes=attributes,
        goal_options=options,
        price_upper=limit,
        category=product.category,
        query=product.query,
        name=product.title,
        product_category=product.product_category,
    )


def shuffled_order(num_goals: int) -> Sequence[int]:
    """Goal index -> position before the shuffle, for ``num_goals`` goals."""
    order = list(range(num_goals))
    random.Random(SHUFFLE_SEED).shuffle(order)
    return order
