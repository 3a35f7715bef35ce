"""Arms and players by the names that ``agentkit compare`` takes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import gymnasium as gym

from agentkit.cli.judge_naming import make_readout
from agentkit.cli.naming import make_actor
from agentkit.comparing import Arm, Player
from agentkit.comparison import Comparator
from agentkit.models.usage import UsageMeter
from agentkit.rollout import Actor
from agentkit.wrappers.sharing import resolve

FORMS = (
    "original, gate:COMPARATOR, forced:COMPARATOR, best-of-n:COMPARATOR, critic:planner or reflection; settings follow "
    "after commas, as in gate:oracle,k=8,r=2,budget=1,rounds=1,router=router.json or best-of-n:oracle,n=4"
)
COMPARATORS = "oracle, random, wrong, smollm2, a checkpoint folder, q:FOLDER (absolute Q) or package.module:attribute"
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "gate": ("k", "r", "budget", "rounds"),
    "forced": ("k", "r", "budget"),
    "best-of-n": ("n",),
}
_ROUTED = ("gate", "forced")
_SCRIPTED = ("random", "explorer", "expert")

MakeComparator = Callable[[gym.Env, int, UsageMeter], Comparator]


@attrs.frozen(kw_only=True)
class ActorOptions:
    """The actor that all arms share."""

    actor: str
    """An actor of ``agentkit eval``, or ``readout:FOLDER`` for a checkpoint."""
    mistakes: float
    """The rate of injected mistakes (`MistakenActor`)."""
    follow: float | None
    """The probability with which an actor that cannot read follows advice (`AdvisedActor`); None = 0.5 for scripted
    actors, 0 for language models, which read the advice themselves."""
    temperature: float
    """Of the readout actor."""


class Casting:
    """Makes the arms and the actor of one comparison; each local model is loaded once.

    Args:
        actor_price: the name in the price table under which the actor's tokens are counted.
        comparator_price: that of comparators.
        device: of local models: cpu, cuda, ...
        dtype: of their weights: float32, bfloat16, ...
    """

    def __init__(self, actor_price: str, comparator_price: str, device: str = "cpu", dtype: str = "float32"):
        self.actor_price, self.comparator_price = actor_price, comparator_price
        self.device, self.dtype = device, dtype
        self._models: dict[str, Any] = {}

    def arm(self, spec: str) -> Arm:
        """The arm of that name.

        Raises:
            ValueError: the name has none of the `FORMS`, or a setting is unknown; the message says what is possible.
        """
        kind, settings, router = parse_arm(spec)
        head, _, what = kind.partition(":")
        if kind == "original":
            return Arm(spec)
        if kind == "critic:planner":
            return Arm(spec, wrap_actor=_planner_critic)
        if kind == "reflection":
            return Arm(spec, wrap_actor=_reflection)
        if head not in _NUMBERS or not what:
            raise ValueError(f"no arm {spec!r}; choose from {FORMS}")
        make = self.comparator(what)
        if head == "best-of-n":
            return Arm(spec, wrap_actor=_best_of_n(make, settings.get("n", 4)))
        mode = "constructive" if head == "gate" else "forced"
        wrap_env = _gated(make, {**settings, "mode": mode}, router)
        return Arm(spec, wrap_env, _introduced) if router else Arm(spec, wrap_env)

    def comparator(self, what: str) -> MakeComparator:
        """Makes the comparator of that name for an environment, a seed and a meter.

        Raises:
            ValueError: there is none of that name.
        """
        from agentkit import judges
        from agentkit.judges.absolute_critic import AbsoluteCritic

        if what == "oracle":
            return lambda env, seed, meter: judges.OracleComparator(env)
        if what == "wrong":
            return lambda env, seed, meter: judges.WrongComparator(judges.OracleComparator(env))
        if what == "random":
            return lambda env, seed, meter: judges.RandomComparator(seed)
        if ":" in what.removeprefix("q:"):
            named: Comparator = resolve(what, "comparator")
            return lambda env, seed, meter: named
        kind: Any = AbsoluteCritic if what.startswith("q:") else judges.PairwiseComparator
        model, price = self._readout(what.removeprefix("q:")), self.comparator_price
        return lambda env, seed, meter: kind(meter.metered(model, role="comparator", model=price))

    def player(self, options: ActorOptions) -> Player:
        """Makes that actor for an environment, a seed and a meter."""
        from agentkit.actors import AdvisedActor, MistakenActor

        follow = (0.5 if options.actor in _SCRIPTED else 0.0) if options.follow is None else options.follow

        def player(env: gym.Env, seed: int, meter: UsageMeter) -> Actor:
            actor = self._actor(options, env, seed, meter)
            if options.mistakes:
                actor = MistakenActor(actor, options.mistakes, seed=seed)
            return AdvisedActor(actor, follow, seed=seed)

        return player

    def _actor(self, options: ActorOptions, env: gym.Env, seed: int, meter: UsageMeter) -> Actor:
        kind, _, folder = options.actor.partition(":")
        if kind != "readout":
            return make_actor(options.actor, env, seed)
        from agentkit.actors import ConstrainedReadoutActor

        model = meter.metered(self._readout(folder or "smollm2"), role="actor", model=self.actor_price)
        return ConstrainedReadoutActor(model, options.temperature, seed=seed)

    def _readout(self, name: str) -> Any:
        """A local decision model."""
        if name not in self._models:
            if name != "smollm2" and not Path(name).is_dir():
                raise ValueError(f"no comparator {name!r}; choose from {COMPARATORS}")
            self._models[name] = make_readout(name, device=self.device, dtype=self.dtype)
        return self._models[name]


def parse_arm(spec: str) -> tuple[str, dict[str, int], str | None]:
    """What stands before the first comma, the numbers among the settings, and the router's file.

    Raises:
        ValueError: a setting is unknown, or is no number.
    """
    kind, *parts = spec.split(",")
    head = kind.partition(":")[0]
    settings: dict[str, int] = {}
    router = None
    for part in parts:
        name, _, value = part.partition("=")
        if name == "router" and head in _ROUTED and value:
            router = value
        elif name in _NUMBERS.get(head, ()) and value.isdigit():
            settings[name] = int(value)
        else:
            raise ValueError(f"arm {spec!r}: {part!r} is no setting; choose from {FORMS}")
    return kind, settings, router


def with_budgets(specs: list[str], budgets: list[int]) -> list[str]:
    """The arms, and for each gate without a budget the same with each of the budgets (COTA's Table 3)."""
    gates = [spec for spec in specs if spec.partition(":")[0] in _ROUTED and "budget=" not in spec]
    return list(dict.fromkeys([*specs, *(f"{spec},budget={budget}" for spec in gates for budget in budgets)]))


def _gated(
    make: MakeComparator, settings: Mapping[str, Any], router: str | None
) -> Callable[[gym.Env, int, UsageMeter], gym.Env]:
    from agentkit.wrappers import ComparatorGateWrapper, InterventionRouterWrapper

    def wrap(env: gym.Env, seed: int, meter: UsageMeter) -> gym.Env:
        gate = ComparatorGateWrapper(env, make(env, seed, meter), **settings)
        return InterventionRouterWrapper(gate, router) if router else gate

    return wrap


def _introduced(actor: Actor, env: gym.Env, seed: int, meter: UsageMeter) -> Actor:
    """The router wants to know how sure the actor is."""
    env.set_wrapper_attr("actor", actor)
    return actor


def _planner_critic(actor: Actor, env: gym.Env, seed: int, meter: UsageMeter) -> Actor:
    from agentkit.actors import CritiquedActor
    from agentkit.actors.asymmetric_critic import planner_critic

    return CritiquedActor(actor, planner_critic(env))


def _reflection(actor: Any, env: gym.Env, seed: int, meter: UsageMeter) -> Actor:
    from agentkit.actors import CritiquedActor
    from agentkit.actors.self_reflection import reflection

    inner = actor
    while not hasattr(inner, "model") and hasattr(inner, "actor"):
        inner = inner.actor
    if not hasattr(inner, "model"):
        raise ValueError("the arm 'reflection' asks the actor's own model, so it needs --actor readout")
    return CritiquedActor(actor, reflection(inner.model))


def _best_of_n(make: MakeComparator, n: int) -> Callable[[Any, gym.Env, int, UsageMeter], Actor]:
    from agentkit.actors import BestOfNActor
    from agentkit.actors.best_of_n import by_comparator

    def wrap(actor: Actor, env: gym.Env, seed: int, meter: UsageMeter) -> Actor:
        return BestOfNActor(actor, by_comparator(make(env, seed, meter)), n, seed=seed)

    return wrap
