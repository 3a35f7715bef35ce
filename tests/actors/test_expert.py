import json
from pathlib import Path

import gymnasium as gym
import pytest

import agentkit
from agentkit.actors import ExpertActor
from agentkit.envs.alfworld.fast.game import load_game
from agentkit.envs.alfworld.games import list_games
from agentkit.envs.alfworld.generate import make_games


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> gym.Env:
    folder = tmp_path_factory.mktemp("alfworld")
    make_games(folder, 12, seed=3)
    return gym.make("agentkit/ALFWorld-v0", data=str(folder))


@pytest.mark.parametrize("kind", ["planner", "explorer"])
def test_experts_win_made_games(env: gym.Env, kind: str) -> None:
    episodes = agentkit.rollout(env, ExpertActor(kind, env), 12, seed=0)
    assert len({episode.task_id for episode in episodes}) == 12
    assert all(episode.won for episode in episodes)
    assert all(step.action in step.admissible_actions for episode in episodes for step in episode.steps)


def test_the_planner_recovers_from_wherever_chance_leads(env: gym.Env) -> None:
    planner = ExpertActor("planner", env)
    wander = agentkit.actors.RandomActor(0)
    for seed in range(12):
        observation, info = env.reset(seed=seed)
        for _ in range(15):
            observation, _, won, _, info = env.step(wander(observation, info))
            if won:
                break
        while not won:
            observation, _, won, truncated, info = env.step(planner(observation, info))
            assert not truncated
        assert info["won"]


def test_the_planner_sees_through_wrappers_and_a_moved_state(env: gym.Env) -> None:
    wrapped = gym.Wrapper(env)
    planner = ExpertActor("planner", wrapped)
    observation, info = wrapped.reset(seed=1)
    start = env.unwrapped.snapshot()
    first = planner(observation, info)
    wrapped.step(first)
    _, info = env.unwrapped.restore(start)
    assert planner(observation, info) == first


def test_demonstrations_are_trajectories(env: gym.Env, tmp_path: Path) -> None:
    episodes = agentkit.rollout(env, ExpertActor("explorer"), 2, seed=0)
    agentkit.save_trajectories(tmp_path / "demonstrations.jsonl", episodes)
    assert agentkit.load_trajectories(tmp_path / "demonstrations.jsonl") == episodes


def test_nothing_is_left_to_plan_after_winning(env: gym.Env) -> None:
    planner = ExpertActor("planner", env)
    agentkit.rollout(env, planner, 1, seed=0)
    with pytest.raises(ValueError, match="the goal holds"):
        planner("", {"task_id": "x", "admissible_actions": ()})


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"unknown expert 'planer'; did you mean 'planner'\?"):
        ExpertActor("planer")
    with pytest.raises(ValueError, match=r"needs the environment: ExpertActor\('planner', env\)"):
        ExpertActor("planner")
    with pytest.raises(TypeError, match=r"expert_action\(\) method.*got CartPoleEnv"):
        ExpertActor("planner", gym.make("CartPole-v1"))


@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_the_planner_wins_every_real_game(alfworld_data: Path, split: str) -> None:
    env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split=split)
    count = len(list_games(alfworld_data, split))
    result = agentkit.evaluate(env, ExpertActor("planner", env), count).total
    assert (result.episodes, result.won) == (count, count)


EXPECTED_MILESTONES = {
    "look_at_obj_in_light": {"found", "taken", "lamp_used", "examined"},
    "pick_and_place_simple": {"found", "taken", "placed"},
    "pick_clean_then_place_in_recep": {"found", "taken", "cleaned", "placed"},
    "pick_heat_then_place_in_recep": {"found", "taken", "heated", "placed"},
    "pick_cool_then_place_in_recep": {"found", "taken", "cooled", "placed"},
    "pick_two_obj_and_place": {"found", "taken", "placed", "second_found", "second_taken", "second_placed"},
}


def test_a_won_episode_achieves_every_milestone_of_its_task_once(env: gym.Env) -> None:
    episodes = agentkit.rollout(env, ExpertActor("explorer"), 12, seed=0)
    assert {episode.task_type for episode in episodes} == set(EXPECTED_MILESTONES)
    for episode in episodes:
        achieved = [name for step in episode.steps for name in step.milestones]
        assert sorted(achieved) == sorted(EXPECTED_MILESTONES[episode.task_type])
        assert episode.steps[-1].milestones


@pytest.mark.parametrize("kind", ["planner", "explorer"])
def test_experts_play_the_older_generation_of_games(alfworld_data: Path, tmp_path: Path, kind: str) -> None:
    logic = alfworld_data / "logic"
    domain, grammar = (logic / "alfred.pddl").read_text(), (logic / "alfred.twl2").read_text()
    paths = []
    for task_type in EXPECTED_MILESTONES:
        source = Path(list_games(alfworld_data, "valid_unseen", [task_type])[0])
        content = json.loads(source.read_text())
        task = load_game(str(source)).world.task.removeprefix("Your task is to: ").removesuffix(".")
        content |= {"pddl_domain": domain, "grammar": grammar.replace("UNKNOWN GOAL", task)}
        paths.append(tmp_path / source.parent.parent.name / "trial_T1" / source.name)
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_text(json.dumps(content))
    env = gym.make("agentkit/ALFWorld-v0", games=list(map(str, paths)))
    episodes = agentkit.rollout(env, ExpertActor(kind, env), len(paths), seed=0)
    assert all(episode.won for episode in episodes)
    assert any(" in/on " in step.action for episode in episodes for step in episode.steps)
