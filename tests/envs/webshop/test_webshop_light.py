"""What the package loads, what it says when an extra is missing, and what stays bounded."""

import subprocess
import sys

import pytest

from agentkit.envs.webshop import WebShopEnv, analysis, reward
from agentkit.envs.webshop.nouns import RememberedNouns, SpacyNouns


def test_import_loads_nothing_heavy() -> None:
    heavy = {"regex", "Stemmer", "rapidfuzz", "spacy", "torch"}
    code = f"import sys, agentkit.envs.webshop; print(sorted({heavy!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(("module", "function"), [("regex", analysis.analyzer), ("Stemmer", analysis.analyzer)])
def test_a_missing_extra_has_its_pip_line(monkeypatch: pytest.MonkeyPatch, module: str, function) -> None:
    function.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "gym-agentkit\[webshop\]"'):
        function()


def test_fuzzy_matching_names_its_extra_too(monkeypatch: pytest.MonkeyPatch) -> None:
    reward._token_set_ratio.cache_clear()
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    monkeypatch.delitem(sys.modules, "rapidfuzz.fuzz", raising=False)
    with pytest.raises(ImportError, match="webshop"):
        reward.fuzzy_match("a", "b")
    reward._token_set_ratio.cache_clear()


class _CountingSpacy(SpacyNouns):
    """Stands for spaCy: nouns are words, and titles found are counted."""

    def __init__(self) -> None:
        self.name, self.found = "counting", 0

    def __call__(self, title: str) -> tuple[str, ...]:
        self.found += 1
        return tuple(title.split())

    def pipe(self, titles):
        return map(self, titles)


def test_spacys_nouns_are_found_once_and_kept(tmp_path, caplog) -> None:
    first, second = _CountingSpacy(), _CountingSpacy()
    nouns = RememberedNouns(first, lambda: ["red tea", "cup"], tmp_path)
    assert first.found == 0
    assert list(nouns("cup")) == ["cup"]
    assert list(nouns("a new one")) == ["a", "new", "one"] == list(nouns("a new one"))
    assert first.found == 3
    again = RememberedNouns(second, lambda: ["red tea", "cup"], tmp_path)
    assert list(again("red tea")) == ["red", "tea"]
    assert second.found == 0
    lost = RememberedNouns(_CountingSpacy(), lambda: ["cup"], tmp_path / "file" / "missing")
    (tmp_path / "file").write_text("")
    assert list(lost("cup")) == ["cup"]
    assert "not cached" in caplog.text


def test_a_long_episode_keeps_a_small_snapshot() -> None:
    import pickle

    env = WebShopEnv("generated", nouns="rules", max_steps=None)
    env.reset(seed=0)
    sizes = []
    for _ in range(300):
        for action in ("search[tea]", "click[next >]", "click[back to search]"):
            env.step(action)
        sizes.append(len(pickle.dumps(env.snapshot())))
    assert sizes[-1] <= sizes[2] + 4  # the step count's own digits
    assert sizes[-1] < 10_000
