"""The command line: real games in, a table out; and one clear line for each kind of bad input."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("typer")


def agentkit(*arguments, stdin="", **variables):
    """Run the command; the environment has no ALFWORLD_DATA unless it is given."""
    environment = {k: v for k, v in os.environ.items() if k not in ("ALFWORLD_DATA", "WEBSHOP_DATA")}
    command = [sys.executable, "-c", "from agentkit.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env={**environment, **variables}, timeout=280, check=False
    )


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """A folder of six games made by the command."""
    if importlib.util.find_spec("alfworld") is None:
        pytest.skip("alfworld is not installed")
    folder = tmp_path_factory.mktemp("games")
    done = agentkit("games", "make", "--count", 6, "--seed", 1, "--out", folder, "--difficulty", "easy")
    assert done.returncode == 0, done.stderr
    assert "6 games in" in done.stdout
    return folder


def row(table, name):
    """The (won, of) of a row of the table."""
    match = re.search(rf"^{name} +(\d+) +(\d+)", table, flags=re.MULTILINE)
    assert match, table
    return int(match[1]), int(match[2])


def test_eval_expert_wins_every_task_type(games):
    done = agentkit("eval", "--split", "train", "--actor", "expert", "--limit", 6, ALFWORLD_DATA=str(games))
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "all") == (6, 6)
    assert row(done.stdout, "pick_heat_then_place_in_recep") == (1, 1)


def test_eval_random_on_the_benchmark(alfworld_data, tmp_path):
    saved = tmp_path / "episodes.jsonl"
    done = agentkit("eval", "--limit", 3, "--max-steps", 5, "--save", saved, ALFWORLD_DATA=str(alfworld_data))
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "all")[1] == 3
    page = tmp_path / "page.html"
    assert agentkit("report", saved, "--out", page).returncode == 0
    assert "Your task is to" in page.read_text("utf-8")


def test_eval_readout_on_the_benchmark(alfworld_data, smol):
    done = agentkit("eval", "--actor", "readout", "--limit", 1, "--max-steps", 2, ALFWORLD_DATA=str(alfworld_data))
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "all")[1] == 1


def test_eval_webshop_on_the_embedded_catalogue():
    pytest.importorskip("rapidfuzz")
    done = agentkit("eval", "--env", "agentkit/WebShop-v0", "--split", "test", "--actor", "expert", "--limit", 5)
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "all") == (5, 5)


def test_play_takes_actions_numbers_and_the_end_of_input(games):
    done = agentkit("play", "--split", "train", stdin="\n1\nlook\n", ALFWORLD_DATA=str(games))
    assert done.returncode == 0, done.stderr
    assert "Your task is to" in done.stdout
    assert "  1  " in done.stdout
    assert done.stdout.rstrip().endswith("Good-bye.")


def test_play_shows_shop_pages_and_buys():
    pytest.importorskip("rapidfuzz")
    done = agentkit("play", "--env", "agentkit/WebShop-v0", stdin="1\nsearch[console table]\n\n")
    assert done.returncode == 0, done.stderr
    assert "[SEP]" not in done.stdout
    assert "Instruction" in done.stdout
    assert "put in your own words" in done.stdout
    assert "click[" in done.stdout


def test_play_can_be_won(games):
    import json

    game = next(games.rglob("game.tw-pddl"))
    walkthrough = json.loads(game.read_text("utf-8"))["walkthrough"]
    task = f"{game.parent.parent.name}/{game.parent.name}"
    done = agentkit(
        "play", "--split", "train", "--task-id", task, stdin="\n".join(walkthrough) + "\n", ALFWORLD_DATA=str(games)
    )
    assert "You won!" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", "--actor", "expertt", "--split", "train"], r"no actor 'expertt' \(did you mean 'expert'\?\)"),
        (["eval", "--env", "agentkit/ALFWorld-v1"], r"no environment 'agentkit/ALFWorld-v1' \(did you mean"),
        (["eval", "--split", "valid_unsen"], r"unknown split 'valid_unsen' .*known: 'train'"),
        (["play", "--split", "train", "--task-id", "nowhere/trial"], r"task.*nowhere/trial"),
        (["games", "make", "--count", "0", "--out", "x"], r"count is 0"),
        (["report", "absent.jsonl"], r"absent\.jsonl"),
    ],
)
def test_bad_input_is_one_line_that_names_it(arguments, message, games):
    done = agentkit(*arguments, ALFWORLD_DATA=str(games))
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert re.search(message, done.stderr), done.stderr


def test_without_data_it_says_which_variable_to_set():
    done = agentkit("eval")
    assert done.returncode == 1
    assert "ALFWORLD_DATA" in done.stderr
    assert "Traceback" not in done.stderr
