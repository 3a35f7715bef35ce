"""`RoleCreditWrapper`: TRIAGE's four roles and their fixed constants as rewards."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentkit.credit import ROLE_CONSTANTS, role_credits
from agentkit.trajectory import Trajectory
from agentkit.wrappers.episodes import EpisodeWrapper
from agentkit.wrappers.sharing import record, resolve

logger = logging.getLogger(__name__)

UNTYPED = (
    "the role judge never saw the end of an episode of %d steps, which is left without roles; "
    "a wrapper that ends episodes, such as TimeLimit, belongs inside RoleCreditWrapper"
)

RoleJudgeCallable = Callable[[Trajectory], Sequence[str | None]]


class RoleCreditWrapper(EpisodeWrapper, RecordConstructorArgs):
    """Types every action of a finished episode and adds ``weight * c_role`` to its shaped reward.

    The last info of an episode holds ``roles`` (T names, None = the judge abstained) and ``shaped_rewards`` (T floats,
    on top of what inner wrappers shaped); the rewards that ``step`` returned stay as they were. An abstention adds
    exactly 0.

    Args:
        env: a text environment.
        judge: ``judge(trajectory) -> T role names or None``, or an import string ``"package.module:attribute"``.
        weight: λ; TRIAGE (arXiv 2606.32017) uses 0.2 to 0.4 by environment.
        constants: role name -> c; None = TRIAGE's (1, 0.5, -0.1, -0.5).

    Raises:
        ValueError: (from ``step``) the judge returned a wrong number of roles or an unknown one. A judge that *raises*
            leaves every step without a role, and is logged.
    """

    def __init__(
        self,
        env: gym.Env,
        judge: RoleJudgeCallable | str,
        weight: float = 0.3,
        constants: Mapping[str, float] | None = None,
    ):
        # A plain copy: a mapping proxy, as `ROLE_CONSTANTS` is, neither pickles nor survives a deep copy.
        given = None if constants is None else dict(constants)
        RecordConstructorArgs.__init__(self, judge=record(judge), weight=weight, constants=given)
        EpisodeWrapper.__init__(self, env)
        if not math.isfinite(weight):
            raise ValueError(f"weight must be a finite number, got {weight!r}")
        self.judge: RoleJudgeCallable = resolve(judge, "judge")
        if not callable(self.judge):
            raise TypeError(f"judge must be callable as judge(trajectory), got {self.judge!r}")
        self.weight = weight
        self.constants: Mapping[str, float] = dict(ROLE_CONSTANTS) if given is None else given

    def _cut(self, steps: int) -> None:
        self._warn_once(UNTYPED, steps)

    def _after_step(self, reward: float, ended: bool, info: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        if not ended:
            return reward, info
        roles = self._roles(self._episode.trajectory())
        credits = role_credits([roles], self.weight, self.constants)[0]
        shaped = [base + float(c) for base, c in zip(self._shaped_so_far(info), credits, strict=True)]
        return reward, {**info, "roles": roles, "shaped_rewards": tuple(shaped)}

    def _roles(self, trajectory: Trajectory) -> tuple[str | None, ...]:
        try:
            roles = tuple(self.judge(trajectory))
        except Exception as error:
            logger.warning("role judge failed on %d steps, left without roles: %r", len(trajectory), error)
            return (None,) * len(trajectory)
        if len(roles) != len(trajectory):
            count = len(trajectory)
            raise ValueError(f"the role judge returned {len(roles)} roles for {count} steps; return one a step")
        return roles
