"""Made-up episodes for tests of judges, and Hypothesis strategies for more."""

import attrs
from hypothesis import strategies as st

from agentkit.trajectory import Step, Trajectory
from tests.strategies import texts

ACTIONS = ("look", "take mug 1", "go to microwave 1", "heat mug 1", "move mug 1 to desk 1")


def episode(actions=ACTIONS, won=True):
    """An episode with the observations "seen 0" to "seen T", which terminates when it is won."""
    steps = [
        Step(observation=f"seen {t}", action=a, reward=float(won and t == len(actions) - 1), feedback=f"seen {t + 1}")
        for t, a in enumerate(actions)
    ]
    final = f"seen {len(actions)}"
    return Trajectory(
        goal="put a hot mug on the desk",
        steps=steps,
        final_observation=final,
        terminated=won,
        truncated=not won,
        won=won,
    )


def with_feedback(trajectory, t, feedback):
    """A copy in which step ``t`` led to something else."""
    steps = list(trajectory.steps)
    steps[t] = attrs.evolve(steps[t], feedback=feedback)
    return attrs.evolve(trajectory, steps=steps)


awkward_texts = texts | st.sampled_from(["{goal}", "{action}", "{", "}}", "{0}", "{n.__class__}", "%s", "Step 1: look"])
"""Texts that would break, or be filled in by, a template that is formatted twice."""


@st.composite
def played(draw, min_steps=1, max_steps=8):
    """An episode whose goal, actions and observations are awkward, each observation told apart by a number."""
    size = draw(st.integers(min_steps, max_steps))
    steps = [
        Step(
            observation=f"{draw(awkward_texts)} [{t}]",
            action=draw(awkward_texts),
            reward=0.0,
            feedback=f"{draw(awkward_texts)} [{t + 1}]",
        )
        for t in range(size)
    ]
    return Trajectory(goal=draw(awkward_texts), steps=steps, won=draw(st.booleans()), terminated=draw(st.booleans()))
