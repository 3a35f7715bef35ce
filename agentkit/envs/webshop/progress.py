"""Ground truth about a visit: milestones that an action achieved, and its semantic role."""

import attrs

from agentkit.envs.webshop.goals import Goal
from agentkit.envs.webshop.reward import option_matches
from agentkit.envs.webshop.session import Session

DECISIVE, EXPLORATION, NO_PROGRESS, REGRESSION = "decisive", "exploration", "no-progress", "regression"


@attrs.frozen
class Progress:
    """What a visit has achieved and seen so far."""

    achieved: frozenset[str] = frozenset()
    """Milestones, each counted once an episode."""
    seen: frozenset[str] = frozenset()
    """Pages shown so far, each by what it shows of the shop."""


def standing_milestones(session: Session) -> tuple[str, ...]:
    """Milestones that hold: the right product is open, each right option chosen, the right thing bought.

    Options count on the goal's product only. Right is to buy anything whose reward is 1, and the goal's product with
    every option it asks for (whose reward can be below 1, when the reward's comparison does not know a value again).
    """
    goal, standing, right = session.goal, [], []
    if session.product_id == goal.asin:
        right = chosen_rightly(session)
        standing.append(f"open {goal.asin}")
        standing += [f"choose {name}: {value}" if name else f"choose {value}" for name, value in right]
    complete = session.product_id == goal.asin and len(right) == len(goal.goal_options)
    if session.done and (complete or session.reward >= 1.0):
        standing.append(f"buy {session.product_id}")
    return tuple(standing)


def chosen_rightly(session: Session) -> list[tuple[str, str]]:
    """The goal's (name, value) options that the chosen ones fulfil; a named option only by a value of its own."""
    chosen = dict(session.options)
    fulfilled = []
    for name, value in session.goal.goal_options:
        values = [chosen[name]] if name in chosen else [] if name else list(chosen.values())
        if value in values or any(option_matches((name, value), candidate) for candidate in values):
            fulfilled.append((name, value))
    return fulfilled


def page_key(session: Session) -> str:
    """What the page shows of the shop: results by query and page number, a product or its sub page by its id."""
    place = session.product_id or f"{' '.join(session.keywords or ())} {session.page}"
    return f"{session.view} {session.sub_page} {place}"


def start_progress(session: Session) -> Progress:
    """The progress of a visit that has just begun."""
    return Progress(frozenset(standing_milestones(session)), frozenset([page_key(session)]))


def advance(progress: Progress, before: Session, after: Session) -> tuple[Progress, tuple[str, ...], str]:
    """Progress after an action, the milestones that it achieved for the first time, and its role.

    Roles are those of `seeds/002`, read from the shop's own state: *decisive* reaches a milestone (or comes back to one
    that was lost); *regression* loses a standing one, or buys the wrong thing; *exploration* shows a page for
    the first time; *no-progress* is the rest, no-ops included.
    """
    held, holds = set(standing_milestones(before)), standing_milestones(after)
    achieved = tuple(name for name in holds if name not in progress.achieved)
    key = page_key(after)
    if achieved or set(holds) - held:
        role = DECISIVE
    elif held - set(holds) or (after.done and not before.done):
        role = REGRESSION
    elif key not in progress.seen:
        role = EXPLORATION
    else:
        role = NO_PROGRESS
    if achieved or key not in progress.seen:
        progress = Progress(progress.achieved | set(achieved), progress.seen | {key})
    return progress, achieved, role


def wanted_choices(session: Session, options: dict[str, tuple[str, ...]]) -> list[str]:
    """Option values to choose on the open product so that every goal option is fulfilled that can be."""
    fulfilled = chosen_rightly(session)
    missing = [pair for pair in session.goal.goal_options if pair not in fulfilled]
    return [value for pair in missing if (value := best_value(pair, options)) is not None]


def best_value(wanted: tuple[str, str], options: dict[str, tuple[str, ...]]) -> str | None:
    """The option value that fulfils ``wanted``: the same one before a similar one; None when there is none."""
    name, value = wanted
    candidates = options.get(name, ()) if name else tuple(item for values in options.values() for item in values)
    if value in candidates:
        return value
    return next((candidate for candidate in candidates if option_matches(wanted, candidate)), None)


def task_type_of(goal: Goal) -> str:
    """The goal's category; "other" without one."""
    return goal.category or "other"
