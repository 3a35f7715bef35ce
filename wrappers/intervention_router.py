"""`InterventionRouterWrapper`: a light model decides in which states a gate may act."""

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentkit.causal.features import StateWatch
from agentkit.causal.router import load_router
from agentkit.wrappers.branching import BranchingWrapper
from agentkit.wrappers.sharing import record, resolve

logger = logging.getLogger(__name__)

RouterFunction: TypeAlias = Callable[[Mapping[str, float | None]], float]
"""``router(features) -> value`` of intervening; the gate may act where it is above 0."""


class InterventionRouterWrapper(BranchingWrapper, RecordConstructorArgs):
    """Lets the gate inside act only where a router finds an intervention worthwhile (CIR, arXiv 2610.00372).

    Before each step the gate inside is asked whether it would intervene. If so, the router weighs what is known before
    the intervention (`agentkit.causal.features`); where it sees no value, the proposal goes through as if the gate were
    not there, and the gate's budget is not touched. Within a state where the gate was allowed to act, its further
    rounds are not questioned.

    ``info["gate"]["router"]`` on every step: ``asked``, ``value`` (0.0 when not asked), ``allowed`` (True when not
    asked) and ``stopped``, the interventions that it has stopped in this episode so far.

    Args:
        env: an environment with a `ComparatorGateWrapper` in its stack.
        router: a `agentkit.causal.Router`, any callable from features to a value, the path of a saved router (ending in
            ``.json``), or an import string. Where it raises, or gives no finite number, the proposal goes through, and
            that is logged.
        actor: whoever plays; its ``distribution`` gives the feature ``entropy``, which is None without it.

    Raises:
        ValueError: there is no gate in the stack, or the file does not hold a router.
    """

    _episode_fields = ("_watch", "_stopped", "_in_round")

    def __init__(self, env: gym.Env, router: RouterFunction | str, actor: Any = None):
        RecordConstructorArgs.__init__(self, router=record(router), actor=record(actor))
        BranchingWrapper.__init__(self, env)
        if not env.has_wrapper_attr("would_intervene"):
            raise ValueError("there is no gate to route: put a ComparatorGateWrapper inside InterventionRouterWrapper")
        self.router: RouterFunction = _router_of(router)
        self.actor = resolve(actor, "actor")
        self._watch = StateWatch()
        self._stopped = 0
        self._in_round = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        self._watch.reset(observation, info)
        self._stopped, self._in_round = 0, False
        return observation, info

    def step(self, action: str):
        asked = not self._in_round and self.env.get_wrapper_attr("would_intervene")(action)
        value = self._value(action) if asked else 0.0
        allowed = not asked or value > 0
        if not allowed:
            self._stopped += 1
            self.env.get_wrapper_attr("let_through")()
        observation, reward, terminated, truncated, info = self.env.step(action)
        gate = info["gate"]
        self._in_round = gate["withheld"]
        if gate["executed"] is not None:
            self._watch.executed(gate["executed"], observation, info)
        router = {"asked": asked, "value": value, "allowed": allowed, "stopped": self._stopped}
        return observation, reward, terminated, truncated, {**info, "gate": {**gate, "router": router}}

    def _value(self, action: str) -> float:
        """What the router says; 0.0, which stops the intervention, where it fails."""
        features = self._watch.features(
            self.env.get_wrapper_attr("examine")(action),
            getattr(self.actor, "distribution", None),
            self.env.get_wrapper_attr("budget_left"),
        )
        try:
            value = float(self.router(features))
        except Exception as error:
            logger.warning("the router failed, the proposal goes through: %r", error)
            return 0.0
        if not math.isfinite(value):
            logger.warning("the router gave %r, the proposal goes through", value)
            return 0.0
        return value


def _router_of(router: RouterFunction | str) -> RouterFunction:
    if isinstance(router, str) and router.endswith(".json"):
        return load_router(router)
    found: RouterFunction = resolve(router, "router")
    if not callable(found):
        raise TypeError(f"router must be callable, the path of a saved router, or an import string, got {found!r}")
    return found
