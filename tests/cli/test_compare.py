"""``agentkit compare``: arms by name, tables, files, and going on after a stop."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("typer")

from agentkit.cli.arm_naming import ActorOptions, Casting, parse_arm, with_budgets
from agentkit.testing import ScriptedEnv


@pytest.fixture
def casting():
    return Casting("Qwen3-8B", "Llama-3.1-8B-Instruct")


@pytest.mark.parametrize(
    ("spec", "parsed"),
    [
        ("original", ("original", {}, None)),
        ("gate:oracle,k=8,r=2,budget=1,rounds=3", ("gate:oracle", {"k": 8, "r": 2, "budget": 1, "rounds": 3}, None)),
        ("forced:wrong,router=runs/r.json", ("forced:wrong", {}, "runs/r.json")),
        ("best-of-n:oracle,n=2", ("best-of-n:oracle", {"n": 2}, None)),
    ],
)
def test_arms_are_parsed(spec, parsed):
    assert parse_arm(spec) == parsed


@pytest.mark.parametrize(
    "spec",
    ["gate:oracle,speed=3", "gate:oracle,k=two", "original,k=3", "forced:oracle,rounds=2", "gate:oracle,router="],
)
def test_unknown_settings_are_named(spec):
    with pytest.raises(ValueError, match="is no setting; choose from"):
        parse_arm(spec)


@pytest.mark.parametrize("spec", ["gat:oracle", "gate", "gate:", "critic:me", ""])
def test_unknown_arms_are_named(casting, spec):
    with pytest.raises(ValueError, match="choose from original, gate:COMPARATOR"):
        casting.arm(spec)


def test_an_unknown_comparator_is_named(casting):
    with pytest.raises(ValueError, match="no comparator 'nonsense'; choose from oracle, random"):
        casting.arm("gate:nonsense")


def test_reflection_needs_an_actor_with_a_model(casting):
    player = casting.player(ActorOptions(actor="random", mistakes=0.1, follow=None, temperature=0.0))
    env = ScriptedEnv()
    with pytest.raises(ValueError, match="needs --actor readout"):
        casting.arm("reflection").wrap_actor(player(env, 0, None), env, 0, None)


def test_budgets_are_added_to_gates_only():
    specs = ["original", "gate:x", "forced:x,budget=3", "critic:planner"]
    assert with_budgets(specs, [0, 2]) == [*specs, "gate:x,budget=0", "gate:x,budget=2"]
    assert with_budgets(["gate:x", "gate:x,budget=0"], [0]) == ["gate:x", "gate:x,budget=0"]


def compare(folder, *arguments):
    command = [sys.executable, "-c", "from agentkit.cli import main; main()", "compare", "--out", str(folder)]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=280, check=False)


def test_every_kind_of_arm_on_real_games(alfworld_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    arms = ["original", "gate:oracle", "forced:wrong", "gate:random", "critic:planner", "best-of-n:oracle,n=2"]
    options = [option for arm in arms for option in ("--arm", arm)]
    options += ["--budget", "1", "--mistakes", "0.4", "--limit", "3", "--max-steps", "15", "--split", "valid_unseen"]
    offline = tmp_path / "offline.json"
    offline.write_text('{"mine": {"base_rollouts": 1, "branch_rollouts": 2, "fine_tuning": 3}}', "utf-8")
    done = compare(tmp_path / "out", *options, "--offline", str(offline))
    assert done.returncode == 0, done.stderr
    results = {r["name"]: r for r in json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))}
    assert set(results) == {*arms, "gate:oracle,budget=1", "forced:wrong,budget=1", "gate:random,budget=1"}
    assert results["critic:planner"]["success"] == 1.0
    assert results["gate:oracle,budget=1"]["intervention_frequency"] > 0
    assert results["original"]["intervention_frequency"] == 0
    text = (tmp_path / "out" / "tables.txt").read_text("utf-8")
    assert text == done.stdout
    for part in ("rescued", "B=1", "fine-tuning", "$/100"):
        assert part in text
    again = compare(tmp_path / "out", *options, "--offline", str(offline))
    assert again.stdout == done.stdout, "nothing is played again"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arm", "gate:nonsense"], "no comparator 'nonsense'"),
        (["--actor-price", "nobody"], "no price for 'nobody'"),
        (["--offline", "absent.json"], "absent.json"),
        (["--env", "agentkit/Alfworld-v0"], "did you mean"),
    ],
)
def test_bad_input_is_one_line(tmp_path, arguments, message):
    done = compare(tmp_path / "out", *arguments)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_files_of_branches_show_how_preferences_shift(alfworld_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    import gymnasium as gym

    from agentkit.actors import ExpertActor, RandomActor
    from agentkit.trainers import collect_branches

    env = gym.make("agentkit/ALFWorld-v0", split="valid_unseen", max_steps=15)

    def explorer(env, seed):
        return ExpertActor("explorer")

    for name, continuation in (("explorer", explorer), ("random", lambda env, seed: RandomActor(seed))):
        out = tmp_path / f"{name}.jsonl"
        collect_branches(env, explorer, 2, make_continuation=continuation, states_per_episode=3, discount=0.9, out=out)
    options = ["--arm", "original", "--limit", "1", "--max-steps", "5", "--split", "valid_unseen"]
    files = [str(tmp_path / f"{name}.jsonl") for name in ("explorer", "random")]
    done = compare(tmp_path / "out", *options, "--shift", *files)
    assert done.returncode == 0, done.stderr
    assert "explorer -> random" in done.stdout
    missing = compare(tmp_path / "out", *options, "--shift", files[0], str(tmp_path / "absent.jsonl"))
    assert "absent.jsonl" in missing.stderr


@pytest.mark.parametrize(
    ("stop_after", "said"), [(1, "before every arm had an episode"), (3, "what all arms have played")]
)
def test_a_stop_leaves_complete_files_and_says_how_to_go_on(
    alfworld_data, tmp_path, monkeypatch, capsys, stop_after, said
):
    from agentkit.cli import compare as module

    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    options = {
        "arms": ["original", "critic:planner"],
        "budgets": (),
        "split": "valid_unseen",
        "limit": 2,
        "max_steps": 12,
        "seed": 0,
        "out": tmp_path / "out",
        "prices": None,
        "actor_price": "Qwen3-8B",
        "comparator_price": "Llama-3.1-8B-Instruct",
        "offline": None,
        "shift": None,
        "device": "cpu",
        "dtype": "float32",
        "actor": "explorer",
        "mistakes": 0.5,
        "follow": None,
        "temperature": 0.0,
    }
    play = module.play_arms

    def interrupted(*arguments, on_episode, **rest):
        left = iter(range(stop_after - 1))

        def count(episode):
            on_episode(episode)
            if next(left, None) is None:
                raise KeyboardInterrupt

        return play(*arguments, on_episode=count, **rest)

    monkeypatch.setattr(module, "play_arms", interrupted)
    with pytest.raises(SystemExit, match=said):
        module.compare("agentkit/ALFWorld-v0", **options)
    assert len(module.load_played(tmp_path / "out")) == stop_after
    monkeypatch.setattr(module, "play_arms", play)
    capsys.readouterr()
    module.compare("agentkit/ALFWorld-v0", **options)
    assert len(module.load_played(tmp_path / "out")) == 4
    assert "critic:planner" in capsys.readouterr().out
