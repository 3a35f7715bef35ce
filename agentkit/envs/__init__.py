"""Text environments, registered with Gymnasium as ``agentkit/…`` when `agentkit` is imported."""

from agentkit.envs.contract import TextSpace
from agentkit.envs.registration import register_all
from agentkit.envs.vector import make_vec

register_all()

__all__ = ["TextSpace", "make_vec", "register_all"]
