"""Success rates as a picture."""

import pytest

pytest.importorskip("matplotlib")

from agentkit.report.success import success_bars


def test_a_picture_is_written_whole(tmp_path):
    path = success_bars(tmp_path / "new" / "success.png", {"a": (0.5, 0.3, 0.7), "b": (0.0, 0.0, 0.2)})
    assert path.read_bytes().startswith(b"\x89PNG")
    assert list(path.parent.iterdir()) == [path]


def test_nothing_to_draw(tmp_path):
    with pytest.raises(ValueError, match="at least one rate"):
        success_bars(tmp_path / "success.png", {})
