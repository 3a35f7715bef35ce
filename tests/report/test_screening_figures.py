"""The figures of screenings and diagnoses show what the results say."""

import matplotlib.figure
import numpy as np
import pytest

pytest.importorskip("matplotlib")

from agentkit.actors import RandomActor
from agentkit.diagnosis import DiagnosticState, diagnose
from agentkit.judges import OracleJudge, StepJudge, screen
from agentkit.report.diagnosis import mass_figure
from agentkit.report.screening import (
    gap_figure,
    on_top_figure,
    telling_episode,
    visibility_heatmap,
    visibility_panels,
)
from agentkit.testing import ScriptedModel
from agentkit.trajectory import Step, Trajectory


def episode(kinds, won=True):
    steps = [
        Step(
            observation=f"seen {t}",
            action=f"act {t}",
            reward=0.0,
            milestones=("placed",) if kind == "m" else (),
            state_changed=kind != "n",
        )
        for t, kind in enumerate(kinds)
    ]
    return Trajectory(goal="heat the mug", steps=steps, won=won)


@pytest.fixture(scope="module")
def screening():
    judges = {"model": StepJudge(ScriptedModel({"Consider step 2": 0.9, "": 0.25})), "oracle": OracleJudge()}
    episodes = [episode("omn"), episode("onomo", won=False)]
    return screen(episodes, judges, contexts=["prefix", 0.5, "hindsight"], questions=["progress", "value"], edges=(4,))


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved."""
    figures = []
    save = matplotlib.figure.Figure.savefig

    def keep(figure, *arguments, **options):
        figures.append(figure)
        return save(figure, *arguments, **options)

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", keep)
    return figures


def test_the_gap_figure_has_a_bar_for_each_query_as_long_as_its_gap(screening, drawn, tmp_path):
    target = gap_figure(tmp_path / "figures" / "gap.png", screening)
    assert target.read_bytes().startswith(b"\x89PNG")
    axis = drawn[0].axes[0]
    assert [bar.get_width() for bar in axis.patches] == [m.gap.estimate for m in screening.measures]
    assert [label.get_text() for label in axis.get_yticklabels()][-1] == "oracle (truth)"


def test_milestones_on_top_are_drawn_by_length_beside_chance(screening, drawn, tmp_path):
    on_top_figure(tmp_path / "on_top.png", screening)
    lines = {line.get_label(): line.get_ydata() for line in drawn[0].axes[0].lines}
    assert list(lines["oracle (truth)"]) == [1.0, 1.0]
    assert list(lines["chance"]) == pytest.approx([1 / 3, 1 / 5])
    assert len(lines) == 8


def test_the_heatmap_has_contexts_as_rows_and_steps_as_columns(screening, drawn, tmp_path):
    panels = visibility_panels(screening)
    assert panels == {
        "model: progress": {c: f"model/{c}-progress" for c in ("prefix", "0.5", "hindsight")},
        "model: value": {c: f"model/{c}-value" for c in ("prefix", "0.5", "hindsight")},
        "judges without a context": {"oracle": "oracle"},
    }
    visibility_heatmap(tmp_path / "heatmap.png", screening.scored[0], panels)
    first = drawn[0].axes[0]
    np.testing.assert_allclose(first.images[0].get_array(), [[0.25, 0.9, 0.25]] * 3)
    assert [label.get_text() for label in first.get_yticklabels()] == ["prefix", "0.5", "hindsight"]
    last = drawn[0].axes[2]
    assert [label.get_text() for label in last.get_xticklabels()] == ["1 act 0", "● 2 act 1", "× 3 act 2"]


def test_the_episode_that_shows_most_is_won_idle_at_times_and_has_a_detour():
    plain, idle, detour, long = episode("om"), episode("omn"), episode("omnom"), episode("omnom" * 5)
    lost = episode("omnom", won=False)
    assert telling_episode([plain, idle, detour, long, lost]) is detour
    with pytest.raises(ValueError, match="no episode to show"):
        telling_episode([])


def test_the_bars_of_a_diagnosis_are_its_masses(drawn, tmp_path):
    state = DiagnosticState(
        task_id="t",
        change="heat",
        goal="put a hot mug in shelf.",
        goal_without_placement="heat some mug.",
        past=(),
        observation="",
        admissible_actions=("go to microwave 1", "look", "inventory", "move mug 1 to shelf 1"),
        required=("go to microwave 1",),
        placing=("move mug 1 to shelf 1",),
    )
    mass_figure(tmp_path / "mass.png", diagnose([state], {"random": RandomActor(0)}))
    widths = [bar.get_width() for bar in drawn[0].axes[0].patches]
    assert widths == pytest.approx([0.25, 0.25, 0.25, 0.25, 0.5, 0.5])


def test_nothing_to_draw_is_an_error(tmp_path):
    unscored = screen([episode("omn")], {"silent": lambda trajectory: [None] * len(trajectory)})
    with pytest.raises(ValueError, match="no query has a gap"):
        gap_figure(tmp_path / "a.png", unscored)
    with pytest.raises(ValueError, match="none scored a milestone"):
        on_top_figure(tmp_path / "a.png", unscored)
    with pytest.raises(ValueError, match="an episode with steps"):
        visibility_heatmap(tmp_path / "a.png", Trajectory(goal="", steps=[]), {"panel": {"row": "judge"}})
    assert list(tmp_path.iterdir()) == []
