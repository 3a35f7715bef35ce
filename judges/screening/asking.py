"""Asks every candidate about every trajectory, once, and keeps each answer as it comes."""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentkit.decisions import Usage, Verdict
from agentkit.journal import Journal
from agentkit.judges.screening.candidates import Candidate
from agentkit.trajectory import Trajectory, trajectory_to_dict
from agentkit.verdicts import call_judge_all

logger = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class Answers:
    """What one candidate said about one trajectory."""

    candidate: str
    identity: str
    """The candidate's `Candidate.identity`."""
    trajectory: str
    """The trajectory's `trajectory_digest`."""
    reversed: bool = False
    """Whether the options stood in the other order."""
    verdicts: tuple[Verdict, ...]
    """One a step."""
    seconds: float = attrs.field(validator=attrs.validators.ge(0.0))
    """Wall-clock time that it took."""
    usage: Usage = attrs.field(factory=Usage)


Key: TypeAlias = tuple[str, str, bool]
"""Candidate, trajectory digest, whether the options stood in the other order."""
Progress: TypeAlias = Callable[[int, int], Any]
"""``progress(done, total)``, in answers."""


def trajectory_digest(trajectory: Trajectory) -> str:
    """A digest of what happened in an episode; what judges, gates and trainers said about it does not count."""
    steps = [attrs.evolve(s, scores={}, role=None, advantage=None, shaped_reward=None) for s in trajectory.steps]
    values = trajectory_to_dict(attrs.evolve(trajectory, steps=steps))
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode("ascii")).hexdigest()[:16]


def ask_all(
    candidates: Sequence[Candidate],
    trajectories: Sequence[Trajectory],
    journal: Journal[Answers] | None = None,
    *,
    reversals: int = 0,
    batch_size: int = 1,
    retry_unscored: bool = False,
    progress: Progress | None = None,
) -> dict[Key, Answers]:
    """One answer for each candidate and trajectory, from the journal where it is there.

    Args:
        candidates: who is asked. A batch goes to all of them before the next one does, so that all have been asked
            about the same trajectories whenever the work is interrupted.
        trajectories: what about.
        journal: where answers are kept.
        reversals: how many of the trajectories are asked about a second time, with the options reversed.
        batch_size: how many trajectories go into one call of a judge.
        retry_unscored: ask again where the journal holds an answer with unscored steps.
        progress: called after each batch.

    Raises:
        ValueError: the journal holds answers of other candidates of the same name, or none about these trajectories.
    """
    digests = [trajectory_digest(trajectory) for trajectory in trajectories]
    known = {} if journal is None else _known(journal, candidates, digests, retry_unscored)
    jobs = list(_jobs(candidates, digests, reversals, batch_size))
    done, total = 0, sum(len(numbers) for _, _, numbers in jobs)
    for candidate, turned, numbers in jobs:
        missing = {digests[n]: trajectories[n] for n in numbers if (candidate.name, digests[n], turned) not in known}
        for answers in _ask(candidate, missing, turned) if missing else ():
            known[answers.candidate, answers.trajectory, answers.reversed] = answers
            if journal is not None:
                journal.add(answers)
        done += len(numbers)
        if progress is not None:
            progress(done, total)
    return known


def _jobs(
    candidates: Sequence[Candidate], digests: Sequence[str], reversals: int, batch_size: int
) -> Iterator[tuple[Candidate, bool, Sequence[int]]]:
    """Who is asked, in which order of the options, about which trajectories."""
    for start in range(0, len(digests), batch_size):
        numbers = range(start, min(start + batch_size, len(digests)))
        for candidate in candidates:
            yield candidate, False, numbers
            turned = [number for number in numbers if number < reversals]
            if turned and candidate.reversed_judge is not None:
                yield candidate, True, turned


def _ask(candidate: Candidate, trajectories: Mapping[str, Trajectory], turned: bool) -> list[Answers]:
    """The answers to one call; its time is divided by steps, and its usage stands with the first."""
    judge = candidate.reversed_judge if turned and candidate.reversed_judge is not None else candidate.judge
    before = candidate.meter.usage() if candidate.meter is not None else Usage()
    start = time.perf_counter()
    found = call_judge_all(judge, list(trajectories.values()))
    seconds = time.perf_counter() - start
    used = _difference(candidate.meter.usage(), before) if candidate.meter is not None else Usage()
    steps = max(1, sum(map(len, found)))
    return [
        Answers(
            candidate=candidate.name,
            identity=candidate.identity,
            trajectory=digest,
            reversed=turned,
            verdicts=verdicts,
            seconds=seconds * len(verdicts) / steps,
            usage=used if number == 0 else Usage(),
        )
        for number, (digest, verdicts) in enumerate(zip(trajectories, found, strict=True))
    ]


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        after.input_tokens - before.input_tokens,
        after.output_tokens - before.output_tokens,
        after.requests - before.requests,
    )


def _known(
    journal: Journal[Answers], candidates: Sequence[Candidate], digests: Sequence[str], retry_unscored: bool
) -> dict[Key, Answers]:
    """The answers of the journal that belong here."""
    identities = {candidate.name: candidate.identity for candidate in candidates}
    entries = journal.entries()
    for entry in entries:
        if identities.get(entry.candidate, entry.identity) != entry.identity:
            raise ValueError(
                f"{journal.path} holds scores of {entry.candidate!r} by another model, with another prompt or other "
                "settings; choose another folder, delete the file, or give the judge another name"
            )
    ours = [entry for entry in entries if entry.trajectory in set(digests)]
    if entries and not ours:
        raise ValueError(f"{journal.path} holds scores of other trajectories only; choose another folder or delete it")
    if len(ours) < len(entries):
        logger.info(
            "%s: %d of %d answers are about other trajectories", journal.path, len(entries) - len(ours), len(entries)
        )
    complete = [entry for entry in ours if not (retry_unscored and any(v.score is None for v in entry.verdicts))]
    return {(entry.candidate, entry.trajectory, entry.reversed): entry for entry in complete}
