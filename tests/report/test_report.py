"""The page and the heatmap say what the trajectories say."""

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from agentkit.decisions import Verdict
from agentkit.report import score_heatmap, write_page
from agentkit.trajectory import Step, Trajectory


def episode():
    steps = [
        Step(
            observation="<script>alert(1)</script>",
            action="take key",
            reward=0.0,
            raw_reward=0.25,
            scores={"judge": Verdict(0.9)},
            role="decisive",
            advantage=0.125,
            milestones=("take",),
            state_changed=True,
        ),
        Step(
            observation="hall",
            action="look",
            reward=1.0,
            scores={"judge": Verdict.no_score("time-out")},
            advantage=-0.5,
            state_changed=False,
        ),
    ]
    return Trajectory(goal="open the chest", steps=steps, final_observation="the end", won=True, terminated=True)


def test_every_step_shows_its_signals_and_text_cannot_become_markup(tmp_path):
    page = write_page(tmp_path / "page.html", {"Played": [episode()]}, summary={"loss": "0.1"}).read_text("utf-8")
    for text in ("open the chest", "take key", "0.25", "0.90", "decisive", "+0.125", "-0.500", "no-op", "the end"):
        assert text in page
    assert "<script>" not in page
    assert 'title="time-out"' in page
    assert "http" not in page


def test_a_shop_page_has_a_line_for_each_part(tmp_path):
    step = Step(observation="WebShop [SEP] Instruction: [SEP] a chair", action="click[search]", reward=0.0)
    page = write_page(tmp_path / "p.html", {"": [Trajectory(goal="", steps=[step])]}).read_text("utf-8")
    assert "WebShop\nInstruction:\na chair" in page


def test_the_heatmap_is_a_png_for_episodes_of_unequal_length(tmp_path):
    short = Trajectory(goal="", steps=episode().steps[:1])
    target = score_heatmap(tmp_path / "scores.png", [episode(), short], ["judge"])
    assert target.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["scores.png"]


def test_nothing_to_draw_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="at least one trajectory and one judge"):
        score_heatmap(tmp_path / "scores.png", [], ["judge"])
