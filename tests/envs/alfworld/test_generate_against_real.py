"""Generated games beside the public ones: same structure, similar rooms; and stock alfworld plays them."""

import json
import re
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path
from statistics import mean

import pytest

from agentkit.envs.alfworld.generate import make_games
from agentkit.envs.alfworld.generate.making import check_request, generate
from agentkit.envs.alfworld.generate.package_data import load_layout, mangle
from agentkit.envs.alfworld.generate.rooms import ROOM_TYPES, load_room
from agentkit.envs.alfworld.world import TASK_TYPES

# Not importorskip: importing alfworld sets ALFWORLD_DATA for every later test.
pytestmark = pytest.mark.skipif(find_spec("alfworld") is None, reason="alfworld is not installed")


class Problem:
    """The declarations and facts of a PDDL problem."""

    def __init__(self, text: str) -> None:
        self.declared, rest = text.split("(:init", 1)
        initial, self.goal = rest.split("(:goal", 1)
        self.facts: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for fact in re.findall(r"\(([^()]+)\)", initial):
            name, *arguments = fact.split()
            self.facts[name].add(tuple(arguments))

    def declarations(self, kind: str) -> set[str]:
        return set(re.findall(rf"(\S+) - {kind}\s", self.declared))

    def types(self, predicate: str) -> Counter[str]:
        return Counter(kind.removesuffix("Type") for _, kind in self.facts[predicate])


def room_number(name: str) -> int:
    """The room at the end of a task folder's name."""
    return int(name.split("/")[0].split("-")[-1])


@pytest.fixture(scope="module")
def real(alfworld_data) -> dict[str, Problem]:
    """Every second validation game, by its folder's name."""
    paths = sorted(alfworld_data.glob("json_2.1.1/valid_*/*/*/game.tw-pddl"))[::2]
    return {path.parent.parent.name: Problem(json.loads(path.read_text())["pddl_problem"]) for path in paths}


@pytest.fixture(scope="module")
def made(real) -> dict[str, Problem]:
    """For each real game one of the same task type in the same room, by folder."""
    alike = Counter((room_number(name), name.split("-")[0]) for name in real)
    requests = {key: check_request(0, "train", [key[1]], [key[0]], None, "medium") for key in alike}
    games = [game for key, count in alike.items() for game in generate(requests[key], count)]
    return {game.folder: Problem(json.loads(game.files.game)["pddl_problem"]) for game in games}


def test_vocabulary_is_the_real_one(real, made):
    one, other = next(iter(real.values())), next(iter(made.values()))
    for kind in ("otype", "rtype", "agent"):
        assert other.declarations(kind) == one.declarations(kind)
    assert {each for each in other.declarations("object") if "_bar_" not in each} == {
        each for each in one.declarations("object") if "_bar_" not in each
    }


def test_predicates_are_the_real_ones(real, made):
    of_real = {name for problem in real.values() for name in problem.facts}
    of_made = {name for problem in made.values() for name in problem.facts}
    assert of_made == of_real


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_goal_has_the_real_wording(real, made, task_type):
    def skeletons(problems: dict[str, Problem]) -> set[str]:
        goals = [problem.goal for name, problem in problems.items() if name.startswith(task_type)]
        return {re.sub(r"\s+", " ", re.sub(r"\w+Type", "X", goal)).strip() for goal in goals}

    assert skeletons(made) == skeletons(real)
    assert len(skeletons(made)) == 1


def test_receptacles_of_a_layout_have_the_ids_of_the_real_room(real):
    assert real
    for name, problem in real.items():
        shipped = {mangle(each) for each in load_layout(room_number(name)).poses}
        assert shipped <= {identifier for identifier, _ in problem.facts["receptacleType"]}


def test_rooms_have_about_as_many_receptacles_as_the_real_ones(real):
    """The layouts leave some drawers and cabinets out; the kinds that they leave out altogether are made up for."""
    pairs = {room_number(name): len(problem.facts["receptacleType"]) for name, problem in real.items()}
    for hundreds, room_type in ROOM_TYPES.items():
        numbers = [number for number in pairs if number // 100 == hundreds]
        ours = mean(len(load_room(number).receptacles) for number in numbers)
        assert ours == pytest.approx(mean(pairs[number] for number in numbers), rel=0.2), room_type


def test_rooms_hold_about_as_many_objects_as_the_real_ones(real, made):
    def per_room(problems: dict[str, Problem]) -> dict[int, float]:
        counts = defaultdict(list)
        for name, problem in problems.items():
            counts[room_number(name) // 100].append(len(problem.facts["objectType"]))
        return {hundreds: mean(sizes) for hundreds, sizes in counts.items()}

    ours, theirs = per_room(made), per_room(real)
    assert ours.keys() == theirs.keys() == ROOM_TYPES.keys()
    for hundreds, size in ours.items():
        assert size == pytest.approx(theirs[hundreds], rel=0.15), ROOM_TYPES[hundreds]


@pytest.mark.parametrize("hundreds", ROOM_TYPES)
def test_objects_lie_where_they_lie_in_real_games(real, made, hundreds):
    """Total variation distance, per room type, between the shares of objects in each kind of receptacle."""

    def shares(problems: dict[str, Problem]) -> Counter[str]:
        found: Counter[str] = Counter()
        for name, problem in problems.items():
            kind_of = dict(problem.facts["receptacleType"])
            if room_number(name) // 100 == hundreds:
                found.update(kind_of[place] for _, place in problem.facts["inReceptacle"])
        total = sum(found.values())
        return Counter({kind: count / total for kind, count in found.items()})

    ours, theirs = shares(made), shares(real)
    assert sum(abs(ours[kind] - theirs[kind]) for kind in ours | theirs) / 2 < 0.15


@pytest.fixture(scope="module")
def one_of_each(tmp_path_factory) -> tuple[Path, list[Path]]:
    out = tmp_path_factory.mktemp("stock")
    return out, make_games(out, 6, seed=11)


def stock_config(out: Path) -> dict:
    dataset = {"data_path": out / "json_2.1.1" / "train", "num_train_games": -1, "num_eval_games": -1}
    return {
        "dataset": {name: str(value) if isinstance(value, Path) else value for name, value in dataset.items()},
        "env": {
            "goal_desc_human_anns_prob": 0,
            "task_types": [1, 2, 3, 4, 5, 6],
            "domain_randomization": False,
            "expert_type": "handcoded",
            "expert_timeout_steps": 150,
        },
        "general": {"training_method": "dagger"},
        "dagger": {"training": {"max_nb_steps_per_episode": 50}},
    }


def test_stock_alfworld_lists_and_wins_every_game(one_of_each, monkeypatch):
    out, games = one_of_each
    monkeypatch.setenv("ALFWORLD_DATA", str(out))  # alfworld sets it at import; this restores it afterwards
    from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv

    stock = AlfredTWEnv(stock_config(out), train_eval="train")
    assert sorted(stock.game_files) == sorted(map(str, games))
    env = stock.init_env(batch_size=1)
    for _ in games:
        _, infos = env.reset()
        walkthrough = json.loads(Path(infos["extra.gamefile"][0]).read_text())["walkthrough"]
        for command in walkthrough:
            assert not infos["won"][0]
            assert command in infos["admissible_commands"][0]
            _, _, dones, infos = env.step([command])
        assert infos["won"][0]
        assert dones[0]
    env.close()
