"""Where an actor's probability goes in a diagnostic state."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

from agentkit.actors.telling import restart, tell
from agentkit.diagnosis.states import DiagnosticState
from agentkit.rollout import Actor

Goal: TypeAlias = Literal["full", "without placement"]
GOALS: tuple[Goal, ...] = ("full", "without placement")


@attrs.frozen(kw_only=True)
class Probe:
    """One actor's probability mass in one state, or why there is none."""

    actor: str
    identity: str
    """What the actor's answers depend on, see `actor_identity`."""
    task_id: str
    state: str
    """A digest of the state."""
    goal: Goal = attrs.field(validator=attrs.validators.in_(GOALS))
    change: str
    required: float = 0.0
    """On actions toward the required change."""
    placing: float = 0.0
    """On placing the unchanged object."""
    action: str = ""
    """What the actor chose."""
    chose_required: bool = False
    """Whether that leads toward the required change."""
    unscored: str | None = None
    """Why there is no distribution; the masses mean nothing then."""

    @property
    def other(self) -> float:
        """On everything else."""
        return max(0.0, 1.0 - self.required - self.placing)


def probe(name: str, actor: Actor, state: DiagnosticState, goal: Goal, identity: str = "") -> Probe:
    """Show an actor the episode until the state, under one of the two goals, and read its distribution there.

    Where the actor has ``observe``, it learns of the past steps through it, without being asked about them.

    Args:
        name: of the actor.
        actor: any actor with ``distribution``. One that raises RuntimeError (its model gave no answer) is unscored.
        state: the state.
        goal: "full", or "without placement": then the easier sub-goal is gone from the goal, also where an observation
            repeats it, and everything else is the same.
        identity: the actor's `actor_identity`.

    Raises:
        ValueError: the actor has no distribution.
    """
    about: dict[str, Any] = {
        "actor": name,
        "identity": identity,
        "task_id": state.task_id,
        "state": state.digest,
        "goal": goal,
        "change": state.change,
    }
    try:
        action = _ask(actor, state, state.goal if goal == "full" else state.goal_without_placement)
    except RuntimeError as error:
        return Probe(**about, unscored=str(error) or type(error).__name__)
    distribution: Mapping[str, float] = getattr(actor, "distribution", None) or {}
    if not distribution:
        raise ValueError(
            f"actor {name!r} tells no distribution; diagnose actors that do, such as ConstrainedReadoutActor"
        )
    return Probe(
        **about,
        required=sum(distribution.get(one, 0.0) for one in state.required),
        placing=sum(distribution.get(one, 0.0) for one in state.placing),
        action=action,
        chose_required=action in state.required,
    )


def actor_identity(actor: Any) -> str:
    """What an actor's answers depend on: its class, the identity of its model, what it remembers, whom it wraps."""
    parts = [type(actor).__qualname__]
    model = getattr(actor, "model", None)
    if model is not None:
        parts.append(str(getattr(model, "identity", None) or type(model).__qualname__))
    if hasattr(actor, "history"):
        parts.append(f"history={actor.history}")
    if hasattr(actor, "actor"):
        parts.append(actor_identity(actor.actor))
    return f"{parts[0]}({', '.join(parts[1:])})"


def _ask(actor: Actor, state: DiagnosticState, goal: str) -> str:
    restart(actor)
    info = {"goal": goal, "admissible_actions": state.admissible_actions, "won": False, "task_id": state.task_id}
    for observation, action in state.past:
        tell(actor, observation.replace(state.goal, goal), info, action)
    return actor(state.observation.replace(state.goal, goal), info)
