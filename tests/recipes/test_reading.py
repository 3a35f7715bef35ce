"""Recipes are checked key by key, and what is wrong is said in one line that names it."""

from pathlib import Path

import pytest

pytest.importorskip("trl")
pytest.importorskip("yaml")

from agentkit.recipes import GRPORecipe, read_recipe
from agentkit.recipes.building import build_arguments, build_value
from agentkit.recipes.checking import check_recipe
from agentkit.recipes.reading import recipe_to_dict, structure_recipe, to_yaml

RECIPES = sorted((Path(__file__).resolve().parents[2] / "examples" / "recipes").glob("*.yaml"))

GRPO = """
kind: grpo
model: smollm2
env: {id: agentkit/ALFWorld-v0, split: train}
wrappers:
  - {use: JudgeRewardWrapper, judge: {use: OracleJudge}, weight: 0.5}
terms:
  - {use: StepScores, weight: 0.5}
trainer: {learning_rate: 1e-6, max_steps: 3}
"""
SFT = "kind: sft\nmodel: smollm2\ndemonstrations: episodes.jsonl\n"
DECISION = "kind: decision\nmodel: smollm2\nexamples: examples.jsonl\n"


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "recipe.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_shipped_recipes_are_right(path):
    recipe = read_recipe(path)
    check_recipe(recipe)
    assert structure_recipe(recipe_to_dict(recipe)) == recipe


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_trainers_take_the_shipped_values(path, tmp_path):
    """On a machine without GPUs, too."""
    recipe = read_recipe(path, ["trainer.use_cpu=true", "trainer.bf16=false"])
    arguments = build_arguments(recipe, str(tmp_path))
    assert arguments.learning_rate == recipe.trainer["learning_rate"]
    assert arguments.output_dir == str(tmp_path)


def test_the_papers_settings_are_shipped_for_both_benchmarks():
    names = {path.stem for path in RECIPES}
    assert {
        f"{env}_{kind}" for env in ("alfworld", "webshop") for kind in ("grpo", "teacher", "triage", "gigpo")
    } <= names
    for path in RECIPES:
        if path.stem.startswith(("alfworld", "webshop")):
            recipe = read_recipe(path)
            assert isinstance(recipe, GRPORecipe)
            assert recipe.model.name == "Qwen/Qwen2.5-1.5B-Instruct"
            expected = {"learning_rate": 1e-6, "beta": 0.01, "epsilon": 0.2, "num_generations": 8, "max_steps": 150}
            assert expected.items() <= recipe.trainer.items()
            assert recipe.trainer["max_turns"] == (50 if path.stem.startswith("alfworld") else 15)


def test_numbers_without_a_dot_are_numbers_and_defaults_are_filled_in(write):
    recipe = read_recipe(write(GRPO))
    assert isinstance(recipe, GRPORecipe)
    assert recipe.trainer["learning_rate"] == 1e-6
    assert recipe.tasks.count == 1000
    assert recipe.env.use == "gymnasium:make"
    assert read_recipe(write(to_yaml(recipe_to_dict(recipe)))) == recipe


def test_changes_are_laid_over_the_file(write):
    recipe = read_recipe(write(GRPO), ["trainer.max_steps=7", "tasks.count=2", "peft={r: 4}", "trainer.report_to=[]"])
    assert isinstance(recipe, GRPORecipe)
    assert (recipe.trainer["max_steps"], recipe.tasks.count, recipe.peft) == (7, 2, {"r": 4})
    assert recipe.trainer["report_to"] == []


def test_a_kind_alone_is_a_recipe_to_fill_in():
    recipe = read_recipe("sft", ["model=smollm2", "demonstrations=a.jsonl"])
    assert recipe == structure_recipe({"kind": "sft", "model": "smollm2", "demonstrations": "a.jsonl"})
    with pytest.raises(ValueError, match=r"sft: .*demonstrations must be given"):
        read_recipe("sft", ["model=smollm2"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: gropo\n", r"kind must be one of grpo, sft, decision, got 'gropo' \(did you mean 'grpo'\?\)"),
        ("model: smollm2\n", "kind must be one of grpo, sft, decision, got None"),
        ("- a\n", "must hold a mapping that begins with kind, got list"),
        ("a: [\n", "is not YAML"),
        (GRPO + "tasks: {count: 1}\ntasks: {count: 2}\n", "the key 'tasks' stands twice"),
        (GRPO + "taks: {}\n", r"unknown key 'taks' \(did you mean 'tasks'\?\)"),
        (GRPO + "tasks: {cuont: 3}\n", r"unknown key 'cuont' \(did you mean 'count'\?\) @ recipe.tasks"),
        (GRPO + "tasks: {count: 0}\n", "'count' must be >= 1"),
        (GRPO + "tasks: {count: true}\n", "expected int, got True @ recipe.tasks.count"),
        (GRPO + "tasks: 3\n", "expected a mapping with the keys count, first_seed, got 3"),
        (GRPO.replace("model: smollm2", "model: {name: m, dtype: float8}"), "'dtype' must be in"),
        (GRPO.replace("{use: OracleJudge}", "{use: OracleJudge, ref: x}"), "expected a part"),
        (GRPO.replace("  - {use: StepScores, weight: 0.5}", "  - StepScores"), "expected a part.*'StepScores'"),
        (SFT + "only_won: 1\n", "expected bool, got 1"),
        (DECISION + "held_out: 1.5\n", r"held_out must be a share in \(0, 1\), got 1.5"),
    ],
)
def test_a_wrong_key_or_value_is_named(write, text, message):
    path = write(text)
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        check_recipe(read_recipe(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("learning_rate:", "learning_rat:", r"trainer: unknown key 'learning_rat' \(did you mean 'learning_rate'\?\)"),
        ("1e-6", "fast", "trainer.learning_rate must be a number, got 'fast'"),
        ("max_steps: 3", "max_steps: 3.5", "trainer.max_steps must be a whole number, got 3.5"),
        ("max_steps: 3", "prompt_style: window", "trainer.prompt_style must be 'conversation' or 'windowed'"),
        ("max_steps: 3", "bf16: 'yes'", "trainer.bf16 must be true or false or null, got 'yes'"),
        ("ALFWorld-v0", "ALFWorld-v1", r"env.id: no environment 'agentkit/ALFWorld-v1' \(did you mean"),
        ("split: train", "splt: train", r"unknown key 'splt' \(did you mean 'split'\?\)"),
        ("use: JudgeRewardWrapper", "use: JudgeRewardWraper", r"did you mean 'JudgeRewardWrapper'\?"),
        ("judge: {use: OracleJudge}, weight", "weight", r"wrappers\[0\] \(JudgeRewardWrapper\): judge must be given"),
        ("weight: 0.5}\nterms", "wieght: 0.5}\nterms", r"unknown key 'wieght' \(did you mean 'weight'\?\)"),
        ("use: OracleJudge", "use: 'agentkit.judges:OracleJudg'", r"no 'OracleJudg' \(did you mean 'OracleJudge'\?\)"),
        ("use: OracleJudge", "use: 'no_such_package:judge'", "cannot import the module 'no_such_package'"),
        ("use: OracleJudge", "use: 'math:pi'", "'math:pi' is a float, not a class or function"),
        ("use: StepScores", "use: StepScore", r"terms\[0\]: no part 'StepScore' \(did you mean 'StepScores'\?\)"),
        ("trainer:", "peft: {rank: 3}\ntrainer:", "peft: unknown key 'rank'"),
    ],
)
def test_a_wrong_part_or_argument_is_named_before_anything_is_loaded(write, old, new, message):
    assert old in GRPO
    with pytest.raises(ValueError, match=message) as caught:
        check_recipe(read_recipe(write(GRPO.replace(old, new, 1))))
    assert "\n" not in str(caught.value)


def test_the_prompt_of_a_warm_start_takes_the_rollouts_keys_and_no_others(write):
    check_recipe(read_recipe(write(SFT + "prompt: {prompt_style: windowed, window: 3}\n")))
    with pytest.raises(ValueError, match=r"prompt: unknown key 'windw' \(did you mean 'window'\?\)"):
        check_recipe(read_recipe(write(SFT + "prompt: {windw: 3}\n")))
    with pytest.raises(ValueError, match=r"prompt: unknown key 'learning_rate'"):
        check_recipe(read_recipe(write(SFT + "prompt: {learning_rate: 3}\n")))


@pytest.mark.parametrize("change", ["trainer", "=3"])
def test_a_change_without_key_and_value_is_refused(write, change):
    with pytest.raises(ValueError, match="--set takes KEY=VALUE"):
        read_recipe(write(GRPO), [change])


def test_a_change_below_a_value_is_refused(write):
    with pytest.raises(ValueError, match="'model' holds a value, not keys"):
        read_recipe(write(GRPO), ["model.name=x"])


def test_parts_are_built_inside_out_and_references_are_not_called():
    import math

    built = build_value({"judge": {"use": "OracleJudge", "no_op": 0.1}, "rest": [{"ref": "math:floor"}, 3]}, "here")
    assert built["judge"].no_op == 0.1
    assert built["rest"] == [math.floor, 3]
    with pytest.raises(ValueError, match=r"here \(StepJudge\): .*context"):
        build_value({"use": "StepJudge", "model": None, "context": "sideways"}, "here")
