"""Collecting a ledger: both arms share their past, the file goes on where it stopped, and what it says is true."""

import gymnasium as gym
import pytest

from agentkit.actors import AdvisedActor, ExpertActor, MistakenActor, RandomActor
from agentkit.causal import collect_ledger, effect_of, load_ledger
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import ComparatorGateWrapper, ReplaySnapshot
from tests.wrappers import judges

FORK = {
    "start": {"observation": "A fork.", "actions": {"left": "pit", "right": "bridge", "wait": "start"}},
    "bridge": {"observation": "A bridge.", "actions": {"cross": {"to": "out", "reward": 1.0}, "jump": "pit"}},
    "pit": {"observation": "A pit.", "lost": True},
    "out": {"observation": "Out.", "won": True},
}


def prefers(*better):
    def compare(comparisons):
        return ["A" if c.a in better else "B" if c.b in better else "T" for c in comparisons]

    return compare


class Saying:
    """Says its actions in turn, but takes advice."""

    def __init__(self, *actions):
        self.actions = actions

    def reset(self):
        self.rest = list(self.actions)

    def __call__(self, observation, info):
        return self.rest.pop(0) if self.rest else "wait"


def fork(*better, **gate):
    return ComparatorGateWrapper(ScriptedEnv(FORK, max_steps=6), prefers(*better), k=3, **gate)


def test_advice_at_the_fork_rescues():
    env = fork("right")
    (episode,) = collect_ledger(env, lambda seed: AdvisedActor(Saying("left", "cross")), 1)
    (row,) = episode.rows
    assert (row.kind, row.step, row.proposal, row.preferred, row.advice) == (
        "rescued",
        0,
        "left",
        ("right",),
        "followed",
    )
    assert (row.steps_without, row.steps_with, row.return_without, row.return_with) == (1, 2, 0.0, 1.0)
    assert row.features["margin"] == pytest.approx(1 / 2)


def test_forcing_a_wrong_action_harms():
    env = fork("left", mode="forced")
    (episode,) = collect_ledger(env, lambda seed: Saying("right", "cross"), 1)
    (row,) = episode.rows
    assert (row.kind, row.advice, row.steps_without, row.steps_with) == ("harmed", None, 2, 1)
    assert (episode.won, episode.possible) == (True, 1)


def test_ignored_advice_changes_nothing():
    env = fork("right")
    (episode,) = collect_ledger(env, lambda seed: AdvisedActor(Saying("left", "left"), follow=0.0), 1)
    assert [(row.kind, row.advice) for row in episode.rows] == [("both wrong", "reproposed")]


def test_each_state_is_intervened_in_alone():
    env = ComparatorGateWrapper(ScriptedEnv(max_steps=8), judges.prefers_progress)
    (episode,) = collect_ledger(env, lambda seed: AdvisedActor(Saying(*["look"] * 8)), 1)
    assert [row.step for row in episode.rows] == list(range(8))
    assert {row.kind for row in episode.rows} == {"both wrong"}, "one step of progress does not win"
    assert {row.steps_with for row in episode.rows} == {8}


def test_a_sample_of_the_states(tmp_path):
    env = ComparatorGateWrapper(ScriptedEnv(max_steps=8), judges.prefers_progress)
    first = collect_ledger(env, lambda seed: Saying(), 1, states_per_episode=3)
    again = collect_ledger(env, lambda seed: Saying(), 1, states_per_episode=3)
    assert first == again
    assert (first[0].possible, len(first[0].rows)) == (8, 3)


class TestFile:
    def collect(self, path, episodes=3, settings="s"):
        played = []
        env = ComparatorGateWrapper(ScriptedEnv(max_steps=6), judges.prefers_progress)
        made = collect_ledger(
            env,
            lambda seed: RandomActor(seed),
            episodes,
            out=path,
            settings=settings,
            on_episode=played.append,
        )
        return made, played

    def test_it_goes_on_where_it_stopped(self, tmp_path):
        whole, _ = self.collect(tmp_path / "whole.jsonl")
        path = tmp_path / "ledger.jsonl"
        self.collect(path, episodes=1)
        resumed, played = self.collect(path)
        assert [episode.seed for episode in played] == [1, 2]
        assert resumed == whole
        assert load_ledger(path) == [row for episode in whole for row in episode.rows]

    def test_a_line_that_was_cut_off_is_played_again(self, tmp_path):
        path = tmp_path / "ledger.jsonl"
        whole, _ = self.collect(path)
        path.write_text(path.read_text("utf-8")[:-20], encoding="utf-8")
        resumed, played = self.collect(path)
        assert [episode.seed for episode in played] == [2]
        assert resumed == whole

    def test_another_setting_needs_another_file(self, tmp_path):
        self.collect(tmp_path / "ledger.jsonl")
        with pytest.raises(ValueError, match="was collected with 's', not 'other'"):
            self.collect(tmp_path / "ledger.jsonl", settings="other")

    def test_a_broken_line_is_named(self, tmp_path):
        path = tmp_path / "ledger.jsonl"
        self.collect(path)
        path.write_text(path.read_text("utf-8").replace('"won": ', '"won": 7, "was": ', 1), encoding="utf-8")
        with pytest.raises(ValueError, match="line 1"):
            load_ledger(path)

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no ledger at"):
            load_ledger(tmp_path / "absent.jsonl")


def test_an_actor_that_is_not_reproducible_is_found_out():
    calls = iter(range(1000))
    env = ComparatorGateWrapper(ScriptedEnv(max_steps=8), judges.prefers_progress)
    with pytest.raises(RuntimeError, match="the actor is not reproducible"):
        collect_ledger(env, lambda seed: RandomActor(next(calls)), 5)


@pytest.mark.parametrize(
    ("env", "missing"),
    [(ScriptedEnv(), "no gate"), (ComparatorGateWrapper(gym.make("FrozenLake-v1"), prefers()), "ReplaySnapshot")],
)
def test_it_needs_a_gate_and_branches(env, missing):
    with pytest.raises(ValueError, match=missing):
        collect_ledger(env, lambda seed: RandomActor(seed), 1)


@pytest.mark.parametrize("numbers", [{"num_episodes": 0}, {"num_episodes": 1, "states_per_episode": 0}])
def test_numbers(numbers):
    with pytest.raises(ValueError, match="must be at least 1"):
        collect_ledger(fork("right"), lambda seed: Saying(), **numbers)


class TestALFWorld:
    def make_actor(self, seed):
        return AdvisedActor(MistakenActor(ExpertActor("explorer"), 0.4, seed=seed), 0.5, seed=seed)

    @pytest.fixture(scope="class")
    def base(self, alfworld_data):
        return gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_unseen", max_steps=20)

    def test_replayed_and_restored_states_agree(self, base):
        """The same ledger whether the environment branches by itself or by replaying its actions."""
        restored = collect_ledger(ComparatorGateWrapper(base, any_going), self.make_actor, 3)
        replayed = collect_ledger(ComparatorGateWrapper(ReplaySnapshot(base), any_going), self.make_actor, 3)
        assert restored == replayed
        assert sum(len(episode.rows) for episode in restored) > 3

    def test_a_wasted_step_harms_only_an_actor_that_is_not_told_of_it(self, base):
        env = ComparatorGateWrapper(base, any_look, mode="forced")

        def effect(make_actor):
            episodes = collect_ledger(env, make_actor, 8, states_per_episode=2)
            return effect_of([row for episode in episodes for row in episode.rows])

        told = effect(lambda seed: AdvisedActor(ExpertActor("explorer")))
        untold = effect(lambda seed: ExpertActor("explorer"))
        assert told.states == untold.states > 5
        assert (told.rescued, untold.rescued) == (0, 0)
        assert told.harmed < untold.harmed


def any_going(comparisons):
    """To go somewhere beats everything else."""
    good = [(c.a.startswith("go to"), c.b.startswith("go to")) for c in comparisons]
    return ["T" if a == b else "A" if a else "B" for a, b in good]


def any_look(comparisons):
    """To look beats everything else."""
    good = [(c.a == "look", c.b == "look") for c in comparisons]
    return ["T" if a == b else "A" if a else "B" for a, b in good]
