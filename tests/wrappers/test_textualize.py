from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import TransformObservation

from agentkit import make_vec, rollout
from agentkit.actors import RandomActor
from agentkit.testing import check_text_env, check_wrapper
from agentkit.wrappers import TextualizeWrapper
from agentkit.wrappers.text_actions import NamesSpace, NumbersSpace, named_actions
from agentkit.wrappers.text_defaults import text_defaults
from agentkit.wrappers.vector.infos import info_of


class Room(gym.Env):
    """Tells the last action that it was given; any spaces."""

    def __init__(self, action_space, observation_space=None):
        self.action_space = action_space
        self.observation_space = spaces.Discrete(2) if observation_space is None else observation_space
        self.last: Any = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.see(), {}

    def step(self, action):
        self.last = action
        return self.see(), 0.5, False, False, {}

    def see(self):
        self.observation_space.seed(0)
        return self.observation_space.sample()


def play(env, *actions, seed=0):
    observation, info = env.reset(seed=seed)
    steps = [(observation, 0.0, False, False, info)]
    return [*steps, *(env.step(action) for action in actions)]


class TestFrozenLake:
    def env(self, **arguments):
        return TextualizeWrapper(gym.make("FrozenLake-v1", is_slippery=False), **arguments)

    def test_it_is_described(self):
        observation, *_, info = play(self.env())[0]
        assert observation == (
            "You are at row 1, column 1, on the start. "
            "Next to you: left: the edge, down: ice, right: ice, up: the edge.\n"
            "The lake, row 1 on top (S start, F ice, H hole, G goal):\nSFFF\nFHFH\nFFFH\nHFFG"
        )
        assert info["goal"] == "Cross the frozen lake to the goal without falling into a hole."
        assert info["admissible_actions"] == ("left", "down", "right", "up")
        assert (info["task_type"], info["task_id"]) == ("FrozenLake-v1", "FrozenLake-v1#0")

    def test_walking_into_the_edge_changes_nothing(self):
        _, edge, moved = play(self.env(), "up", "down")
        assert (edge[4]["state_changed"], moved[4]["state_changed"]) == (False, True)

    def test_the_goal_is_won_and_a_hole_is_not(self):
        won = play(self.env(), "down", "down", "right", "down", "right", "right")[-1]
        assert (won[1], won[2], won[4]["won"]) == (1.0, True, True)
        lost = play(self.env(), "right", "down")[-1]
        assert (lost[2], lost[4]["won"]) == (True, False)
        assert "You are at row 2, column 2, on a hole." in lost[0]

    def test_a_larger_map(self):
        env = TextualizeWrapper(gym.make("FrozenLake8x8-v1", is_slippery=False))
        assert "You are at row 1, column 8, on ice." in play(env, *["right"] * 7)[-1][0]

    def test_own_words(self):
        env = self.env(describe=lambda state: f"tile {state}", actions=["W", "S", "E", "N"], goal="get over")
        first, second = play(env, "S")
        assert (first[0], second[0]) == ("tile 0", "tile 4")
        assert (second[4]["goal"], second[4]["admissible_actions"]) == ("get over", ("W", "S", "E", "N"))


class TestTaxi:
    @pytest.fixture
    def taxi(self) -> Any:
        return gym.make("Taxi-v4").unwrapped

    @pytest.fixture
    def env(self, taxi):
        return TextualizeWrapper(taxi)

    def test_it_is_described(self, taxi):
        # Counted from 0: row 2, column 2, passenger 3 = Blue, destination 0 = Red; passenger 4 = in the taxi
        defaults = text_defaults(taxi)
        assert defaults is not None
        assert defaults.describe(taxi, taxi.encode(2, 2, 3, 0)) == (
            "The taxi is at row 3, column 3. The passenger waits at Blue (row 5, column 4) "
            "and wants to go to Red (row 1, column 1)."
        )
        inside = defaults.describe(taxi, taxi.encode(0, 4, 4, 1))
        assert "The passenger sits in the taxi and wants to go to Green (row 1, column 5)." in inside

    def test_the_mask_gives_the_admissible_actions(self, env):
        names = ("south", "north", "east", "west", "pick up passenger", "drop off passenger")
        for seed in range(5):
            _, info = env.reset(seed=seed)
            unmasked = tuple(name for name, allowed in zip(names, info["action_mask"], strict=True) if allowed)
            assert info["admissible_actions"] == unmasked
            assert set(unmasked) < set(names)

    def test_a_masked_action_is_a_no_op_that_costs(self, env):
        _, step = play(env, "drop off passenger", seed=1)
        assert (step[1], step[4]["state_changed"]) == (-10.0, False)

    def test_delivering_wins(self, env, taxi):
        env.reset(seed=0)
        taxi.s = taxi.encode(0, 0, 4, 0)
        *_, terminated, _, info = env.step("drop off passenger")
        assert (terminated, info["won"]) == (True, True)


def test_cliff_walking():
    env = TextualizeWrapper(gym.make("CliffWalking-v1"))
    steps = play(env, "right", "up", *["right"] * 11, "down")
    assert steps[1][0].startswith("You are at row 4, column 1 of a grid of 4 rows and 12 columns")
    assert (steps[1][1], steps[1][4]["state_changed"]) == (-100.0, False)  # over the cliff and back to the start
    assert (steps[-1][2], steps[-1][4]["won"]) == (True, True)


class TestMiniGrid:
    @pytest.fixture
    def env(self, monkeypatch):
        monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
        pytest.importorskip("minigrid", reason="minigrid is not installed")
        return TextualizeWrapper(gym.make("MiniGrid-DoorKey-5x5-v0"))

    def test_it_is_described(self, env):
        observation, _, _, _, info = play(env, seed=3)[0]
        assert observation == (
            "You face east. You see a yellow key 1 to the right; a locked yellow door 1 ahead and 1 to the left. "
            "A wall is right in front of you. You carry nothing."
        )
        assert info["goal"] == "use the key to open the door and then get to the goal"

    def test_the_key_is_picked_up(self, env):
        steps = play(env, "pick up", "turn right", "pick up", seed=3)
        assert [info["state_changed"] for *_, info in steps[1:]] == [False, True, True]
        assert steps[-1][0].endswith("You carry a yellow key.")

    def test_check_text_env(self, env):
        check_text_env(env)


class TestOtherSpaces:
    def test_defaults_for_an_unknown_environment(self):
        observation, *_, info = play(TextualizeWrapper(Room(spaces.Discrete(2), spaces.Discrete(4, start=1))))[0]
        assert observation in {f"state {n} of 1 to 4" for n in range(1, 5)}
        assert info["admissible_actions"] == ("action 0", "action 1")
        assert info["task_type"] == "Room"

    def test_discrete_actions_that_do_not_start_at_zero(self):
        room = Room(spaces.Discrete(2, start=5))
        play(TextualizeWrapper(room, actions=["a", "b"]), "b")
        assert room.last == 6

    def test_named_actions_of_any_space(self):
        room = Room(spaces.Box(-1.0, 1.0, (2,), np.float64))
        env = TextualizeWrapper(room, actions={"brake": np.array([-1.0, 0.0]), "go": np.array([1.0, 0.0])})
        _, step = play(env, "go")
        assert room.last.tolist() == [1.0, 0.0]
        assert step[4]["admissible_actions"] == ("brake", "go")

    @pytest.mark.parametrize(
        ("space", "text", "action", "hint"),
        [
            (spaces.Box(-1, 1, (2,)), "0.5 -1", [0.5, -1.0], "2 numbers separated by spaces, in the ranges -1 to 1,"),
            (spaces.Box(0, 2, ()), " 1.5 ", 1.5, "1 number, in the ranges 0 to 2"),
            (spaces.MultiDiscrete([2, 3]), "1 2", [1, 2], "2 whole numbers separated by spaces, as in '0 0'"),
            (spaces.MultiBinary(3), "0 1 1", [0, 1, 1], "3 whole numbers separated by spaces, as in '0 0 0'"),
        ],
    )
    def test_actions_as_numbers(self, space, text, action, hint):
        room = Room(space)
        first, _ = play(TextualizeWrapper(room), text)
        assert np.asarray(room.last).tolist() == action
        assert space.contains(room.last)
        assert first[4]["admissible_actions"] == ()
        assert first[4]["action_hint"].startswith(hint)

    @pytest.mark.parametrize("text", ["0.5", "0.5 0.5 0.5", "a b", "2 0", "nan 0", ""])
    def test_numbers_that_do_not_fit(self, text):
        env = TextualizeWrapper(Room(spaces.Box(-1, 1, (2,))))
        env.reset()
        with pytest.raises(ValueError, match=f"action must be 2 numbers separated by spaces.*, got {text!r}"):
            env.step(text)

    def test_whole_numbers_are_not_rounded(self):
        with pytest.raises(ValueError, match=r"action must be 1 whole number, .*, got '0.5'"):
            NumbersSpace(spaces.MultiBinary(1)).read("0.5")

    def test_samples_are_actions(self):
        space = NumbersSpace(spaces.Box(-1, 1, (2,)), seed=0)
        assert space.sample() in space
        assert NumbersSpace(spaces.Box(-1, 1, (2,)), seed=0).sample() == NumbersSpace(space.space, seed=0).sample()
        assert 3 not in space
        names = NamesSpace(("go", "stop"))
        assert names.sample() in names
        assert "jump" not in names
        assert (names == NamesSpace(("go", "stop")), names == NamesSpace(("go",))) == (True, False)

    def test_nested_observations_are_written_out(self):
        space = spaces.Dict({"position": spaces.Box(0, 1, (2,)), "card": spaces.Tuple([spaces.Discrete(3)])})
        room = Room(spaces.Discrete(2), space)
        room.see = lambda: {"position": np.array([0.25, 1.0], np.float32), "card": (2,)}
        assert play(TextualizeWrapper(room))[0][0] == "card: state 2 of 0 to 2; position: 0.25 1"

    def test_an_array_that_is_written_over_counts_as_changed(self):
        room = Room(spaces.Discrete(2), spaces.Box(0, 9, (1,)))
        array = np.zeros(1, np.float32)

        def see():
            array[0] += room.last or 0
            return array

        room.see = see
        _, stayed, moved = play(TextualizeWrapper(room), "action 0", "action 1")
        assert (stayed[4]["state_changed"], moved[4]["state_changed"]) == (False, True)

    def test_a_known_environment_that_is_observed_otherwise_is_unknown(self):
        env = TransformObservation(gym.make("FrozenLake-v1"), np.atleast_1d, spaces.Box(0, 15, (1,), np.int64))
        first, _ = play(TextualizeWrapper(env), "action 1")
        assert (first[0], first[4]["admissible_actions"][0]) == ("0", "action 0")

    def test_won_can_be_said(self):
        env = TextualizeWrapper(Room(spaces.Discrete(2)), won=lambda reward, terminated: reward >= 0.5)
        assert play(env, "action 0")[-1][4]["won"]

    @pytest.mark.parametrize("name", ["CartPole-v1", "MountainCarContinuous-v0", "Blackjack-v1", "Taxi-v4"])
    def test_checks(self, name):
        check_wrapper(TextualizeWrapper, base=lambda: gym.make(name))
        check_text_env(TextualizeWrapper(gym.make(name)), stochastic=True)


class TestErrors:
    def test_unknown_actions_come_with_near_ones(self):
        env = TextualizeWrapper(gym.make("Taxi-v4"))
        env.reset()
        with pytest.raises(ValueError, match="unknown action 'pickup passenger'; did you mean 'pick up passenger'"):
            env.step("pickup passenger")
        with pytest.raises(ValueError, match="unknown action 'xyz'; known: 'south', 'north', 'east'"):
            env.step("xyz")
        with pytest.raises(TypeError, match="action must be a str"):
            env.step(2)  # pyright: ignore[reportArgumentType]

    def test_steps_outside_an_episode(self):
        env = TextualizeWrapper(gym.make("FrozenLake-v1", is_slippery=False))
        with pytest.raises(ResetNeeded, match="has not begun"):
            env.step("left")
        play(env, "right", "down")
        with pytest.raises(ResetNeeded, match="the episode is over"):
            env.step("left")

    def test_describe_must_return_text(self):
        with pytest.raises(TypeError, match="describe must return a str, got int: 0"):
            TextualizeWrapper(gym.make("FrozenLake-v1"), describe=lambda state: state).reset()

    def test_images_need_a_description(self):
        room = Room(spaces.Discrete(2), spaces.Dict({"image": spaces.Box(0, 255, (8, 8, 3), np.uint8)}))
        with pytest.raises(ValueError, match=r"give describe\(observation\) -> text: .* has 192 numbers"):
            TextualizeWrapper(room)

    @pytest.mark.parametrize(
        ("space", "actions", "error", "message"),
        [
            (spaces.Discrete(2), ["one"], ValueError, "actions must be 2 different names, one for each action"),
            (spaces.Discrete(2), ["one", "one"], ValueError, "actions must be 2 different names"),
            (spaces.Discrete(2), "up", TypeError, "actions must be a list of names or a mapping"),
            (spaces.Discrete(2), [1, 2], TypeError, "non-empty strings as names, got 1"),
            (spaces.Discrete(2), ["", "b"], TypeError, "non-empty strings as names, got ''"),
            (spaces.Discrete(2), {"jump": 2}, ValueError, r"actions\['jump'\] is 2, which is not in the environment"),
            (spaces.Discrete(2), {}, ValueError, "actions is empty; name at least one"),
            (spaces.Box(0, 1), ["go"], ValueError, "actions must be a mapping from names to actions for Box"),
            (spaces.Tuple([spaces.Discrete(2)]), None, ValueError, "give actions, a mapping from names to actions"),
        ],
    )
    def test_names_that_do_not_fit(self, space, actions, error, message):
        with pytest.raises(error, match=message):
            named_actions(space, actions)


def test_random_actors_play_it():
    trajectories = rollout(TextualizeWrapper(gym.make("Taxi-v4")), RandomActor(0), 2, seed=0)
    assert all(step.action in step.admissible_actions for t in trajectories for step in t.steps)


def test_the_toy_environments_probabilities_survive_in_vectors():
    """They give an int at reset and a float at steps, which would make a vector's column one of ints."""
    vector = make_vec("FrozenLake-v1", 2, wrappers=[TextualizeWrapper])
    vector.reset(seed=1)
    for _ in range(40):
        *_, infos = vector.step(("right", "left"))
        assert all(info_of(infos, copy)["prob"] > 0.3 for copy in range(2))
    vector.close()
