"""Actors and environments for branches whose outcome is known."""

from typing import Any

from agentkit.testing import ScriptedEnv

STEPS = ("take key", "unlock chest", "take gem")
"""The shortest solution of ``ScriptedEnv()``."""


class GemActor:
    """Solves ``ScriptedEnv()`` from any of its states."""

    def __call__(self, observation: str, info: Any) -> str:
        return next(action for action in STEPS if action in info["admissible_actions"])


class LazyActor:
    """Only ever looks."""

    def __call__(self, observation: str, info: Any) -> str:
        return "look"


def make_gem_env(max_steps: int = 8) -> ScriptedEnv:
    return ScriptedEnv(max_steps=max_steps)


def make_gem_actor(env: Any, seed: int) -> GemActor:
    return GemActor()


def make_lazy_actor(env: Any, seed: int) -> LazyActor:
    return LazyActor()
