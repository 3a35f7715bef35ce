import gymnasium as gym
import pytest

from agentkit import rollout
from agentkit.rollout import iterate_rollouts, play_episode
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import JudgeRewardWrapper, RoleCreditWrapper

SOLUTION = ("take key", "unlock chest", "take gem")


class Planned:
    """Plays a plan, from its start in every episode."""

    def __init__(self, plan=SOLUTION):
        self.plan = plan

    def reset(self):
        self.left = list(self.plan)

    def __call__(self, observation, info):
        action = self.left.pop(0)
        self.distribution = {action: 0.75, "look": 0.25}
        return action


class SeedReportingEnv(ScriptedEnv):
    """Tells in its first observation how it was reset."""

    def reset(self, *, seed=None, options=None):
        _, info = super().reset(seed=seed)
        return f"seed {seed}, options {options}", info


def openings(**arguments):
    return [t.steps[0].observation for t in rollout(SeedReportingEnv(), Planned(), **arguments)]


def test_episodes_are_played_to_their_end():
    (trajectory,) = rollout(ScriptedEnv(), Planned())
    assert [s.action for s in trajectory.steps] == list(SOLUTION)
    assert trajectory.won
    assert [s.probability for s in trajectory.steps] == [0.75] * 3


def test_an_actor_can_be_any_callable():
    (trajectory,) = rollout(ScriptedEnv(max_steps=4), lambda observation, info: "look")
    assert (len(trajectory), trajectory.truncated, trajectory.won) == (4, True, False)
    assert trajectory.steps[0].probability is None


def test_episodes_get_consecutive_seeds():
    assert openings(num_episodes=3, seed=5) == [f"seed {s}, options None" for s in (5, 6, 7)]
    assert openings(num_episodes=2) == ["seed None, options None"] * 2


def test_members_of_a_group_share_seed_and_name():
    found = rollout(SeedReportingEnv(), Planned(), 5, seed=5, group_size=2, options={"level": 1})
    assert [t.seed for t in found] == [5, 5, 6, 6, 7]
    assert [t.group for t in found] == ["group-0", "group-0", "group-1", "group-1", "group-2"]
    assert found[0].steps[0].observation == found[1].steps[0].observation == "seed 5, options {'level': 1}"


def test_max_steps_cuts_an_episode():
    trajectory = play_episode(ScriptedEnv(), Planned(), max_steps=2)
    assert len(trajectory) == 2
    assert (trajectory.terminated, trajectory.truncated) == (False, False)


def test_signals_of_wrappers_are_written_back():
    env = RoleCreditWrapper(
        JudgeRewardWrapper(ScriptedEnv(), lambda t: [0.0, None, 1.0], name="judge"), lambda t: ["exploration"] * len(t)
    )
    (trajectory,) = rollout(env, Planned())
    assert [s.scores["judge"].score for s in trajectory.steps] == [0.0, None, 1.0]
    assert [s.role for s in trajectory.steps] == ["exploration"] * 3
    # raw (0, 0, 1) + 0.5 * scores + 0.3 * 0.5
    assert [s.shaped_reward for s in trajectory.steps] == pytest.approx([0.15, 0.15, 1.65])
    assert [s.raw_reward for s in trajectory.steps] == [0.0, 0.0, 1.0]


def test_episodes_come_one_by_one():
    episodes = iterate_rollouts(ScriptedEnv(), Planned(), 1000)
    assert next(episodes).won


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_episodes": 0}, "num_episodes must be at least 1, got 0"),
        ({"group_size": 0}, "group_size must be at least 1, got 0"),
    ],
)
def test_bad_counts(arguments, message):
    with pytest.raises(ValueError, match=message):
        rollout(ScriptedEnv(), Planned(), **arguments)


def test_an_environment_that_is_not_text():
    with pytest.raises(TypeError, match=r"observations must be str, got int; put .*TextualizeWrapper"):
        rollout(gym.make("FrozenLake-v1"), lambda observation, info: "left")
