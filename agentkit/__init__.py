"""agentkit: everything an LLM agent needs around its environment, as Gymnasium wrappers and callables.

``import agentkit`` is light: it loads numpy, attrs and gymnasium, registers the environments, and nothing else.
Rooms: `agentkit.wrappers`, `agentkit.judges`, `agentkit.trainers`, `agentkit.models`, `agentkit.actors`,
`agentkit.envs`, `agentkit.credit`, `agentkit.testing`.
"""

from agentkit.decisions import Decision, Query, Question, Verdict
from agentkit.envs import make_vec
from agentkit.evaluation import evaluate
from agentkit.rollout import rollout
from agentkit.trajectory import Step, Trajectory, load_trajectories, save_trajectories
from agentkit.version import __version__

__all__ = [
    "Decision",
    "Query",
    "Question",
    "Step",
    "Trajectory",
    "Verdict",
    "__version__",
    "evaluate",
    "load_trajectories",
    "make_vec",
    "rollout",
    "save_trajectories",
]
