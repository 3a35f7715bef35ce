"""Collects one running episode, for rollouts and for wrappers that need what happened so far."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentkit.decisions import Verdict
from agentkit.trajectory import Step, Trajectory


def _json_safe(value: Any) -> Any:
    """``value`` as plain JSON values, or None where it has no such form."""
    if isinstance(value, Mapping):
        return {str(key): _json_safe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_safe(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else None


class EpisodeBuilder:
    """Turns the stream of resets and steps of one environment into a `Trajectory`.

    A step that a gate withheld (``info["gate"]["withheld"]``) was not executed and makes no `Step`: only the
    observation that the agent decides on next changes. Where a gate executed another action than the proposed one
    (``info["gate"]["executed"]``), the `Step` has that one; the proposal stays in ``step.gate``.
    """

    def __init__(self, observation: str, info: Mapping[str, Any], *, seed: int | None = None, group: str | None = None):
        self._seed, self._group = seed, group
        self._observation = observation
        self._info: Mapping[str, Any] = info
        self._steps: list[Step] = []
        self._ended = (False, False)

    @property
    def steps(self) -> Sequence[Step]:
        """The executed steps so far."""
        return self._steps

    @property
    def observation(self) -> str:
        """What the agent sees at this moment."""
        return self._observation

    def add(
        self,
        action: str,
        observation: str,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: Mapping[str, Any],
        probability: float | None = None,
    ) -> Step | None:
        """Record what ``env.step(action)`` returned; None when a gate withheld the action.

        ``probability`` is that of ``action``, and is left out when another one was executed.
        """
        before, seen = self._info, self._observation
        self._observation, self._info, self._ended = observation, info, (bool(terminated), bool(truncated))
        gate = info.get("gate")
        if gate is not None and gate.get("withheld"):
            self._info = {**info, "admissible_actions": before.get("admissible_actions", ())}
            return None
        executed = action if gate is None else gate.get("executed") or action
        oracle = info.get("oracle_role")
        step = Step(
            observation=seen,
            action=executed,
            reward=reward,
            feedback=observation,
            admissible_actions=before.get("admissible_actions", ()),
            raw_reward=float(info.get("raw_reward", reward)),
            state_changed=info.get("state_changed"),
            milestones=info.get("milestones", ()),
            probability=probability if executed == action else None,
            gate=None if gate is None else _json_safe(gate),
            role=oracle,
            # Kept here too, for a role judge's answers take the place of `role`.
            info={} if oracle is None else {"oracle_role": oracle},
        )
        self._steps.append(step)
        return step

    def trajectory(self) -> Trajectory:
        """The episode so far, with whatever judges and roles the last info holds written into its steps."""
        info = self._info
        terminated, truncated = self._ended
        trajectory = Trajectory(
            goal=info.get("goal", ""),
            steps=self._steps,
            final_observation=self._observation if self._steps else "",
            terminated=terminated,
            truncated=truncated,
            won=bool(info.get("won", False)),
            task_id=info.get("task_id", ""),
            task_type=info.get("task_type", ""),
            seed=self._seed,
            group=self._group,
        )
        return absorb_signals(trajectory, info) if self._steps else trajectory


def absorb_signals(trajectory: Trajectory, info: Mapping[str, Any]) -> Trajectory:
    """Write the per-step signals of an episode's last ``info`` into the steps they belong to.

    Reads ``verdicts`` (judge name -> T verdicts), ``roles`` (T names or None) and ``shaped_rewards`` (T numbers).
    """
    verdicts: Mapping[str, Sequence[Verdict]] = info.get("verdicts", {})
    for judge, column in verdicts.items():
        trajectory = trajectory.with_scores(judge, column)
    if "roles" in info:
        trajectory = trajectory.with_steps(role=info["roles"])
    if "shaped_rewards" in info:
        trajectory = trajectory.with_steps(shaped_reward=[float(value) for value in info["shaped_rewards"]])
    return trajectory


def with_seed(trajectory: Trajectory, seed: int | None, group: str | None = None) -> Trajectory:
    """A copy labelled with the seed and the group that it was rolled out with."""
    return attrs.evolve(trajectory, seed=seed, group=group)
