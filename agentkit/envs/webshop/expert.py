"""A scripted expert, which knows the goal's product: search by the goal's words, open it, choose its options, buy."""

from collections.abc import Callable, Sequence

from agentkit.envs.webshop.goals import Goal
from agentkit.envs.webshop.progress import wanted_choices
from agentkit.envs.webshop.queries import suggest_queries
from agentkit.envs.webshop.session import BACK_TO_SEARCH, BUY_NOW, NEXT_PAGE, PAGE_SIZE, PREV_PAGE, Session, Shop

Results = Callable[[tuple[str, ...]], Sequence[str]]


def _words(query: str) -> tuple[str, ...]:
    return tuple(query.lower().split(" "))


def expert_query(goal: Goal, results: Results) -> str:
    """The first of the goal's queries that finds its product: from the instruction, then its product's title.

    When none does, the one from the instruction, whose best result is then bought.
    """
    queries = [*suggest_queries(goal.instruction_text, 4), goal.name.lower().strip() or goal.query]
    queries = [query for query in queries if query and "[" not in query and "]" not in query and "\n" not in query]
    found = (query for query in queries if goal.asin in results(_words(query)))
    return next(found, queries[0] if queries else "product")


def expert_action(session: Session, shop: Shop) -> str:
    """The next action towards the goal; it depends on the session alone, so it also works after another's actions."""
    query = expert_query(session.goal, shop.results)
    found = shop.results(_words(query))
    target = session.goal.asin if session.goal.asin in found else next(iter(found), None)
    if session.view == "index" or target is None:
        return f"search[{query}]"
    if session.view == "item_page" and session.product_id == target:
        return _on_target(session, shop)
    if session.view == "item_sub_page" and session.product_id == target:
        return f"click[{PREV_PAGE.lower()}]"
    if session.view == "search_results" and target in session.found:
        page, here = session.found.index(target) // PAGE_SIZE + 1, session.page or 1
        if here == page:
            return f"click[{target.lower()}]"
        return f"click[{(NEXT_PAGE if here < page else PREV_PAGE).lower()}]"
    return f"click[{BACK_TO_SEARCH.lower()}]"


def _on_target(session: Session, shop: Shop) -> str:
    product = shop.product(session.product_id or "")
    chosen = set(dict(session.options).values())
    for value in wanted_choices(session, product.options) if product else ():
        # A value that two options share can be chosen for one of them only.
        if value not in chosen and "[" not in value and "\n" not in value:
            return f"click[{value}]"
    return f"click[{BUY_NOW.lower()}]"
