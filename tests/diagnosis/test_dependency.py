"""Success with and without a dependency, in the paper's columns."""

import pytest

from agentkit.diagnosis import success_by_dependency
from agentkit.diagnosis.dependency import COLUMNS
from agentkit.trajectory import Step, Trajectory

PICK, LOOK, PICK2, CLEAN, HEAT, COOL = COLUMNS.values()


def played(task_type: str, won: bool) -> Trajectory:
    return Trajectory(goal="", steps=[Step(observation="", action="a", reward=1.0)], task_type=task_type, won=won)


EPISODES = [played(PICK, True), played(PICK2, False), played(HEAT, False), played(HEAT, True), played(COOL, False)]


def test_the_columns_add_up() -> None:
    table = success_by_dependency({"actor": EPISODES})
    results = {column: table.result("actor", column) for column in (*COLUMNS, "without", "with", "All")}
    counts = {column: (r.won, r.episodes) for column, r in results.items() if r is not None}
    assert counts == {
        "Pick": (1, 1),
        "Pick2": (0, 1),
        "Heat": (1, 2),
        "Cool": (0, 1),
        "without": (1, 2),
        "with": (1, 3),
        "All": (2, 5),
    }


def test_the_table_has_a_row_an_actor_and_a_dash_where_nothing_was_played() -> None:
    table = success_by_dependency({"a": EPISODES, "b": EPISODES[:1]})
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.markdown().splitlines()]
    assert rows[0] == ["actor", "Pick", "Look", "Pick2", "no dependency", "Clean", "Heat", "Cool", "dependency", "All"]
    assert rows[2] == [
        *("a", "100.0% (1/1)", "-", "0.0% (0/1)", "50.0% (1/2)", "-"),
        *("50.0% (1/2)", "0.0% (0/1)", "33.3% (1/3)", "40.0% (2/5)"),
    ]
    assert rows[3][1:] == ["100.0% (1/1)", "-", "-", "100.0% (1/1)", "-", "-", "-", "-", "100.0% (1/1)"]
    assert table.table().splitlines()[0].split()[:2] == ["actor", "Pick"]


def test_a_task_of_no_known_type_counts_among_all_only() -> None:
    table = success_by_dependency({"a": [*EPISODES, played("", True)]})
    results = [table.result("a", column) for column in ("without", "with", "All")]
    assert [r.episodes for r in results if r is not None] == [2, 3, 6]


def test_an_actor_without_episodes_is_named() -> None:
    with pytest.raises(ValueError, match="actor 'idle' has no episodes"):
        success_by_dependency({"idle": []})
