"""`Session`: where a customer stands in the shop, and how an action moves them on.

Source of the rules: princeton-nlp/WebShop, `web_agent_site/envs/web_agent_text_env.py`: `WebAgentTextEnv.step` and
`SimServer.receive`, quirks included (a page is recognised by its URL, so a query may be mistaken for one).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from agentkit.envs.webshop.goals import Goal
from agentkit.envs.webshop.products import Product

BASE_URL = "http://127.0.0.1:3000"
PAGE_SIZE = 10
SEARCH_DEPTH = 50
"""A search returns at most this many products."""

BACK_TO_SEARCH, NEXT_PAGE, PREV_PAGE, BUY_NOW = "Back to Search", "Next >", "< Prev", "Buy Now"
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")

_ACTION = re.compile(r"(.+)\[(.+)\]")
_PAGE_NAMES = ("search_results", "item_page", "item_sub_page", "done")


@attrs.frozen(kw_only=True)
class Session:
    """The whole state of a visit; two sessions are equal exactly when the customer sees and can do the same."""

    id: str
    goal: Goal
    view: str = "index"
    """The page: "index", "search_results", "item_page", "item_sub_page" or "done"."""
    url: str
    keywords: tuple[str, ...] | None = None
    found: tuple[str, ...] = ()
    """Ids of the products that the last search found, best first; turning pages does not search again."""
    page: int | None = None
    """Number of the result page, from 1."""
    product_id: str | None = None
    visited: frozenset[str] = frozenset()
    """Ids of the products opened since the last visit of the search page."""
    options: tuple[tuple[str, str], ...] = ()
    """Chosen (option name, value) pairs, in the order in which the names were first chosen."""
    sub_page: str | None = None
    reward: float = 0.0
    parts: tuple[tuple[str, Any], ...] = ()
    """The parts of the reward, once something is bought."""

    @property
    def done(self) -> bool:
        """Whether something was bought, which ends the visit."""
        return self.view == "done"


@attrs.frozen
class Shop:
    """What a session needs of the world."""

    results: Callable[[tuple[str, ...]], Sequence[str]]
    """Keywords -> ids of the products found, best first; asked once a search."""
    product: Callable[[str], Product | None]
    """Id -> the product, or None when the shop has none of this id."""
    reward: Callable[[Product, Mapping[str, str]], tuple[float, dict[str, Any]]]
    """Product and chosen options -> the purchase's reward and its parts, for the session's goal."""
    show_attributes: bool = False
    """Whether item pages have the Attributes button."""


def start_session(session_id: str, goal: Goal) -> Session:
    """A visit that begins on the search page."""
    return Session(id=session_id, goal=goal, url=f"{BASE_URL}/{session_id}")


def parse_action(action: str) -> tuple[str, str | None]:
    """Name and argument of an action such as ``"click[buy now]"``; the argument is None when there is none.

    >>> parse_action("search[red shoes]")
    ('search', 'red shoes')
    """
    match = _ACTION.match(action)
    return (match[1], match[2]) if match else (action, None)


def results_on_page(session: Session) -> tuple[str, ...]:
    """Ids of the products on the session's result page."""
    page = session.page or 0
    return session.found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]


def clickables(session: Session, shop: Shop) -> dict[str, tuple[str, str]]:
    """What can be clicked, in the original's order: the name to click (lower-case) -> (kind, what it stands for).

    Kinds are "button", "product" (stands for its id) and "option" (stands for the option's name). A later entry of the
    same name takes the place of an earlier one.
    """
    if session.view == "index":
        return {"search": ("button", "Search")}
    if session.view == "done":
        return {}
    targets = {BACK_TO_SEARCH.lower(): ("button", BACK_TO_SEARCH)}
    if session.view == "search_results":
        targets |= {name.lower(): ("button", name) for name in paging_buttons(session)}
        return targets | {name.lower(): ("product", name) for name in results_on_page(session)}
    targets[PREV_PAGE.lower()] = ("button", PREV_PAGE)
    if session.view == "item_page":
        for name in (*item_buttons(shop), BUY_NOW):
            targets[name.lower()] = ("button", name)
        product = shop.product(session.product_id or "")
        for name, values in product.options.items() if product else ():
            for value in values:
                targets[value] = ("option", name)
    return targets


def paging_buttons(session: Session) -> list[str]:
    """The buttons to other result pages that a result page has."""
    page = session.page or 0
    buttons = [PREV_PAGE] if page > 1 else []
    return [*buttons, NEXT_PAGE] if page * PAGE_SIZE < len(session.found) else buttons


def item_buttons(shop: Shop) -> tuple[str, ...]:
    """The sub pages that an item page has buttons for."""
    return SUB_PAGES if shop.show_attributes else SUB_PAGES[:-1]


def act(session: Session, action: str, targets: Mapping[str, tuple[str, str]], shop: Shop) -> Session:
    """The session after an action; the same one when the action is invalid, which changes nothing.

    Args:
        session: where the customer stands.
        action: ``search[…]`` or ``click[…]``, in any letter case within the brackets.
        targets: `clickables` of the session.
        shop: the world.
    """
    name, argument = parse_action(action)
    if argument is None:
        return session
    argument = argument.lower()
    if name == "search":
        keywords = tuple(argument.split(" "))
        found = attrs.evolve(session, keywords=keywords, found=tuple(shop.results(keywords)))
        return _show_results(found, 1)
    if name != "click" or argument == "search":
        return session
    target = targets.get(argument)
    return session if target is None else _click(session, argument, target, shop)


def _page_name(url: str) -> str:
    return next((name for name in _PAGE_NAMES if name in url), "")


def _click(session: Session, name: str, target: tuple[str, str], shop: Shop) -> Session:
    here = _page_name(session.url)
    page = session.page or 1
    if name == BUY_NOW.lower():
        return _buy(session, shop)
    if name == BACK_TO_SEARCH.lower():
        return start_session(session.id, session.goal)
    if name == NEXT_PAGE.lower() and here == "search_results":
        return _show_results(session, page + 1)
    if name == PREV_PAGE.lower() and here == "search_results":
        return _show_results(session, page - 1)
    if name == PREV_PAGE.lower() and here == "item_page":
        return _show_results(session, page)
    for sub_page in SUB_PAGES:
        if name == sub_page.lower():
            return _open_sub_page(session, sub_page)
    return _open_item(session, name, target)


def _show_results(session: Session, page: int) -> Session:
    url = f"{BASE_URL}/search_results/{session.id}/{'+'.join(session.keywords or ())}/{page}"
    return attrs.evolve(
        session,
        view="search_results",
        url=url,
        page=page,
        product_id=None,
        options=(),
        sub_page=None,
    )


def _open_item(session: Session, name: str, target: tuple[str, str]) -> Session:
    """The item page: of a product that was clicked, with an option that was clicked, or come back to."""
    kind, meaning = target
    product_id, options, visited = session.product_id, dict(session.options), session.visited
    if kind == "product":
        product_id, visited = meaning, visited | {meaning}
    elif kind == "option":
        options[meaning.lower()] = name
    url = (
        f"{BASE_URL}/item_page/{session.id}/{product_id}/{'+'.join(session.keywords or ())}/{session.page}/"
        f"{json.dumps(options)}"
    )
    return attrs.evolve(
        session,
        view="item_page",
        url=url,
        product_id=product_id,
        visited=visited,
        options=tuple(options.items()),
        sub_page=None,
    )


def _open_sub_page(session: Session, sub_page: str) -> Session:
    url = (
        f"{BASE_URL}/item_sub_page/{session.id}/{session.product_id}/{'+'.join(session.keywords or ())}/{session.page}/"
        f"{sub_page}/{dict(session.options)}"
    )
    return attrs.evolve(session, view="item_sub_page", url=url, sub_page=sub_page)


def _buy(session: Session, shop: Shop) -> Session:
    product = shop.product(session.product_id or "")
    if product is None:
        return session
    options = dict(session.options)
    reward, parts = shop.reward(product, options)
    url = f"{BASE_URL}/done/{session.id}/{session.product_id}/{options}"
    return attrs.evolve(session, view="done", url=url, reward=reward, parts=tuple(parts.items()))
