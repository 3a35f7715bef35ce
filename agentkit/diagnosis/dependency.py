"""Success by task type, with and without a dependency between the sub-goals."""

from collections.abc import Mapping, Sequence

import attrs

from agentkit.diagnosis.states import DEPENDENT_TASK_TYPES
from agentkit.evaluation import Evaluation, Result, summarise
from agentkit.tables import Row, markdown_table, text_table
from agentkit.trajectory import Trajectory

COLUMNS = {
    "Pick": "pick_and_place_simple",
    "Look": "look_at_obj_in_light",
    "Pick2": "pick_two_obj_and_place",
    "Clean": "pick_clean_then_place_in_recep",
    "Heat": "pick_heat_then_place_in_recep",
    "Cool": "pick_cool_then_place_in_recep",
}
"""The paper's column -> ALFWorld's task type: three without dependency, then three with."""


@attrs.frozen
class SuccessTable:
    """Success of some actors in the columns of the paper's table (seeds/000, "Actor success on ALFWorld")."""

    evaluations: dict[str, Evaluation] = attrs.field(converter=dict)
    """Actor -> its episodes."""

    def result(self, actor: str, column: str) -> Result | None:
        """Success of an actor in a column ("Heat", "without", "with" or "All"); None where it has no such episode.

        Raises:
            KeyError: there is no such actor or column.
        """
        episodes = [t for t in self.evaluations[actor].trajectories if _belongs(t, column)]
        return summarise(episodes) if episodes else None

    def table(self) -> str:
        """Plain text: a row an actor; each cell is the success and how many were won of how many."""
        return text_table(*self._rows())

    def markdown(self) -> str:
        """The same for a page."""
        return markdown_table(*self._rows()) + "\n"

    def _rows(self) -> tuple[Row, list[Row]]:
        names = list(COLUMNS)
        columns = [*names[:3], "without", *names[3:], "with", "All"]
        labels = {"without": "no dependency", "with": "dependency"}
        rows: list[Row] = [
            [actor, *(_cell(self.result(actor, column)) for column in columns)] for actor in self.evaluations
        ]
        return ["actor", *(labels.get(column, column) for column in columns)], rows


def success_by_dependency(episodes: Mapping[str, Sequence[Trajectory]]) -> SuccessTable:
    """The table of some actors' episodes of ALFWorld tasks.

    Raises:
        ValueError: an actor has no episodes.
    """
    for actor, played in episodes.items():
        if not played:
            raise ValueError(f"actor {actor!r} has no episodes; leave it out or let it play")
    return SuccessTable({actor: Evaluation(trajectories=played) for actor, played in episodes.items()})


def _belongs(trajectory: Trajectory, column: str) -> bool:
    if column == "All":
        return True
    if column in ("with", "without"):
        return trajectory.task_type in COLUMNS.values() and (
            (trajectory.task_type in DEPENDENT_TASK_TYPES) == (column == "with")
        )
    return trajectory.task_type == COLUMNS[column]


def _cell(result: Result | None) -> str:
    return "-" if result is None else f"{result.success:.1%} ({result.won}/{result.episodes})"
