"""Recorded episodes as `DecisionExample`\\ s, asked in the very words that judges and actors use at test time."""

import logging
import os
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from agentkit.actors import ConstrainedReadoutActor
from agentkit.decisions import Query, Verdict
from agentkit.trainers.decisions.examples import DecisionExample
from agentkit.trajectory import Trajectory, load_trajectories
from agentkit.verdicts import Judge, call_judge

logger = logging.getLogger(__name__)

Episodes: TypeAlias = Sequence[Trajectory] | str | os.PathLike[str]
"""Recorded episodes, or their JSONL file."""


class AsksAboutSteps(Protocol):
    """A judge that words one question a step, such as `StepJudge` or `RoleJudge`; its model is not asked."""

    def queries(self, trajectory: Trajectory) -> Sequence[Query]:
        """T questions."""
        ...


def judge_examples(trajectories: Episodes, judge: AsksAboutSteps, teacher: str | Judge) -> list[DecisionExample]:
    """A judge's questions about every step, each with the teacher's score s as P(yes): the soft label (s, 1 - s).

    Args:
        trajectories: recorded episodes, or their file.
        judge: the judge whose model is to be trained.
        teacher: a judge such as ``OracleJudge()``, or the name under which scores stand in the steps.

    Steps that the teacher left unscored teach nothing; they are left out and counted in the log.
    """
    examples, unscored = [], 0
    for trajectory in _episodes(trajectories):
        for query, verdict in zip(judge.queries(trajectory), _verdicts(trajectory, teacher), strict=True):
            if verdict is None or verdict.score is None:
                unscored += 1
            else:
                target = (verdict.score, 1 - verdict.score)
                examples.append(DecisionExample(query, target, _group(trajectory)))
    _report(unscored, "steps are unscored")
    return examples


def outcome_examples(trajectories: Episodes, judge: AsksAboutSteps) -> list[DecisionExample]:
    """A value judge's questions ("will the task succeed?") about every step, labelled with how the episode ended."""
    return [
        DecisionExample(query, (float(trajectory.won), float(not trajectory.won)), _group(trajectory))
        for trajectory in _episodes(trajectories)
        for query in judge.queries(trajectory)
    ]


def role_examples(trajectories: Episodes, judge: AsksAboutSteps) -> list[DecisionExample]:
    """A role judge's questions about every step, labelled with the roles that stand in the steps.

    Args:
        trajectories: recorded episodes whose steps have roles, such as ALFWorld's with ``oracle_roles=True``.
        judge: the role judge whose model is to be trained.

    Steps without a role are left out and counted in the log.
    """
    examples, untyped = [], 0
    for trajectory in _episodes(trajectories):
        for query, step in zip(judge.queries(trajectory), trajectory.steps, strict=True):
            if step.role is None:
                untyped += 1
            else:
                examples.append(DecisionExample(query, step.role, _group(trajectory)))
    _report(untyped, "steps have no role")
    return examples


def decider_examples(trajectories: Episodes, history: int = 4, only_won: bool = True) -> list[DecisionExample]:
    """An actor's question at every step, labelled with the action that the (expert) trajectory took.

    The question is that of ``ConstrainedReadoutActor(model, history=history)``. Steps that left no choice, and those
    whose action is not among the admissible ones (open-ended actions), are left out and counted in the log.
    """
    examples, left_out = [], 0
    for trajectory in _episodes(trajectories):
        if only_won and not trajectory.won:
            continue
        asking = ConstrainedReadoutActor(_no_model, history=history)
        for step in trajectory.steps:
            actions = tuple(dict.fromkeys(step.admissible_actions))
            if len(actions) > 1 and step.action in actions:
                query = asking.query(step.observation, {"goal": trajectory.goal, "admissible_actions": actions})
                examples.append(DecisionExample(query, step.action, _group(trajectory)))
            else:
                left_out += 1
            asking.observe(step.observation, {}, step.action)
    _report(left_out, "steps left no choice among listed actions")
    return examples


def _episodes(source: Episodes) -> Sequence[Trajectory]:
    return load_trajectories(source) if isinstance(source, (str, os.PathLike)) else source


def _verdicts(trajectory: Trajectory, teacher: str | Judge) -> Sequence[Verdict | None]:
    if isinstance(teacher, str):
        return [step.scores.get(teacher) for step in trajectory.steps]
    return call_judge(teacher, trajectory)


def _group(trajectory: Trajectory) -> str:
    return trajectory.task_id or trajectory.goal


def _no_model(queries: Sequence[Query]) -> Any:
    raise RuntimeError("the actor only words the questions")


def _report(count: int, why: str) -> None:
    if count:
        logger.warning("%d %s; they make no examples", count, why)
