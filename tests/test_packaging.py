"""What is installed: the list of packages, the links, the extras, the pins and the wheel."""

import configparser
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
LINKED_ROOMS = ("wrappers", "judges", "trainers")
EXTRAS = {"models", "train", "alfworld", "webshop", "api", "report", "demo", "all", "dev"}
DISTRIBUTION = "gym-agentkit"
MEGABYTE = 2**20


def read_setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def requirements_by_extra() -> dict[str, list[Requirement]]:
    """Every requirement in setup.cfg; the core's stand under the empty name."""
    setup = read_setup()
    named = {"": setup["options"]["install_requires"], **setup["options.extras_require"]}
    return {extra: [Requirement(line) for line in lines(text)] for extra, text in named.items()}


def python_folders(top: Path) -> set[Path]:
    """``top`` and the folders below it that hold Python files, without following links."""
    walk = ((Path(folder), files) for folder, _, files in os.walk(top))
    return {folder for folder, files in walk if any(name.endswith(".py") for name in files)}


def packages_on_disk() -> set[str]:
    names = {"agentkit": "agentkit", **{room: f"agentkit.{room}" for room in LINKED_ROOMS}}
    return {
        ".".join([name, *folder.relative_to(ROOT / room).parts])
        for room, name in names.items()
        for folder in python_folders(ROOT / room)
    }


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment without what would put the working tree on the path of a subprocess."""
    return {**{key: value for key, value in os.environ.items() if key != "PYTHONPATH"}, **extra}


def run(command: list[str | Path], cwd: Path) -> str:
    """The standard output of a command that must succeed; what it printed is shown when it does not."""
    done = subprocess.run(command, cwd=cwd, env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_setup_cfg_lists_exactly_the_package_folders_on_disk() -> None:
    assert set(lines(read_setup()["options"]["packages"])) == packages_on_disk()


def test_every_package_folder_has_an_init_file() -> None:
    folders = set().union(*(python_folders(ROOT / room) for room in ("agentkit", *LINKED_ROOMS)))
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("room", LINKED_ROOMS)
def test_each_room_has_a_relative_link_that_resolves(room: str) -> None:
    link = ROOT / "agentkit" / room
    assert link.is_symlink(), f"agentkit/{room} is not a link; on Windows clone with core.symlinks=true"
    assert link.readlink() == Path("..") / room
    assert link.resolve() == ROOT / room
    assert (link / "__init__.py").exists()


def test_the_extras_are_the_promised_ones_and_all_covers_the_rest() -> None:
    by_extra = requirements_by_extra()
    assert set(by_extra) - {""} == EXTRAS

    def reached(extra: str) -> set[str]:
        own = [requirement for requirement in by_extra[extra] if requirement.name == DISTRIBUTION]
        return {extra}.union(*(reached(inner) for requirement in own for inner in requirement.extras))

    assert reached("all") == EXTRAS - {"dev"}
    assert reached("dev") == EXTRAS


def test_constraints_pin_every_requirement_within_its_bounds() -> None:
    pins = {}
    for line in lines((ROOT / "constraints.txt").read_text(encoding="utf-8")):
        if not line.startswith("#"):
            name, version = line.split("==")
            pins[canonicalize_name(name)] = Version(version)
    for extra, requirements in requirements_by_extra().items():
        for requirement in requirements:
            if requirement.name == DISTRIBUTION:
                continue
            pin = pins.get(canonicalize_name(requirement.name))
            assert pin is not None, f"constraints.txt has no pin for {requirement.name} (extra {extra!r})"
            assert requirement.specifier.contains(pin), f"{requirement} (extra {extra!r}) excludes the pin {pin}"


def test_the_console_script_is_installed_and_loads() -> None:
    (script,) = entry_points(group="console_scripts", name="agentkit")
    assert script.value == "agentkit.cli:main"
    assert callable(script.load())


def test_no_file_in_git_is_over_one_megabyte() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    sizes = {path: path.lstat().st_size for path in files if os.path.lexists(path)}
    assert {str(path): size for path, size in sizes.items() if size > MEGABYTE} == {}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of what it is made of, so that no older build folder can leak into it."""
    source = tmp_path_factory.mktemp("source")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for room in ("agentkit", *LINKED_ROOMS):
        shutil.copytree(ROOT / room, source / room, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."], cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bare_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that holds the wheel and its core dependencies only."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    run([sys.executable, "-m", "venv", folder], cwd=folder.parent)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run([python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel], cwd=folder.parent)
    return python


@pytest.mark.slow
def test_the_wheel_holds_every_source_file_and_nothing_beside_agentkit(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = {
        Path("agentkit", *((room,) if room != "agentkit" else ()), path.relative_to(ROOT / room)).as_posix()
        for room in ("agentkit", *LINKED_ROOMS)
        for folder, _, files in os.walk(ROOT / room)
        if "__pycache__" not in folder
        for path in (Path(folder, name) for name in files)
    }
    assert packed == source


BARE_PROGRAM = """
import importlib.util, sys
import agentkit, agentkit.actors, agentkit.credit, agentkit.envs, agentkit.judges, agentkit.wrappers
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import JudgeRewardWrapper

assert "site-packages" in agentkit.__file__, agentkit.__file__
for room in ("wrappers", "judges", "trainers"):
    assert importlib.util.find_spec(room) is None, f"{room} is a top-level package"

env = JudgeRewardWrapper(ScriptedEnv(), judge=lambda trajectory: [0.5] * len(trajectory), weight=0.5)
observation, info = env.reset(seed=0)
steps, over = 0, False
while not over:
    observation, reward, terminated, truncated, info = env.step(info["admissible_actions"][-1])
    steps, over = steps + 1, terminated or truncated
assert list(info["step_scores"]) == [0.5] * steps, info
print("steps", steps)
"""


@pytest.mark.slow
def test_a_bare_install_wraps_an_environment_with_a_callable_judge(bare_python: Path, tmp_path: Path) -> None:
    installed = run([bare_python, "-m", "pip", "list", "--format=freeze"], cwd=tmp_path).lower()
    assert not {"torch", "transformers", "alfworld", "typer"} & {line.split("==")[0] for line in installed.splitlines()}
    assert run([bare_python, "-c", BARE_PROGRAM], cwd=tmp_path).startswith("steps ")


@pytest.mark.slow
def test_the_command_of_a_bare_install_says_what_to_install(bare_python: Path, tmp_path: Path) -> None:
    command = [bare_python.with_name("agentkit"), "--help"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert 'pip install "gym-agentkit[' in done.stderr
    assert "Traceback" not in done.stderr
