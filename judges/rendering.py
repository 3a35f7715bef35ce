"""Trajectories as the text that judges read."""

from collections.abc import Sequence

from agentkit.trajectory import Step, Trajectory


def first_observation(trajectory: Trajectory) -> str:
    """What the agent saw before its first action."""
    return trajectory.steps[0].observation if trajectory.steps else trajectory.final_observation


def render_steps(template: str, steps: Sequence[Step], first: int = 1) -> list[str]:
    """Each step's action and what it led to, numbered from ``first``."""
    return [template.format(n=n, action=s.action, feedback=s.feedback) for n, s in enumerate(steps, start=first)]
