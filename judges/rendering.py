"""Trajectories as the text that judges read."""

from collections.abc import Sequence

from agentkit.trajectory import Step, Trajectory


def render_opening(trajectory: Trajectory) -> str:
    """The goal and what the agent saw first."""
    first = trajectory.steps[0].observation if trajectory.steps else trajectory.final_observation
    return f"Goal: {trajectory.goal}\n\nStart: {first}"


def render_steps(steps: Sequence[Step], first: int = 1) -> str:
    """Numbered actions with the observations they led to, one step a line pair."""
    return "\n".join(f"Step {n}: {s.action}\nResult: {s.feedback}" for n, s in enumerate(steps, start=first))
