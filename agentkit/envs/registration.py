"""The ids that ``gymnasium.make`` knows after ``import agentkit``."""

import gymnasium as gym

ENTRY_POINTS: dict[str, str] = {
    "agentkit/ALFWorld-v0": "agentkit.envs.alfworld:ALFWorldEnv",
    "agentkit/WebShop-v0": "agentkit.envs.webshop:WebShopEnv",
}


def register_all() -> None:
    """Register every environment once; a second call changes nothing."""
    for env_id, entry_point in ENTRY_POINTS.items():
        if env_id not in gym.registry:
            gym.register(env_id, entry_point=entry_point, order_enforce=False, disable_env_checker=True)
