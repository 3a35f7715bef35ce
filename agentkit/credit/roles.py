"""Role-typed credit of TRIAGE."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from agentkit.credit.arrays import Floats, as_vector, whiten
from agentkit.credit.combining import combine

ROLE_CONSTANTS: Mapping[str, float] = MappingProxyType(
    {"decisive": 1.0, "exploration": 0.5, "no-progress": -0.1, "regression": -0.5}
)
"""The fixed, never tuned role constants of TRIAGE (arXiv 2606.32017)."""


def role_credits(
    roles: Sequence[Sequence[str | None]],
    weight: float = 0.3,
    constants: Mapping[str, float] = ROLE_CONSTANTS,
    whitened: bool = False,
) -> list[Floats]:
    """TRIAGE's correction, λ c_role, one a step.

    What is whitened: by default *nothing here*. TRIAGE (arXiv 2606.32017; seeds/002, "Method") forms
    A_{i,t} = A_GRPO,i + λ c_{i,t} and whitens "within the batch"; that it is this **sum** which is whitened, over all
    steps of all episodes of the batch, is the *reading* taken (`role_advantages`). The alternative, ``whitened=True``,
    whitens **the role term alone**: λ (c - mean c) / (std c + 1e-4) over all typed steps of the episodes given, so
    that λ is the standard deviation of the correction, and the outcome advantage stays as it is. Pass the episodes of
    the whole batch then, since they are the population.

    Args:
        roles: G lists of T_i role names; None = the judge abstained.
        weight: λ; the paper uses 0.2 to 0.4 by environment.
        constants: role name -> c.
        whitened: whether c is whitened over the typed steps before λ multiplies it.

    Returns:
        G arrays of shape (T_i,); exactly 0 where the judge abstained.

    Raises:
        ValueError: an unknown role name.

    >>> role_credits([["decisive", None]], weight=0.3)
    [array([0.3, 0. ])]
    """
    for i, names in enumerate(roles):
        for t, name in enumerate(names):
            if name is not None and name not in constants:
                raise ValueError(f"roles[{i}][{t}] is {name!r}; known roles are {', '.join(constants)} or None")
    typed = [np.array([math.nan if n is None else constants[n] for n in names], dtype=np.float64) for names in roles]
    return [weight * c for c in (whiten(typed) if whitened else map(_zero_where_unscored, typed))]


def role_advantages(
    outcome: ArrayLike,
    roles: Sequence[Sequence[str | None]],
    weight: float = 0.3,
    constants: Mapping[str, float] = ROLE_CONSTANTS,
    whitened: Literal["sum", "roles", "none"] = "sum",
) -> list[Floats]:
    """TRIAGE's advantage of each step, from the outcome advantage of its episode and its role.

    ``"sum"`` (the *reading* taken of "whitened within the batch")::

        A_{i,t} = whiten(A_GRPO,i + λ c_{i,t})

    over every step of every episode given, each step counted once, where an abstention has c = 0. ``"roles"`` is
    A_GRPO,i + λ whiten(c)_{i,t}, and ``"none"`` the plain sum; see `role_credits`.

    Args:
        outcome: shape (G,): the outcome advantage of each episode, e.g. of `outcome_advantages`; NaN counts as 0.
        roles: G lists of T_i role names; None = the judge abstained.
        weight: λ.
        constants: role name -> c.
        whitened: what is whitened. Give the whole batch at once (several groups, then), unless it is ``"none"``.

    Returns:
        G arrays of shape (T_i,).

    Raises:
        ValueError: ``outcome`` and ``roles`` differ in number, an unknown role name, or an unknown ``whitened``.

    >>> role_advantages([1.0, -1.0], [["decisive"], ["regression"]], weight=0.5, whitened="none")
    [array([1.5]), array([-1.25])]
    """
    if whitened not in ("sum", "roles", "none"):
        raise ValueError(f"whitened must be 'sum', 'roles' or 'none', got {whitened!r}")
    episodes = as_vector("outcome", outcome)
    if len(episodes) != len(roles):
        raise ValueError(f"outcome has {len(episodes)} episodes and roles {len(roles)}; give one of each an episode")
    credits = role_credits(roles, weight, constants, whitened=whitened == "roles")
    total = combine({"outcome": episodes, "roles": credits}) if len(roles) else []
    return whiten(total) if whitened == "sum" else total


def _zero_where_unscored(values: Floats) -> Floats:
    return np.where(np.isnan(values), 0.0, values)
