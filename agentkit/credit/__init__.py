"""From episode outcomes and step signals to advantages, in plain numpy.

Shapes: a rollout *group* has G episodes of the same task; episode i has T_i steps and L_i tokens. Per-episode values
are arrays of shape (G,), per-step values are lists of G arrays of shape (T_i,). NaN means *unscored*: it is left out
of every mean and standard deviation and contributes exactly 0.
"""

from agentkit.credit.arrays import STD_EPSILON, Floats, unscored_share, whiten
from agentkit.credit.combining import broadcast_to_tokens, combine
from agentkit.credit.outcome import Scale, outcome_advantages
from agentkit.credit.returns import anchor_state_advantages, discounted_advantages, discounted_step_returns
from agentkit.credit.roles import ROLE_CONSTANTS, role_advantages, role_credits
from agentkit.credit.step_scores import centered_step_scores

__all__ = [
    "ROLE_CONSTANTS",
    "STD_EPSILON",
    "Floats",
    "Scale",
    "anchor_state_advantages",
    "broadcast_to_tokens",
    "centered_step_scores",
    "combine",
    "discounted_advantages",
    "discounted_step_returns",
    "outcome_advantages",
    "role_advantages",
    "role_credits",
    "unscored_share",
    "whiten",
]
