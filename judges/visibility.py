"""How much of a trajectory a step judge sees when it judges one action."""

import math
from typing import Any, Literal, TypeAlias

Context: TypeAlias = Literal["prefix", "prefix+feedback", "hindsight"] | float
FractionOf: TypeAlias = Literal["future", "trajectory"]

CONTEXTS: tuple[str, ...] = ("prefix", "prefix+feedback", "hindsight")


def as_context(value: Any) -> Context:
    """``value`` as a context: one of `CONTEXTS`, or a share strictly between 0 and 1.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str) and value in CONTEXTS:
        return value  # pyright: ignore[reportReturnType] - a member of CONTEXTS
    if isinstance(value, (str, bool, bytes)) or not hasattr(value, "__float__") or not 0.0 < float(value) < 1.0:
        names = ", ".join(map(repr, CONTEXTS))
        raise ValueError(f"context must be one of {names}, or a share between 0 and 1 such as 0.5; got {value!r}")
    return float(value)


def visible_steps(context: Context, t: int, total: int, fraction_of: FractionOf = "future") -> int:
    """How many of the ``total`` steps, with what they led to, are shown when step ``t`` (from 0) is judged.

    - ``"prefix"``: the t steps before it. The action itself stands in the question; what it led to is not shown.
    - ``"prefix+feedback"``: also the step itself.
    - a share f: also that share of what follows, rounded half up. The paper's figure orders its contexts as "Prefix,
      plus feedback, plus 25, 50, 75 percent, Full" (seeds/000) without saying of what; *(reading)* of the steps that
      follow (``fraction_of="future"``), which makes a share 0 equal to prefix+feedback and a share 1 to hindsight for
      every step. ``"trajectory"``: that share of the whole trajectory, rounded half up, but at least up to the step.
    - ``"hindsight"``: all of them.

    >>> [visible_steps(0.5, t, total=6) for t in range(6)]
    [4, 4, 5, 5, 6, 6]
    >>> [visible_steps(0.5, t, total=6, fraction_of="trajectory") for t in range(6)]
    [3, 3, 3, 4, 5, 6]
    """
    if context == "prefix":
        return t
    if context == "hindsight":
        return total
    share = 0.0 if isinstance(context, str) else context
    if fraction_of == "trajectory":
        return max(t + 1, _half_up(share * total))
    return t + 1 + _half_up(share * (total - t - 1))


def _half_up(number: float) -> int:
    # The small term undoes the rounding of the product: 0.7 * 45 is 31.5 in decimals, and a little less in binary.
    return math.floor(number + 0.5 + 1e-9)
