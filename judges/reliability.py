"""How far a role judge can be trusted: against recorded (oracle or audited) roles, and against another judge."""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs
import numpy as np

from agentkit.judges.prompts import ROLES
from agentkit.tables import text_table
from agentkit.trajectory import Trajectory
from agentkit.verdicts import Failure, answers_of

RoleColumns: TypeAlias = Sequence[Sequence[str | None]]
"""G lists of T_i role names; None where there is none."""
ABSTAINED = "abstained"


def judge_roles(
    judge: Callable[[Trajectory], Sequence[str | None]], trajectories: Sequence[Trajectory]
) -> list[list[str | None]]:
    """What a role judge says about each step of each trajectory, in one batch where it can; None where it failed.

    Raises:
        ValueError: it gave a trajectory another number of roles than it has steps.
    """
    columns = []
    for trajectory, answer in zip(trajectories, answers_of(judge, trajectories), strict=True):
        column = [None] * len(trajectory) if isinstance(answer, Failure) else list(answer)
        if len(column) != len(trajectory):
            raise ValueError(f"the judge gave {len(column)} roles for {len(trajectory)} steps; it must give one a step")
        columns.append(column)
    return columns


@attrs.frozen(kw_only=True, eq=False)
class RoleReliability:
    """How a judge's roles compare with the true ones, over the steps whose true role is known."""

    roles: tuple[str, ...]
    confusion: np.ndarray
    """Int of shape (K, K + 1): steps by true role (rows) and judged role, the last column for abstentions."""
    confusion_in_successes: np.ndarray
    """The same for the steps of won episodes only."""
    untyped: int
    """Steps without a true role, which count nowhere else."""

    @property
    def steps(self) -> int:
        """Steps with a true role."""
        return int(self.confusion.sum())

    @property
    def abstentions(self) -> int:
        """Steps with a true role that the judge did not type."""
        return int(self.confusion[:, -1].sum())

    @property
    def accuracy(self) -> float:
        """The share of steps typed right; an abstention is not. NaN without steps."""
        return float(np.trace(self.confusion[:, :-1])) / self.steps if self.steps else math.nan

    @property
    def f1(self) -> dict[str, float]:
        """F1 = 2 TP / (2 TP + FP + FN) of each role; an abstention misses (FN). NaN for a role that neither has."""
        return dict(zip(self.roles, _f1(self.confusion), strict=True))

    @property
    def f1_in_successes(self) -> dict[str, float]:
        """`f1` over the steps of won episodes."""
        return dict(zip(self.roles, _f1(self.confusion_in_successes), strict=True))

    @property
    def regression_in_successes(self) -> float:
        """F1 of regression inside successes, the figure on which most of TRIAGE's gain rests (86.1 %, seeds/002)."""
        return self.f1_in_successes["regression"]

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the roles that have one."""
        values = [value for value in self.f1.values() if not math.isnan(value)]
        return float(np.mean(values)) if values else math.nan

    def table(self) -> str:
        """The confusion matrix with precision, recall and F1 of each role, and the totals below, as plain text."""
        header = ["true \\ judged", *self.roles, ABSTAINED, "precision", "recall", "F1", "F1 in successes"]
        precision, recall = _precision(self.confusion), _recall(self.confusion)
        rows = [
            [
                role,
                *map(str, self.confusion[k]),
                *map(_percent, (precision[k], recall[k], self.f1[role], self.f1_in_successes[role])),
            ]
            for k, role in enumerate(self.roles)
        ]
        totals = (
            f"{self.steps} steps, {self.abstentions} abstentions, {self.untyped} without a true role; "
            f"accuracy {_percent(self.accuracy)}, macro F1 {_percent(self.macro_f1)}, "
            f"F1 of regression inside successes {_percent(self.regression_in_successes)}"
        )
        return f"{text_table(header, rows)}\n{totals}"


def role_reliability(
    trajectories: Sequence[Trajectory], judged: RoleColumns, truth: RoleColumns | None = None
) -> RoleReliability:
    """Compare judged roles with true ones.

    Args:
        trajectories: the episodes; ``won`` says which are successes.
        judged: a role judge's answers, of `judge_roles`; None = it abstained.
        truth: audited roles; None = those recorded in the steps, as `OracleRoles` gives them.

    Raises:
        ValueError: the numbers of episodes or steps differ, or a role is unknown.
    """
    if truth is None:
        truth = [[step.role for step in trajectory.steps] for trajectory in trajectories]
    _check_shapes("judged", judged, [len(trajectory) for trajectory in trajectories])
    _check_shapes("truth", truth, [len(trajectory) for trajectory in trajectories])
    won = [trajectory.won for trajectory in trajectories for _ in trajectory.steps]
    pairs = [pair for columns in zip(truth, judged, strict=True) for pair in zip(*columns, strict=True)]
    return RoleReliability(
        roles=ROLES,
        confusion=_confusion(pairs),
        confusion_in_successes=_confusion([pair for pair, success in zip(pairs, won, strict=True) if success]),
        untyped=sum(true is None for true, _ in pairs),
    )


@attrs.frozen(kw_only=True)
class Agreement:
    """How far two judges agree, over the steps that both typed."""

    steps: int
    """Steps that both typed."""
    abstentions: tuple[int, int]
    """Steps that the first, and the second, did not type."""
    raw: float
    """The share of the steps on which they agree; NaN without steps."""
    kappa: float
    """Cohen's kappa; NaN without steps, or when chance alone would make them agree always."""

    def table(self) -> str:
        """The figures on one line."""
        kappa = "-" if math.isnan(self.kappa) else f"{self.kappa:.3f}"
        first, second = self.abstentions
        return f"agreement {_percent(self.raw)}, kappa {kappa} on {self.steps} steps; abstentions {first} and {second}"


def role_agreement(first: RoleColumns, second: RoleColumns) -> Agreement:
    """Raw agreement p_o and Cohen's kappa (p_o - p_e) / (1 - p_e) of two judges (Cohen 1960).

    p_e is the agreement of two judges who draw independently, each from its own shares of the roles.

    Raises:
        ValueError: the numbers of episodes or steps differ, or a role is unknown.

    >>> role_agreement([["decisive", "regression"]], [["decisive", "no-progress"]]).raw
    0.5
    """
    _check_shapes("second", second, [len(column) for column in first])
    pairs = [pair for columns in zip(first, second, strict=True) for pair in zip(*columns, strict=True)]
    abstentions = (sum(a is None for a, _ in pairs), sum(b is None for _, b in pairs))
    matrix = _confusion(pairs)[:, :-1]
    total = int(matrix.sum())
    if not total:
        return Agreement(steps=0, abstentions=abstentions, raw=math.nan, kappa=math.nan)
    raw = float(np.trace(matrix)) / total
    chance = float(matrix.sum(axis=1) @ matrix.sum(axis=0)) / total**2
    kappa = (raw - chance) / (1 - chance) if chance < 1 else math.nan
    return Agreement(steps=total, abstentions=abstentions, raw=raw, kappa=kappa)


def _confusion(pairs: Sequence[tuple[str | None, str | None]]) -> np.ndarray:
    """Counts, int of shape (K, K + 1), of the pairs whose first role is known."""
    counts = np.zeros((len(ROLES), len(ROLES) + 1), dtype=np.int64)
    for true, judged in pairs:
        for role in (true, judged):
            if role is not None and role not in ROLES:
                raise ValueError(f"unknown role {role!r}; known roles are {', '.join(ROLES)} or None")
        if true is not None:
            counts[ROLES.index(true), len(ROLES) if judged is None else ROLES.index(judged)] += 1
    return counts


def _check_shapes(name: str, columns: RoleColumns, sizes: Sequence[int]) -> None:
    found = [len(column) for column in columns]
    if found != list(sizes):
        raise ValueError(f"{name} has {found} roles by episode, expected {list(sizes)}; give one a step")


def _precision(confusion: np.ndarray) -> np.ndarray:
    return _share(np.diag(confusion), confusion[:, :-1].sum(axis=0))


def _recall(confusion: np.ndarray) -> np.ndarray:
    return _share(np.diag(confusion), confusion.sum(axis=1))


def _f1(confusion: np.ndarray) -> list[float]:
    hits = np.diag(confusion)
    return _share(2 * hits, confusion[:, :-1].sum(axis=0) + confusion.sum(axis=1)).tolist()


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """``part / whole``, NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(len(part), math.nan), where=whole > 0)


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"
