"""Environments that raise or hang cost their episode: bounded, counted, completed or dropped by a stated rule."""

import pickle
import threading

import attrs
import gymnasium as gym
import pytest

from agentkit.testing import ScriptedEnv
from agentkit.trainers.robustness.guarding import (
    EnvFailureError,
    GuardedEnv,
    is_dropped,
    mark_failed,
    play_all,
)
from agentkit.trajectory import Trajectory, trajectory_from_dict, trajectory_to_dict
from agentkit.wrappers import ReplaySnapshot

SOON = 0.05
"""Seconds after which a call counts as hanging."""


class Moody(gym.Wrapper):
    """Raises, or waits for an event that nobody sets, when it is told ``action``."""

    def __init__(self, trouble, action="look", error=None):
        super().__init__(ScriptedEnv())
        self.trouble, self.action = trouble, action
        self.error = error or RuntimeError("the grammar broke")
        self.thread = threading.current_thread()

    def step(self, action):
        if action == self.action and self.trouble == "raise":
            raise self.error
        if action == self.action and self.trouble == "hang":
            threading.Event().wait()
        return super().step(action)


class Factory:
    """Makes environments with these troubles, in order; then sound ones."""

    def __init__(self, *troubles, **kwargs):
        self.troubles, self.kwargs = list(troubles), kwargs
        self.made = []

    def __call__(self):
        self.made.append(Moody(self.troubles.pop(0) if self.troubles else None, **self.kwargs))
        return self.made[-1]


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_a_sound_environment_looks_the_same_through_the_guard(timeout):
    bare, guarded = ScriptedEnv(), pickle.loads(pickle.dumps(GuardedEnv(ScriptedEnv, timeout)))
    assert guarded.reset(seed=0) == bare.reset(seed=0)
    for action in ("look", "take key", "unlock chest", "take gem"):
        assert guarded.step(action) == bare.step(action)


def test_a_step_before_the_first_reset_is_the_callers_mistake():
    env = GuardedEnv(ScriptedEnv)
    with pytest.raises(gym.error.ResetNeeded):
        env.step("look")
    env.reset(seed=0)
    assert env.step("look")[1] == 0.0


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_an_environment_that_raises_is_replaced_at_the_next_reset(timeout):
    factory = Factory("raise")
    env = GuardedEnv(factory, timeout)
    env.reset(seed=0)
    with pytest.raises(EnvFailureError, match=r"step\('look'\): RuntimeError: the grammar broke") as caught:
        env.step("look")
    assert caught.value.kind == "raised"
    with pytest.raises(EnvFailureError, match="it failed before; call reset"):
        env.step("look")
    env.reset(seed=0)
    assert env.step("look")[1] == 0.0
    assert len(factory.made) == 2


def test_an_environment_that_hangs_is_left_behind():
    factory = Factory("hang")
    env = GuardedEnv(factory, SOON)
    env.reset(seed=0)
    with pytest.raises(EnvFailureError, match=r"hung: step\('look'\) took longer than 0.05 s") as caught:
        env.step("look")
    assert caught.value.kind == "hung"
    env.reset(seed=0)
    env.step("look")
    assert factory.made[0].thread is not factory.made[1].thread
    assert factory.made[0].thread.daemon
    env.close()


def test_a_timeout_error_of_the_environment_itself_is_not_a_hang():
    env = GuardedEnv(Factory("raise", error=TimeoutError("the server is slow")), 30.0)
    env.reset(seed=0)
    with pytest.raises(EnvFailureError, match="TimeoutError: the server is slow") as caught:
        env.step("look")
    assert caught.value.kind == "raised"


def test_an_environment_lives_in_the_thread_that_made_it():
    seen = []

    class Noting(ScriptedEnv):
        def __init__(self):
            seen.append(threading.current_thread())
            super().__init__()

        def reset(self, **kwargs):
            seen.append(threading.current_thread())
            return super().reset(**kwargs)

    GuardedEnv(Noting, 30.0).reset(seed=0)
    assert len(set(seen)) == 1
    assert seen[0] is not threading.current_thread()


@pytest.mark.parametrize("timeout", [None, SOON])
def test_a_factory_that_fails_is_a_failure_too(timeout):
    def broken():
        raise OSError("no such game")

    with pytest.raises(EnvFailureError, match="making it: OSError: no such game"):
        GuardedEnv(broken, timeout)


def test_keyboard_interrupts_are_not_swallowed():
    env = GuardedEnv(Factory("raise", error=KeyboardInterrupt()))
    env.reset(seed=0)
    with pytest.raises(KeyboardInterrupt):
        env.step("look")


def test_what_wrappers_outside_raise_is_theirs():
    class Broken(gym.Wrapper):
        def step(self, action):
            raise ZeroDivisionError

    env = Broken(GuardedEnv(ScriptedEnv))
    env.reset(seed=0)
    with pytest.raises(ZeroDivisionError):
        env.step("look")


def test_branching_reaches_the_environment():
    env = ReplaySnapshot(GuardedEnv(ScriptedEnv, 30.0))
    env.reset(seed=0)
    moment = env.snapshot()
    env.step("take key")
    assert env.restore(moment)[0] == env.reset(seed=0)[0]


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_branching_is_guarded_as_well(timeout):
    class Unbranchable(ScriptedEnv):
        def snapshot(self):
            raise RuntimeError("the state cannot be copied")

    env = GuardedEnv(Unbranchable, timeout)
    env.reset(seed=0)
    with pytest.raises(EnvFailureError, match=r"snapshot: RuntimeError: the state cannot be copied"):
        env.get_wrapper_attr("snapshot")()


@pytest.mark.parametrize("timeout", [0, -1.0])
def test_a_timeout_must_be_positive(timeout):
    with pytest.raises(ValueError, match=r"timeout must be a positive .* got"):
        GuardedEnv(ScriptedEnv, timeout)


# A batch


@attrs.frozen
class Episode:
    trajectory: Trajectory
    attempt: int = 0


class Playing:
    """Plays N episodes; ``failures[i]`` attempts of the i-th fail."""

    def __init__(self, *failures, kind="raised"):
        self.failures, self.kind, self.calls = failures, kind, []

    def __call__(self, indices, attempt):
        self.calls.append((tuple(indices), attempt))
        return [self.play(i, attempt) for i in indices]

    def play(self, i, attempt):
        trajectory = Trajectory(goal="", steps=(), seed=i)
        if attempt < self.failures[i]:
            trajectory = mark_failed(trajectory, EnvFailureError(self.kind, "the grammar broke"))
        return Episode(trajectory, attempt)


def test_failed_episodes_are_played_again_until_they_succeed():
    playing = Playing(0, 2, 0, 1)
    episodes, report = play_all(playing, 4, max_retries=2)
    assert playing.calls == [((0, 1, 2, 3), 0), ((1, 3), 1), ((1,), 2)]
    assert [e.trajectory.seed for e in episodes] == [0, 1, 2, 3]
    assert [e.attempt for e in episodes] == [0, 2, 0, 1]
    assert not any(is_dropped(e.trajectory) for e in episodes)
    assert report.metrics() == {"env/raised": 3.0, "env/hung": 0.0, "env/retried": 3.0, "env/dropped": 0.0}


def test_what_still_fails_is_dropped(caplog):
    episodes, report = play_all(Playing(0, 9, kind="hung"), 2, max_retries=1)
    assert [is_dropped(e.trajectory) for e in episodes] == [False, True]
    assert report.metrics() == {"env/raised": 0.0, "env/hung": 2.0, "env/retried": 1.0, "env/dropped": 1.0}
    assert "an episode (seed 1, after 0 steps) is lost: the environment hung: the grammar broke" in caplog.text


def test_the_rule_drop_plays_nothing_again():
    playing = Playing(0, 1)
    episodes, report = play_all(playing, 2, rule="drop")
    assert playing.calls == [((0, 1), 0)]
    assert (report.retried, report.dropped) == (0, 1)
    assert is_dropped(episodes[1].trajectory)


def test_the_rule_raise_stops():
    with pytest.raises(EnvFailureError, match="the environment raised: the grammar broke"):
        play_all(Playing(0, 1), 2, rule="raise")


def test_a_batch_without_any_complete_episode_is_an_error():
    with pytest.raises(EnvFailureError, match="this befell all episodes"):
        play_all(Playing(9, 9), 2, max_retries=1)


def test_processes_take_part_in_each_others_attempts():
    """This process is done after its first attempt, while another one needs one more."""
    playing, asked, answers = Playing(0), [], iter([True, False, True])

    def anyone(here):
        asked.append(here)
        return next(answers)

    play_all(playing, 1, anyone=anyone)
    assert playing.calls == [((0,), 0), ((), 1)]
    assert asked == [False, False, True]  # nothing failed here, twice; and something was completed


def test_a_process_without_a_complete_episode_goes_on_if_another_has_one():
    episodes, report = play_all(Playing(9), 1, max_retries=0, anyone=lambda here: True)
    assert is_dropped(episodes[0].trajectory)
    assert report.dropped == 1


@pytest.mark.parametrize(
    ("bad", "named"), [({"rule": "ignore"}, "on_env_failure"), ({"max_retries": -1}, "max_env_retries")]
)
def test_bad_rules_are_named(bad, named):
    with pytest.raises(ValueError, match=named):
        play_all(Playing(0), 1, **bad)


def test_a_failed_episode_is_saved_like_any_other():
    failed = mark_failed(Trajectory(goal="", steps=()), EnvFailureError("hung", "step took too long"))
    assert trajectory_from_dict(trajectory_to_dict(failed)) == failed
    assert failed.info["env_failure"] == {"kind": "hung", "reason": "step took too long"}
