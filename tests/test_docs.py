"""Runs what the documentation and the examples promise.

In README.md, CONTRIBUTING.md and docs/, every ``bash`` and ``python`` block runs, each language in one process per
file (bash first) in an empty folder; a block after ``<!-- not run: reason -->`` is left out and the reason is printed.

An example runs without arguments in an empty folder, unless it has a line ``# CI arguments: --games 2``, which every
benchmark must have. One that reads real data has a line ``# CI data: ALFWORLD_DATA``, and is skipped without them.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
RUNNABLE_UNDER_OTHER_NAMES = {"sh", "shell", "console", "py", "python3", "pycon"}
DATA_FIXTURES = {"ALFWORLD_DATA": "alfworld_data", "WEBSHOP_DATA": "webshop_data"}
SECONDS = 280

FENCE = re.compile(r"^```(\w*)")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


class Block(NamedTuple):
    """A fenced block: its language, the numbers of its lines (from 0) and why it is not run, if so."""

    language: str
    lines: range
    not_run: str | None


def blocks(text: str) -> Iterator[Block]:
    start, language, reason = None, "", None
    for number, line in enumerate(text.splitlines()):
        fence = FENCE.match(line)
        if start is not None:
            if line.startswith("```"):
                yield Block(language, range(start, number), reason)
                start, reason = None, None
        elif fence:
            start, language = number + 1, fence[1]
        elif line.strip():
            mark = NOT_RUN.match(line.strip())
            reason = mark[1] if mark else None
    assert start is None, f"the block that begins in line {start} has no end"


def program(text: str, language: str) -> str:
    """The blocks of a language that run, each line under its own number, so that errors point into the page."""
    kept = {n for block in blocks(text) if block.language == language and not block.not_run for n in block.lines}
    return "\n".join(line if number in kept else "" for number, line in enumerate(text.splitlines())) + "\n"


def execute(command: list[str], folder: Path, **variables: str) -> None:
    """Run a command that must succeed, with this interpreter's commands first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1", "MPLBACKEND": "Agg", **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def test_blocks_are_found_with_their_languages_and_reasons() -> None:
    text = "a\n```python\nx = 1\n```\n<!-- not run: needs a GPU -->\n\n```bash\nls\n```\n"
    text += "text\n```python\nassert x == 1\n```\n"
    assert list(blocks(text)) == [
        Block("python", range(2, 3), None),
        Block("bash", range(7, 8), "needs a GPU"),
        Block("python", range(11, 12), None),
    ]
    lines = program(text, "python").splitlines()
    assert (lines[2], lines[11]) == ("x = 1", "assert x == 1")
    assert "".join(lines) == "x = 1assert x == 1"
    assert program(text, "bash").strip() == ""


def test_an_unclosed_block_is_an_error() -> None:
    with pytest.raises(AssertionError, match="begins in line 2 has no end"):
        list(blocks("a\n```python\nx = 1\n"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for block in blocks(text):
        assert block.language not in RUNNABLE_UNDER_OTHER_NAMES, f"line {block.lines.start}: call it bash or python"
        if block.not_run:
            print(f"{page.name}, line {block.lines.start + 1}: {block.language} block not run: {block.not_run}")
    bash, python = program(text, "bash"), program(text, "python")
    if bash.strip():
        (tmp_path / f"{page.stem}.sh").write_text(bash, encoding="utf-8")
        execute(["bash", "-euo", "pipefail", f"{page.stem}.sh"], tmp_path)
    if python.strip():
        (tmp_path / f"{page.stem}.py").write_text(python, encoding="utf-8")
        execute([sys.executable, f"{page.stem}.py"], tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_that_a_page_links_to_exist(page: Path) -> None:
    targets = [first or second for first, second in LINK.findall(page.read_text(encoding="utf-8"))]
    local = [target.split("#")[0] for target in targets if not target.startswith(("#", "http:", "https:", "mailto:"))]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example.relative_to(ROOT)))
def test_an_example_runs(example: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source = example.read_text(encoding="utf-8")
    arguments = re.search(r"^# CI arguments:(.*)$", source, re.MULTILINE)
    assert arguments or "benchmarks" not in example.parts, (
        "a benchmark needs a line '# CI arguments: ...' for a short run"
    )
    data = re.search(r"^# CI data: (\w+)$", source, re.MULTILINE)
    variables = {data[1]: str(request.getfixturevalue(DATA_FIXTURES[data[1]]))} if data else {}
    execute([sys.executable, str(example), *(arguments[1].split() if arguments else [])], tmp_path, **variables)
