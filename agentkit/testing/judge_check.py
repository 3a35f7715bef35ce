"""`check_judge`: does a judge answer as the wrappers need it?"""

import copy
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import attrs

from agentkit.decisions import Verdict
from agentkit.episode import EpisodeBuilder
from agentkit.testing.playing import ensure
from agentkit.testing.scripted_env import ScriptedEnv
from agentkit.trajectory import Trajectory
from agentkit.verdicts import as_verdict, as_verdicts, is_online, judge_name

PLANS: tuple[tuple[str, ...], ...] = (
    ("look",),
    ("take key", "unlock chest", "take gem"),
    ("dance", "take key", "drop key", "look", "take key", "unlock chest", "lock chest", "look"),
)
"""Action sequences for `ScriptedEnv`: one step, a win, and one with no-ops and regressions that wins nothing."""


def sample_trajectories() -> tuple[Trajectory, ...]:
    """Episodes that judges must cope with: short, won, unfinished, with no-ops, open-ended, not in ASCII."""
    episodes = [_play(plan) for plan in PLANS]
    other = attrs.evolve(
        episodes[1],
        goal="hol den Schlüssel – «schnell» 🗝",
        steps=[attrs.evolve(s, admissible_actions=(), feedback="", state_changed=None) for s in episodes[1].steps],
    )
    return (*episodes, other)


def _play(plan: Sequence[str]) -> Trajectory:
    env = ScriptedEnv()
    observation, info = env.reset(seed=0)
    episode = EpisodeBuilder(observation, info, seed=0)
    for action in plan:
        episode.add(action, *env.step(action))
    return episode.trajectory()


def check_judge(
    judge: Any,
    trajectories: Iterable[Trajectory] | None = None,
    *,
    roles: Collection[str] | None = None,
    tolerance: float = 1e-3,
) -> None:
    """Raise AssertionError, with one sentence, for the first thing that ``judge(trajectory)`` does wrong.

    Checked: one answer a step, each a number in [0, 1], None or a `Verdict` (with ``roles``: one of these names, or
    None); the trajectory is left as it was; a judge whose ``context`` is "prefix" or "prefix+feedback" does not look
    ahead, that is, a step's score stays the same when later steps are taken away; ``judge_all``, ``score_last`` and
    ``score_last_all``, where it has them, agree with what it says about each trajectory alone.

    Args:
        judge: the judge.
        trajectories: what to judge; None = `sample_trajectories`.
        roles: the names that a role judge answers with; None = it answers with scores.
        tolerance: by how much two scores of the same step may differ (batches round differently).

    >>> check_judge(lambda trajectory: [0.5] * len(trajectory))
    """
    ensure(callable(judge), f"a judge must be callable as judge(trajectory), got {judge!r}")
    name = judge_name(judge)
    samples = sample_trajectories() if trajectories is None else tuple(trajectories)
    columns: list[Sequence[Any]] = []
    for number, trajectory in enumerate(samples):
        where = f"judge {name!r}, trajectory {number} ({len(trajectory)} steps)"
        before = copy.deepcopy(trajectory)
        answers = _answers(judge, trajectory, where)
        ensure(trajectory == before, f"{where}: the judge changed the trajectory that it judged")
        if roles is not None:
            columns.append(_roles(answers, trajectory, roles, where))
            continue
        verdicts = _verdicts(answers, trajectory, where)
        columns.append(verdicts)
        if is_online(judge):
            _check_no_look_ahead(judge, trajectory, verdicts, where, tolerance)
        if hasattr(judge, "score_last"):
            last = as_verdict(judge.score_last(trajectory))
            _check_close(last, verdicts[-1], f"{where}: score_last and the last of all scores", tolerance)
    _check_batches(judge, name, samples, columns, roles, tolerance)


def _answers(ask: Callable[[Any], Any], asked: Any, where: str) -> Any:
    try:
        return ask(asked)
    except Exception as error:
        raise AssertionError(f"{where}: the judge raised {error!r}") from error


def _verdicts(answers: Any, trajectory: Trajectory, where: str) -> tuple[Verdict, ...]:
    try:
        return as_verdicts(answers, len(trajectory), where)
    except (TypeError, ValueError) as error:
        raise AssertionError(str(error)) from error


def _roles(answers: Any, trajectory: Trajectory, roles: Collection[str], where: str) -> list[str | None]:
    names = list(answers)
    ensure(len(names) == len(trajectory), f"{where}: {len(names)} roles; return one a step")
    for t, role in enumerate(names):
        ensure(role is None or role in roles, f"{where}, step {t}: {role!r} is none of {', '.join(roles)}, nor None")
    return names


def _check_no_look_ahead(
    judge: Any, trajectory: Trajectory, verdicts: Sequence[Verdict], where: str, tolerance: float
) -> None:
    for t in range(len(trajectory) - 1):
        steps, seen = trajectory.steps[: t + 1], trajectory.steps[t].feedback
        prefix = attrs.evolve(trajectory, steps=steps, final_observation=seen, terminated=False, won=False)
        verdict = _verdicts(_answers(judge, prefix, where), prefix, where)[-1]
        _check_close(verdict, verdicts[t], f"{where}, step {t}: the score without and with the later steps", tolerance)


def _check_batches(
    judge: Any,
    name: str,
    trajectories: Sequence[Trajectory],
    columns: Sequence[Sequence[Any]],
    roles: Collection[str] | None,
    tolerance: float,
) -> None:
    """A batch is answered as its trajectories are one by one."""
    if hasattr(judge, "judge_all"):
        found = _answers(judge.judge_all, trajectories, f"judge {name!r}, judge_all")
        ensure(len(found) == len(columns), f"judge {name!r}: judge_all gave {len(found)} answers for {len(columns)}")
        for i, (answers, column) in enumerate(zip(found, columns, strict=True)):
            where = f"judge {name!r}, trajectory {i}: judge_all"
            if roles is not None:
                ensure(list(answers) == list(column), f"{where} says {list(answers)}, but alone it is {list(column)}")
                continue
            for verdict, alone in zip(_verdicts(answers, trajectories[i], where), column, strict=True):
                _check_close(verdict, alone, f"{where} and the scores of it alone", tolerance)
    if hasattr(judge, "score_last_all"):
        for i, score in enumerate(_answers(judge.score_last_all, trajectories, f"judge {name!r}, score_last_all")):
            where = f"judge {name!r}, trajectory {i}: score_last_all and the last of all scores"
            _check_close(as_verdict(score), columns[i][-1], where, tolerance)


def _check_close(a: Verdict, b: Verdict, what: str, tolerance: float) -> None:
    close = a.score is b.score if a.score is None or b.score is None else abs(a.score - b.score) <= tolerance
    ensure(close, f"{what} differ: {a.score} and {b.score}")
