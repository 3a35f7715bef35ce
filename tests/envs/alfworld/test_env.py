import copy
import json
import logging
import pickle
import shutil
import warnings
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import agentkit
from agentkit.actors.expert import ExpertActor
from agentkit.envs.alfworld import ALFWorldEnv
from agentkit.envs.alfworld.env import Snapshot
from agentkit.envs.alfworld.fast import game as fast_game
from agentkit.envs.alfworld.fast.errors import UnsupportedGame
from agentkit.envs.alfworld.games import list_games, task_id_of
from agentkit.envs.alfworld.world import GameFileError
from agentkit.envs.contract import contract_violations


def make(data: Path, **options) -> ALFWorldEnv:
    env = gym.make("agentkit/ALFWorld-v0", data=str(data), **options).unwrapped
    assert isinstance(env, ALFWorldEnv)
    return env


def walkthrough(env: ALFWorldEnv) -> list[str]:
    return json.loads(Path(env.engine.world.source).read_text())["walkthrough"]


@pytest.fixture
def env(made_data: Path) -> ALFWorldEnv:
    return make(made_data, split="train")


def test_gymnasiums_checker_has_nothing_to_say(made_data: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make("agentkit/ALFWorld-v0", data=str(made_data), render_mode="ansi").unwrapped)


def test_an_episode_is_won_by_its_walkthrough(env: ALFWorldEnv) -> None:
    observation, info = env.reset(seed=0)
    assert observation.startswith("-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room.")
    assert observation.endswith("Your task is to: " + info["goal"])
    assert info["state_changed"]
    steps = walkthrough(env)
    for number, action in enumerate(steps, start=1):
        assert action in info["admissible_actions"]
        assert contract_violations(info) == []
        observation, reward, terminated, truncated, info = env.step(action)
        won = number == len(steps)
        assert (reward, terminated, truncated, info["won"]) == (float(won), won, False, won)
        assert info["state_changed"]
    assert info["milestones"]


def test_info_is_the_contract_and_json(env: ALFWorldEnv) -> None:
    _, info = env.reset(seed=1)
    assert contract_violations(info) == []
    assert set(info) == {
        "goal",
        "admissible_actions",
        "won",
        "state_changed",
        "milestones",
        "task_type",
        "task_id",
    }
    assert json.loads(json.dumps(info))["task_id"] == info["task_id"]
    assert info["task_id"].startswith(info["task_type"] + "-")
    assert {"help", "inventory", "look"} <= set(info["admissible_actions"])


def test_an_impossible_action_changes_nothing(env: ALFWorldEnv) -> None:
    _, before = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("fly to the moon")
    assert observation == "Nothing happens."
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert not info["state_changed"]
    assert info["milestones"] == ()
    assert info["admissible_actions"] == before["admissible_actions"]


@pytest.mark.parametrize("action", ["look", "inventory", "help"])
def test_looking_changes_nothing(env: ALFWorldEnv, action: str) -> None:
    env.reset(seed=0)
    assert not env.step(action)[4]["state_changed"]


def test_an_episode_is_truncated_after_its_steps(made_data: Path) -> None:
    env = make(made_data, max_steps=3)
    env.reset(seed=0)
    assert [env.step("look")[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    with pytest.raises(ResetNeeded, match="has had its 3 steps"):
        env.step("look")


def test_winning_on_the_last_step_is_no_truncation(made_data: Path) -> None:
    env = make(made_data)
    env.reset(seed=0)
    steps = walkthrough(env)
    env = make(made_data, max_steps=len(steps))
    env.reset(seed=0)
    assert [env.step(action)[2:4] for action in steps][-1] == (True, False)
    with pytest.raises(ResetNeeded, match=r"the episode is over \(it was won\); call reset\(\)"):
        env.step("look")


def test_a_step_needs_a_reset(env: ALFWorldEnv) -> None:
    for call in (lambda: env.step("look"), env.snapshot, lambda: env.engine):
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            call()


@pytest.mark.parametrize("action", [3, None, ["look"], b"look"])
def test_an_action_that_is_not_a_string_is_refused(env: ALFWorldEnv, action: object) -> None:
    env.reset(seed=0)
    with pytest.raises(TypeError, match="action must be a str"):
        env.step(action)  # pyright: ignore[reportArgumentType]


# Which game is played


def test_the_same_seed_plays_the_same_game(env: ALFWorldEnv, made_data: Path) -> None:
    again = make(made_data, split="train")
    again.reset(seed=11)
    for seed in (3, 3, 11, 3):
        assert env.reset(seed=seed) == again.reset(seed=seed)


def test_consecutive_seeds_and_an_unseeded_epoch_visit_every_game_once(env: ALFWorldEnv) -> None:
    everything = sorted(map(task_id_of, env.games))
    assert sorted(env.reset(seed=seed)[1]["task_id"] for seed in range(12)) == everything
    walk = [env.reset(seed=5)[1]["task_id"], *(env.reset()[1]["task_id"] for _ in range(23))]
    assert sorted(walk[:12]) == sorted(walk[12:]) == everything
    assert walk == [env.reset(seed=5)[1]["task_id"], *(env.reset()[1]["task_id"] for _ in range(23))]


def test_a_reset_without_any_seed_works(env: ALFWorldEnv) -> None:
    assert {env.reset()[1]["task_id"] for _ in range(12)} == set(map(task_id_of, env.games))


def test_a_task_is_chosen_by_its_id(env: ALFWorldEnv, made_data: Path) -> None:
    wanted = task_id_of(env.games[7])
    assert env.reset(seed=0, options={"task_id": wanted})[1]["task_id"] == wanted
    only = make(made_data, task_id=wanted)
    assert len(only.games) == 1
    assert only.reset()[1]["task_id"] == wanted


def test_task_types_narrow_the_choice(made_data: Path) -> None:
    env = make(made_data, task_types=["look_at_obj_in_light"])
    assert {env.reset(seed=seed)[1]["task_type"] for seed in range(4)} == {"look_at_obj_in_light"}


def test_games_by_path(made_data: Path) -> None:
    paths = list(list_games(made_data, "valid_unseen")[:2])
    env = gym.make("agentkit/ALFWorld-v0", games=paths).unwrapped
    assert {env.reset(seed=seed)[1]["task_id"] for seed in range(2)} == set(map(task_id_of, paths))


def test_members_of_a_rollout_group_play_the_same_task(env: ALFWorldEnv) -> None:
    episodes = agentkit.rollout(env, ExpertActor("explorer"), 6, seed=0, group_size=3)
    ids = [episode.task_id for episode in episodes]
    assert ids[:3] == [ids[0]] * 3
    assert ids[3:] == [ids[3]] * 3
    assert ids[0] != ids[3]


# Bad input


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"split": "trian"}, ValueError, r"unknown split 'trian' in .*; did you mean 'train'\?"),
        ({"engine": "textwrold"}, ValueError, r"unknown engine 'textwrold'; did you mean 'textworld'\?"),
        ({"engine": "x"}, ValueError, "unknown engine 'x'; known: 'fast', 'textworld'"),
        ({"max_steps": 0}, ValueError, "max_steps must be a whole number of at least 1, got 0"),
        ({"max_steps": 2.5}, ValueError, "max_steps must be a whole number of at least 1, got 2.5"),
        ({"task_id": "pick"}, ValueError, "unknown task id 'pick'"),
        ({"task_types": ["pick_and_place"]}, ValueError, r"did you mean 'pick_and_place_simple'\?"),
        ({"games": []}, ValueError, "games is empty"),
        ({"games": "game.tw-pddl"}, TypeError, "games must be a list of paths"),
        ({"games": ["no.tw-pddl"]}, FileNotFoundError, "games names 'no.tw-pddl'"),
    ],
)
def test_a_wrong_argument_is_named(made_data: Path, options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ALFWorldEnv(**{"data": made_data, **options})


def test_wrong_options_of_a_reset_are_named(env: ALFWorldEnv) -> None:
    with pytest.raises(ValueError, match="unknown option 'taskid' in options; known: 'task_id'"):
        env.reset(options={"taskid": "x"})
    with pytest.raises(ValueError, match=r"unknown task id 'x'; known: .*12 in all"):
        env.reset(options={"task_id": "x"})


def test_an_unknown_render_mode_is_named(made_data: Path) -> None:
    with pytest.raises(ValueError, match="render_mode must be None or 'ansi', got 'human'"):
        ALFWorldEnv(data=made_data, render_mode="human")


@pytest.fixture
def damaged(made_data: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the unseen games with one file cut off, and that file."""
    shutil.copytree(made_data / "json_2.1.1" / "valid_unseen", tmp_path / "json_2.1.1" / "valid_unseen")
    broken = Path(list_games(tmp_path, "valid_unseen")[2])
    broken.write_text(broken.read_text()[:1000])
    return tmp_path, broken


def test_a_broken_file_is_named_once_and_the_others_are_played(
    damaged: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    data, broken = damaged
    env = make(data, split="valid_unseen")
    with caplog.at_level(logging.WARNING):
        played = {env.reset(seed=seed)[1]["task_id"] for seed in range(12)}
    assert played == set(map(task_id_of, env.games)) - {task_id_of(broken)}
    named = [record.getMessage() for record in caplog.records if str(broken) in record.getMessage()]
    assert len(named) == 1
    assert "not JSON" in named[0]


def test_a_broken_file_that_was_asked_for_is_an_error(damaged: tuple[Path, Path]) -> None:
    data, broken = damaged
    env = make(data, split="valid_unseen")
    env.reset(seed=0)
    with pytest.raises(GameFileError, match="not JSON"):
        env.reset(options={"task_id": task_id_of(broken)})
    with pytest.raises(GameFileError, match=broken.parent.name):
        gym.make("agentkit/ALFWorld-v0", games=[str(broken)]).reset(seed=0)


def test_an_unsolvable_game_is_left_out(damaged: tuple[Path, Path], caplog: pytest.LogCaptureFixture) -> None:
    data, broken = damaged
    source = Path(list_games(data, "valid_unseen")[0])
    broken.write_text(json.dumps({**json.loads(source.read_text()), "solvable": False}))
    env = make(data, split="valid_unseen")
    assert task_id_of(broken) not in {env.reset(seed=seed)[1]["task_id"] for seed in range(12)}
    assert "is marked as unsolvable" in caplog.text


# Branching, pickles, wrapping


def moments(env: ALFWorldEnv, actions: list[str]) -> list[tuple]:
    return [env.step(action) for action in actions]


@pytest.mark.parametrize("roles", [False, True])
def test_a_restored_environment_goes_on_as_the_original_did(made_data: Path, roles: bool) -> None:
    env = make(made_data, oracle_roles=roles)
    env.reset(seed=2)
    steps = walkthrough(env)
    env.step(steps[0])
    snapshot = env.snapshot()
    first = moments(env, ["look", "look", *steps[1:]])
    assert first[-1][2]
    observation, info = env.restore(pickle.loads(pickle.dumps(snapshot)))
    assert observation.startswith("You arrive at")
    assert info["state_changed"]
    assert moments(env, ["look", "look", *steps[1:]]) == first


def test_a_snapshot_serves_another_environment_of_the_same_game(made_data: Path) -> None:
    env, other = make(made_data), make(made_data)
    env.reset(seed=2)
    steps = walkthrough(env)
    env.step(steps[0])
    other.reset(seed=2)
    other.restore(env.snapshot())
    assert moments(other, steps[1:]) == moments(env, steps[1:])


def test_another_games_snapshot_is_refused_by_name(env: ALFWorldEnv) -> None:
    env.reset(seed=0)
    first = env.snapshot()
    env.reset(seed=1)
    second = env.snapshot()
    with pytest.raises(ValueError, match=r"snapshot is of .* but the game that runs is") as caught:
        env.restore(first)
    assert first.path in str(caught.value)
    assert second.path in str(caught.value)
    forged = Snapshot(second.path, first.engine, first.moment)
    with pytest.raises(ValueError, match="this snapshot is of"):
        env.restore(forged)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_on_its_own(env: ALFWorldEnv, clone) -> None:
    env.reset(seed=3)
    steps = walkthrough(env)
    env.step(steps[0])
    twin = clone(env)
    assert moments(twin, steps[1:]) == moments(env, steps[1:])
    assert [twin.reset()[1]["task_id"] for _ in range(15)] == [env.reset()[1]["task_id"] for _ in range(15)]


def test_an_environment_pickles_before_its_first_reset(env: ALFWorldEnv) -> None:
    assert pickle.loads(pickle.dumps(env)).reset(seed=1) == env.reset(seed=1)


def test_the_spec_rebuilds_the_environment(made_data: Path) -> None:
    env = gym.make("agentkit/ALFWorld-v0", data=str(made_data), split="valid_unseen", max_steps=7, oracle_roles=True)
    assert env.spec is not None
    for spec in (env.spec, gym.envs.registration.EnvSpec.from_json(env.spec.to_json())):
        again = gym.make(spec)
        assert again.reset(seed=4) == env.reset(seed=4)
        assert again.step("look") == env.step("look")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_keep_the_texts(made_data: Path, mode) -> None:
    single = [make(made_data) for _ in range(2)]
    expected = [env.reset(seed=seed) for seed, env in enumerate(single)]
    venv = agentkit.make_vec("agentkit/ALFWorld-v0", 2, mode=mode, data=str(made_data))
    try:
        observations, infos = venv.reset(seed=0)
        assert list(observations) == [observation for observation, _ in expected]
        assert list(infos["admissible_actions"]) == [info["admissible_actions"] for _, info in expected]
        actions = [info["admissible_actions"][3] for _, info in expected]
        observations, rewards, *_ = venv.step(actions)
        assert list(observations) == [env.step(action)[0] for env, action in zip(single, actions, strict=True)]
        assert list(rewards) == [0.0, 0.0]
    finally:
        venv.close()


def test_rendering_shows_what_the_agent_sees(made_data: Path) -> None:
    env = make(made_data, render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.render()
    assert env.reset(seed=0)[0] == env.render()
    assert env.step("look")[0] == env.render()
    assert make(made_data).render() is None


def test_oracle_roles_come_on_request(made_data: Path) -> None:
    env = make(made_data, oracle_roles=True)
    assert env.reset(seed=0)[1]["oracle_role"] is None
    episode = agentkit.rollout(env, ExpertActor("planner", env), 1, seed=0)[0]
    assert [step.role for step in episode.steps] == ["decisive"] * len(episode)
    assert env.reset(seed=0)[1]["oracle_role"] is None
    assert [env.step("look")[4]["oracle_role"] for _ in range(2)] == ["no-progress", "regression"]


def test_a_game_that_the_fast_engine_does_not_know_is_left_to_the_stock_engine(
    made_data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_) -> None:
        raise UnsupportedGame("it is odd")

    monkeypatch.setattr(fast_game, "_compile", refuse)
    path = tmp_path / "pick_and_place_simple-Odd-None-Game-1" / "trial_T1" / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    content = json.loads(Path(list_games(made_data, "train", ["pick_and_place_simple"])[0]).read_text())
    path.write_text(json.dumps({**content, "grammar": content["grammar"] + "\n"}))
    env = gym.make("agentkit/ALFWorld-v0", games=[str(path)], oracle_roles=True).unwrapped
    _, info = env.reset(seed=0)
    _, info = env.reset(seed=0)
    assert contract_violations(info) == []
    assert info["task_type"] == "pick_and_place_simple"
    assert [r.getMessage() for r in caplog.records].count(
        f"{path}: left to the stock engine, without milestones: it is odd"
    ) == 1
    assert not env.step("look")[4]["state_changed"]
    for action in content["walkthrough"]:
        _, reward, terminated, _, info = env.step(action)
        assert info["state_changed"]
        assert info["oracle_role"] is None
    assert (reward, terminated) == (1.0, True)
