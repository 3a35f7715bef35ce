"""`RoleCreditWrapper`: TRIAGE's four roles and their fixed constants as rewards."""

from collections.abc import Mapping

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentkit.wrappers.graded import GradedWrapper
from agentkit.wrappers.roles import RoleGrader, RoleJudgeCallable
from agentkit.wrappers.sharing import record


class RoleCreditWrapper(GradedWrapper, RecordConstructorArgs):
    """Types every action of a finished episode and adds ``weight * c_role`` to its shaped reward.

    The last info of an episode holds ``roles`` (T names, None = the judge abstained) and ``shaped_rewards`` (T floats,
    on top of what inner wrappers shaped); the rewards that ``step`` returned stay as they were. An abstention adds
    exactly 0.

    With a ``timeout`` the judge answers in a thread of its own. An episode whose roles have not come in time ends
    without roles, with ``info["late_episode"]``, and `late_trajectories` hands it over when they have.
    So it does with an episode that was cut off.

    Args:
        env: a text environment.
        judge: ``judge(trajectory) -> T role names or None``, or an import string ``"package.module:attribute"``.
        weight: λ; TRIAGE (arXiv 2606.32017) uses 0.2 to 0.4 by environment.
        constants: role name -> c; None = TRIAGE's (1, 0.5, -0.1, -0.5).
        timeout: how many seconds to wait for the judge, 0 = not at all; None = as long as it takes, in this thread.

    Raises:
        TypeError: (from ``reset``) the observation is not text.
        ValueError: (from ``step``) the judge returned a wrong number of roles or an unknown one. A judge that *raises*
            leaves every step without a role, and is logged.
    """

    _unseen = (
        "role judge %r never saw the end of an episode of %d steps, which is left without roles; "
        "a wrapper that ends episodes, such as TimeLimit, belongs inside RoleCreditWrapper"
    )

    def __init__(
        self,
        env: gym.Env,
        judge: RoleJudgeCallable | str,
        weight: float = 0.3,
        constants: Mapping[str, float] | None = None,
        timeout: float | None = None,
    ):
        # A plain copy: a mapping proxy, as `ROLE_CONSTANTS` is, neither pickles nor survives a deep copy.
        given = None if constants is None else dict(constants)
        RecordConstructorArgs.__init__(self, judge=record(judge), weight=weight, constants=given, timeout=timeout)
        grader = RoleGrader.build(judge, weight, given)
        GradedWrapper.__init__(self, env, grader, timeout)
        self.judge, self.weight, self.constants = grader.judge, weight, grader.constants
