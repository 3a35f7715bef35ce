"""What a page says, in the original's two text forms: ``text`` (parts joined by [SEP]) and ``text_rich`` (lines with
buttons).

Source of the rules: princeton-nlp/WebShop, `web_agent_site/templates/*.html` and `convert_html_to_text` in
`web_agent_site/envs/web_agent_text_env.py`. All pages are checked against recordings, but for reviews that exist,
attributes, and the rich form of the last page.
"""

import json
from collections.abc import Iterator
from typing import TypeAlias

from agentkit.envs.webshop.products import Product
from agentkit.envs.webshop.session import (
    BACK_TO_SEARCH,
    BUY_NOW,
    PREV_PAGE,
    Session,
    Shop,
    item_buttons,
    paging_buttons,
    results_on_page,
)

Part: TypeAlias = tuple[str, str]
"""(kind, text): kinds are "plain", "button", "option" and "product"."""

_BLANK = " \t\n\r\f"
_SCRIPT_SAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})


def page_parts(session: Session, shop: Shop) -> list[Part]:
    """The visible texts of the session's page, in order."""
    parts = _raw_parts(session, shop)
    if any(not text or text.isspace() for _, text in parts):
        return [part for part in map(_parsed, parts) if part[1]]
    return parts


def _parsed(part: Part) -> Part:
    """A text as an HTML parser reports it: one blank for a text of blanks, none for one with line ends."""
    kind, text = part
    if text.strip(_BLANK):
        return part
    return kind, " " if text and "\n" not in text else ""


def render_text(session: Session, shop: Shop) -> str:
    """The page as texts joined by ``[SEP]``."""
    return " [SEP] ".join([text.strip() for _, text in page_parts(session, shop)])


def render_rich(session: Session, shop: Shop) -> str:
    """The page as lines, with ``[button] … [button_]`` around what can be clicked."""
    lines, clicked = [], []
    for kind, text in page_parts(session, shop):
        if kind == "button":
            lines.append(f"[button] {text} [button_]")
        elif kind == "option":
            chosen = f'"{text}"' in session.url
            lines.append(f"  [clicked button] {text} [clicked button_]" if chosen else f"  [button] {text} [button_]")
            if chosen:
                clicked.append(f"You have clicked {text}.\n")
        elif kind == "product":
            mark = "clicked button" if text in session.visited else "button"
            lines.append(f"\n[{mark}] {text} [{mark}_]")
        else:
            lines.append(text)
    return "".join(reversed(clicked)) + "".join([f"{line}\n" for line in lines])


def _raw_parts(session: Session, shop: Shop) -> list[Part]:
    if session.view == "index":
        return [*_plain("WebShop", "Instruction: ", session.goal.instruction_text), ("button", "Search")]
    if session.view == "done":
        return _plain(*_receipt(session))
    parts = [*_plain("Instruction:", session.goal.instruction_text), ("button", BACK_TO_SEARCH)]
    if session.view == "search_results":
        return parts + _results_parts(session, shop)
    product = shop.product(session.product_id or "")
    parts.append(("button", PREV_PAGE))
    if product is None:
        return parts
    if session.view == "item_page":
        return parts + _item_parts(product, shop)
    return parts + _sub_page_parts(session.sub_page or "", product)


def _plain(*texts: str) -> list[Part]:
    return [("plain", text) for text in texts]


def _results_parts(session: Session, shop: Shop) -> list[Part]:
    parts = _plain(f"Page {session.page} (Total results: {len(session.found)})")
    parts += [("button", name) for name in paging_buttons(session)]
    for name in results_on_page(session):
        product = shop.product(name)
        if product is not None:
            parts += (("product", product.id), ("plain", product.title), ("plain", product.price_tag))
    return parts


def _item_parts(product: Product, shop: Shop) -> list[Part]:
    parts: list[Part] = []
    for name, values in product.options.items():
        parts.append(("plain", name))
        parts += [("option", value) for value in values]
    parts += _plain(product.title, f"Price: {product.price_tag}", f"Rating: {product.rating}")
    return parts + [("button", name) for name in (*item_buttons(shop), BUY_NOW)]


def _sub_page_parts(sub_page: str, product: Product) -> list[Part]:
    if sub_page == "Description":
        return _plain(product.description)
    if sub_page == "Features":
        return _plain(*(f" {bullet}" for bullet in product.bullets))
    if sub_page == "Reviews":
        return _plain(*(text for r in product.reviews for text in (f'"{r.title}"', r.score, r.body)))
    tags = (f" {attribute}" for attribute in product.attributes)
    return _plain(*tags, product.category, product.query, product.product_category)


def _receipt(session: Session) -> Iterator[str]:
    """Texts of the last page. Most of its fields are never filled in by the original."""
    options = json.dumps(dict(session.options), sort_keys=True).translate(_SCRIPT_SAFE)
    yield from ("Thank you for shopping with us!", "Your code: ", "None", " (Paste it in your MTurk interface.)")
    yield from ("Purchased", "asin", session.product_id or "", "options", options, "attrs", "None")
    yield from ("category", "None", "query", "None", "product category", "None", "Target", "asin", "options", "attrs")
    yield from ("price upper", "instuction text", "category", "product category", "query", "Goal ", "None", "Reward")
    yield from ("Your score (min 0.0, max 1.0)", str(session.reward), "Reward Details ", "None")
