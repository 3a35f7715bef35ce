"""The reward of a purchase, with all its parts.

``reward = r_type (attribute matches + option matches + r_price) / (attributes + options + 1)``. Source: Yao et al. 2022
(arXiv 2207.01206), section 3, and princeton-nlp/WebShop, `web_agent_site/engine/goal.py`, `get_reward`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from agentkit.envs.webshop.goals import Goal
from agentkit.envs.webshop.products import Product
from agentkit.extras import require

Nouns = Callable[[str], Sequence[str]]
"""From a title to its nouns and proper nouns, lower-case, in order, repeats kept."""

FUZZY_MATCH = 85
"""A token-set ratio above this, in percent, is a match."""

# The original's `engine/normalize.py`: the first of these that occurs in an option value stands for it.
_COLOR_WORDS = (
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel "
    "camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry "
    "cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey "
    "heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight "
    "mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow "
    "red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal "
    "tiger turquoise violet walnut wheat white wine yellow"
)
_COLORS = tuple(_COLOR_WORDS.split())


def normalize_color(value: str) -> str:
    """The first colour (in alphabetical order) that occurs anywhere in ``value``, else ``value`` itself.

    >>> normalize_color("violet lavender")
    'lavender'
    """
    return next((color for color in _COLORS if color in value), value)


@cache
def _token_set_ratio() -> Callable[[str, str], int]:
    """thefuzz's `token_set_ratio` (whole percent) by RapidFuzz, which thefuzz itself calls."""
    ratio = require("rapidfuzz.fuzz", "webshop").token_set_ratio
    process = require("rapidfuzz.utils", "webshop").default_process

    def whole_percent(a: str, b: str) -> int:
        a, b = (text.encode("ascii", "ignore").decode() for text in (a, b))
        return round(ratio(a, b, processor=process))

    return whole_percent


def fuzzy_match(a: str, b: str) -> bool:
    """Whether two phrases are alike: token-set ratio above 85 percent."""
    return _token_set_ratio()(a, b) > FUZZY_MATCH


def type_reward(product: Product, goal: Goal, nouns: Nouns) -> dict[str, Any]:
    """Whether the product is of the wanted type: ``r_type`` in {0, 0.1, 0.5, 1} and what it is made of."""
    query_match = product.query == goal.query
    paths = [{part.strip() for part in path.split("›")} for path in (product.product_category, goal.product_category)]
    category_match = len(paths[0] & paths[1]) >= 2
    wanted = nouns(goal.name)
    title_score = len(set(nouns(product.title)) & set(wanted)) / len(wanted) if wanted else 0.2
    r_type = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    if title_score < 0.1:
        r_type = 0.1
    if title_score == 0.0:
        r_type = 0.0
    return {
        "r_type": r_type,
        "query_match": query_match,
        "category_match": category_match,
        "title_score": title_score,
    }


def count_attribute_matches(product: Product, wanted: Iterable[str]) -> int:
    """How many wanted attributes the product has, by its tags or by its texts."""
    evidence = product.evidence
    return sum(
        any(fuzzy_match(tag, attribute) for tag in product.attributes) or any(attribute in text for text in evidence)
        for attribute in wanted
    )


def _comparable(name: str, value: str) -> str:
    """A wanted option as the original compares it: a (name, value) pair as Python prints it, when it has a name.

    Of such a pair only a part that *is* a colour stands for the whole; in a bare value any colour within does.
    """
    if not name:
        return normalize_color(value)
    return next((color for color in _COLORS if color in (name, value)), str((name, value)))


def option_matches(wanted: tuple[str, str], chosen: str) -> bool:
    """Whether a chosen option value stands for the wanted (name, value), as the reward compares them."""
    return fuzzy_match(normalize_color(chosen), _comparable(*wanted))


def count_option_matches(wanted: Iterable[tuple[str, str]], chosen: Iterable[str]) -> int:
    """How many wanted (name, value) options are among the chosen values, whatever those are values of."""
    values = list(chosen)
    return sum(any(option_matches(pair, value) for value in values) for pair in wanted)


def purchase_reward(
    product: Product, goal: Goal, *, price: float, options: Mapping[str, str], nouns: Nouns
) -> tuple[float, dict[str, Any]]:
    """Reward of buying ``product`` at ``price`` dollars with ``options`` chosen, and its parts by the original's names.

    The reward is in [0, 1].
    """
    kind = type_reward(product, goal, nouns)
    wanted = goal.goal_options
    attributes = count_attribute_matches(product, goal.attributes)
    matched = count_option_matches(wanted, options.values())
    r_price = price <= goal.price_upper
    total = len(goal.attributes) + len(wanted) + 1
    reward = (attributes + matched + r_price) / total * kind["r_type"]
    parts = {**kind, "r_att": attributes / len(goal.attributes), "w_att": len(goal.attributes) / total}
    if wanted:
        parts |= {"r_option": matched / len(wanted), "w_option": len(wanted) / total}
    return reward, {**parts, "r_price": r_price, "w_price": 1 / total}
