"""`diagnose`: whether an easier sub-goal draws actors away from the one that has to come first."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentkit.diagnosis.probing import GOALS, Goal, Probe, actor_identity, probe
from agentkit.diagnosis.result import Diagnosis, summarise_probes
from agentkit.diagnosis.states import DiagnosticState, save_states
from agentkit.journal import Journal
from agentkit.rollout import Actor


def diagnose(
    states: Sequence[DiagnosticState],
    actors: Mapping[str, Actor],
    *,
    out: str | os.PathLike[str] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    progress: Callable[[int, int], Any] | None = None,
) -> Diagnosis:
    """Ask every actor in every state, with the full goal and with the easier sub-goal removed from it.

    The experiment of *Actor, Judge, or Teacher?* (seeds/000, "Actor"): with the full goal JEV puts 14.6 % of its
    probability on the required change and 63.8 % on placing at once; with the placement removed, 77.6 % on the change.

    Args:
        states: from `collect_states`.
        actors: name -> an actor that tells its ``distribution``.
        out: a folder; probes are kept there in ``probes.jsonl`` as they come and are not made again; the states and the
            result are written beside them.
        resamples: of the bootstrap over states.
        seed: of its draws.
        progress: called with the number of probes so far and in all.

    Raises:
        ValueError: there are no states or actors, an actor tells no distribution, or ``out`` holds probes of another
            actor under the same name.
    """
    if not states or not actors:
        raise ValueError(f"diagnose needs states and actors, got {len(states)} states and {len(actors)} actors")
    journal = None if out is None else Journal(Path(out) / "probes.jsonl", Probe)
    identities = {name: actor_identity(actor) for name, actor in actors.items()}
    known = {} if journal is None else _known(journal, identities)
    if out is not None:
        save_states(Path(out) / "states.jsonl", states)
    wanted: list[tuple[str, DiagnosticState, Goal]] = [(n, state, g) for state in states for n in actors for g in GOALS]
    probes = []
    for done, (name, state, goal) in enumerate(wanted, start=1):
        found = known.get((name, state.digest, goal))
        if found is None:
            found = probe(name, actors[name], state, goal, identities[name])
            if journal is not None and found.unscored is None:  # what failed is asked again by the next run
                journal.add(found)
        probes.append(found)
        if progress is not None:
            progress(done, len(wanted))
    result = summarise_probes(probes, list(actors), states=len(states), resamples=resamples, seed=seed)
    if out is not None:
        result.save(out)
    return result


def _known(journal: Journal[Probe], identities: Mapping[str, str]) -> dict[tuple[str, str, str], Probe]:
    entries = journal.entries()
    for entry in entries:
        if identities.get(entry.actor, entry.identity) != entry.identity:
            raise ValueError(
                f"{journal.path} holds probes of another {entry.actor!r}: {entry.identity}, not "
                f"{identities[entry.actor]}; choose another folder or give the actor another name"
            )
    return {(entry.actor, entry.state, entry.goal): entry for entry in entries}
