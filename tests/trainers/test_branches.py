"""Branches: what is compared, what it is labelled, and that neither batches nor interruptions change anything."""

import signal
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.actors import ConstrainedReadoutActor, ExpertActor, MistakenActor, RandomActor
from agentkit.branches import load_branch_episodes, load_branches
from agentkit.testing import ScriptedEnv, ScriptedModel
from agentkit.trainers import collect_branches
from agentkit.trainers.branching.collection import _derived_seed, discounted
from tests.references.branches import play_branch
from tests.trainers.branch_actors import GemActor, LazyActor, make_gem_actor, make_gem_env

ROOT = Path(__file__).resolve().parents[2]


def test_pairs_of_a_known_task_by_hand():
    pairs = collect_branches(make_gem_env, make_gem_actor, 1, discount=0.5)
    found = {(p.step, p.a, p.b): (p.return_a, p.return_b, p.label) for p in pairs}
    # From the hall the gem is 3 actions away: 0.5**2; every detour costs one or two actions more.
    assert found == {
        (0, "take key", "look"): (0.25, 0.125, "A"),
        (1, "unlock chest", "look"): (0.5, 0.25, "A"),
        (1, "unlock chest", "drop key"): (0.5, 0.125, "A"),
        (2, "take gem", "look"): (1.0, 0.5, "A"),
        (2, "take gem", "lock chest"): (1.0, 0.25, "A"),
    }
    assert [len(p.history) for p in pairs] == [0, 1, 1, 2, 2]
    assert pairs[-1].history == (
        ("take key", "You hold the key. The chest is locked."),
        ("unlock chest", "The chest is open. A gem lies in it."),
    )


def test_without_a_discount_a_detour_that_still_wins_is_a_tie():
    assert {p.label for p in collect_branches(make_gem_env, make_gem_actor, 1)} == {"T"}


def test_a_time_limit_makes_the_detour_lose():
    pairs = collect_branches(make_gem_env(max_steps=3), make_gem_actor, 1)
    assert {(p.return_a, p.return_b, p.label) for p in pairs} == {(1.0, 0.0, "A")}


def test_a_margin_turns_small_differences_into_ties():
    pairs = collect_branches(make_gem_env, make_gem_actor, 1, discount=0.5, margin=0.25)
    assert {(p.step, p.b): p.label for p in pairs} == {
        (0, "look"): "T",
        (1, "look"): "T",
        (1, "drop key"): "A",
        (2, "look"): "A",
        (2, "lock chest"): "A",
    }


def test_another_actor_can_go_on_after_the_branches():
    pairs = collect_branches(make_gem_env, make_gem_actor, 1, make_continuation=lambda env, seed: LazyActor())
    # Who only looks wins nothing, except where the branch's own action takes the gem.
    assert {(p.step, p.return_a, p.return_b) for p in pairs} == {(0, 0.0, 0.0), (1, 0.0, 0.0), (2, 1.0, 0.0)}


def test_returns_are_those_of_a_plain_replay_from_the_start():
    pairs = collect_branches(make_gem_env, lambda env, seed: RandomActor(seed), 2, continuations=2, seed=5)
    assert len(pairs) > 10
    for pair in pairs:
        prefix = [action for action, _ in pair.history]
        for action, expected in ((pair.a, pair.return_a), (pair.b, pair.return_b)):
            total = sum(
                sum(play_branch(make_gem_env(), RandomActor, pair.seed, actor_seed, prefix, action))
                for actor_seed in (_derived_seed(pair.seed, 1 + number, pair.step) for number in range(2))
            )
            assert expected == pytest.approx(total / 2)


def readout_maker(model):
    return lambda env, seed: ConstrainedReadoutActor(model, temperature=1.0, seed=seed)


def test_batches_do_not_change_the_pairs_and_ask_the_model_together():
    apart, together = ScriptedModel(), ScriptedModel()
    one = collect_branches(make_gem_env, readout_maker(apart), 3, continuations=2)
    many = collect_branches(make_gem_env, readout_maker(together), 3, continuations=2, num_envs=16)
    assert one == many
    assert len({p.return_b for p in one}) > 1
    assert set(apart.calls) == {1}
    assert max(together.calls) > 8
    assert sum(apart.calls) == sum(together.calls)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 50))
def test_num_envs_never_matters(num_envs, episodes, k, continuations, seed):
    options = {"k": k, "continuations": continuations, "seed": seed, "states_per_episode": 3}
    make = lambda env, seed: MistakenActor(GemActor(), 0.5, seed)  # noqa: E731
    expected = collect_branches(make_gem_env, make, episodes, **options)
    assert collect_branches(make_gem_env, make, episodes, num_envs=num_envs, **options) == expected


def test_replay_stands_in_for_a_snapshot():
    class Plain(gym.Env):
        def __init__(self):
            self.inner = ScriptedEnv(max_steps=6)
            self.observation_space, self.action_space = self.inner.observation_space, self.inner.action_space

        def reset(self, *, seed=None, options=None):
            return self.inner.reset(seed=seed)

        def step(self, action):
            return self.inner.step(action)

    make = lambda env, seed: RandomActor(seed)  # noqa: E731
    expected = collect_branches(ScriptedEnv(max_steps=6), make, 2)
    assert collect_branches(Plain(), make, 2) == expected


def test_a_time_limit_outside_is_replayed_instead_of_forgotten():
    def make_env():
        return gym.wrappers.TimeLimit(ScriptedEnv(max_steps=50), 4)

    pairs = collect_branches(make_env, make_gem_actor, 1)
    # One detour still fits into four steps where it costs one, and does not where it costs two.
    assert {(p.b, p.return_b) for p in pairs if p.step == 2} == {("look", 1.0), ("lock chest", 0.0)}


def test_a_memory_is_told_what_happened_before_the_branch():
    model = ScriptedModel()
    collect_branches(make_gem_env(4), make_gem_actor, 1, make_continuation=readout_maker(model))
    after_lock_chest = model.queries[-1].context
    assert after_lock_chest == (
        "Goal: take the gem out of the chest\n"
        "Observation: You are in a hall. You see a key and a locked chest.\nAction: take key\n"
        "Observation: You hold the key. The chest is locked.\nAction: unlock chest\n"
        "Observation: The chest is open. A gem lies in it.\nAction: lock chest\n"
        "Observation: You hold the key. The chest is locked."
    )


class Failing:
    """A model that leaves the questions about one observation unanswered."""

    def __init__(self, seen: str):
        self.seen, self.inner = seen, ScriptedModel({"": "take gem"})

    def __call__(self, queries):
        if any(query.context.endswith(self.seen) for query in queries) and len(queries) > 1:
            raise TimeoutError("the server is gone")
        return [d if not q.context.endswith(self.seen) else self._none(q) for q, d in self._asked(queries)]

    def _asked(self, queries):
        return zip(queries, self.inner(queries), strict=True)

    def _none(self, query):
        from agentkit.decisions import Decision

        return Decision(query.question, unscored="time-out")


@pytest.mark.parametrize("num_envs", [1, 8])
def test_a_failed_continuation_is_unscored_and_costs_the_others_nothing(num_envs, tmp_path):
    def make_actor(env, seed):
        return GemActor()

    def make_continuation(env, seed):
        return ConstrainedReadoutActor(model, seed=seed)

    # The continuation fails wherever the chest is locked and the key in hand; it wins where the chest is open.
    model = Failing("You hold the key. The chest is locked.")
    out = tmp_path / "branches.jsonl"
    pairs = collect_branches(
        make_gem_env, make_actor, 1, make_continuation=make_continuation, num_envs=num_envs, out=out
    )
    states = load_branch_episodes(out)[0].states
    outcomes = {(s.step, b.action): (b.returns, b.unscored) for s in states for b in s.branches}
    assert outcomes[0, "take key"] == ((), 1)
    assert outcomes[2, "lock chest"] == ((), 1)
    assert outcomes[2, "look"] == ((1.0,), 0)
    assert {(p.step, p.b) for p in pairs} == {(2, "look")}


def test_an_actor_that_always_fails_stops_the_collection():
    def broken(queries):
        raise ConnectionError("no server")

    with pytest.raises(RuntimeError, match=r"start of the episode of seed 0: ConnectionError: no server"):
        collect_branches(make_gem_env, readout_maker(broken), 1)
    with pytest.raises(RuntimeError, match="failed in all 5 continuations of the episode of seed 0"):
        collect_branches(make_gem_env(3), make_gem_actor, 1, make_continuation=readout_maker(broken))


def test_the_same_state_of_the_same_task_is_branched_once(tmp_path):
    out = tmp_path / "branches.jsonl"
    pairs = collect_branches(make_gem_env, make_gem_actor, 3, out=out, num_envs=4)
    episodes = load_branch_episodes(out)
    assert [(len(e.states), e.duplicates) for e in episodes] == [(3, 0), (0, 3), (0, 3)]
    assert len(pairs) == len({(p.history, p.a, p.b) for p in pairs}) == 5


def test_no_pair_is_in_a_file_twice_nor_in_two_orders():
    pairs = collect_branches(make_gem_env, lambda env, seed: RandomActor(seed), 8)
    keys = {(p.task_id, p.history, p.observation, frozenset((p.a, p.b))) for p in pairs}
    assert len(keys) == len(pairs)
    assert all(p.a != p.b for p in pairs)


def test_states_are_drawn_by_seed():
    def steps(seed):
        actor = lambda env, seed: MistakenActor(GemActor(), 0.6, 7)  # noqa: E731 - the same episode for every seed
        return [p.step for p in collect_branches(make_gem_env, actor, 1, states_per_episode=2, k=1, seed=seed)]

    assert steps(0) == steps(0)
    assert all(len(steps(seed)) == 2 for seed in range(4))
    assert len({tuple(steps(seed)) for seed in range(8)}) > 1


def test_a_finished_file_is_not_played_again_and_a_longer_one_goes_on(tmp_path):
    out = tmp_path / "branches.jsonl"
    make = lambda env, seed: RandomActor(seed)  # noqa: E731
    first = collect_branches(make_gem_env, make, 2, out=out)

    def never(env, seed):
        raise AssertionError("played again")

    assert collect_branches(make_gem_env, never, 2, out=out) == first
    longer = collect_branches(make_gem_env, make, 4, out=out)
    assert longer == collect_branches(make_gem_env, make, 4)
    assert longer == load_branches(out)


def test_other_settings_do_not_mix_in_one_file(tmp_path):
    out = tmp_path / "branches.jsonl"
    collect_branches(make_gem_env, make_gem_actor, 1, out=out, settings={"actor": "gem"})
    with pytest.raises(
        ValueError, match=r"discount=1.0 \(here 0.9\), actor='gem' \(here 'lazy'\); choose another file"
    ):
        collect_branches(make_gem_env, make_gem_actor, 1, out=out, discount=0.9, settings={"actor": "lazy"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"continuations": 1.5}, "continuations must be a whole number of at least 1, got 1.5"),
        ({"states_per_episode": 0}, "states_per_episode must be"),
        ({"discount": 0.0}, r"discount must be in \(0, 1\], got 0.0"),
        ({"margin": -0.1}, "margin must be at least 0, got -0.1"),
        ({"shares": (0.5, 0.2, 0.2)}, "three numbers >= 0 that sum to 1"),
        ({"seed": -1}, "seed at least 0"),
        ({"num_envs": 0}, "num_envs must be at least 1"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        collect_branches(make_gem_env, make_gem_actor, 1, **options)


def test_one_environment_cannot_be_many():
    with pytest.raises(ValueError, match="env is one environment, so num_envs must be 1, got 2"):
        collect_branches(make_gem_env(), make_gem_actor, 1, num_envs=2)


def test_progress_counts_up_to_what_it_expected():
    seen = []
    collect_branches(make_gem_env, lambda env, seed: RandomActor(seed), 3, on_progress=seen.append)
    assert [p.continuations for p in seen] == sorted(p.continuations for p in seen)
    assert seen[-1].episodes == seen[-1].wanted == 3
    assert seen[-1].continuations == seen[-1].expected


def test_discounted_returns():
    assert discounted([1.0, 2.0, 4.0], 1.0) == 7.0
    assert discounted([], 0.5) == 0.0


KILLED_RUN = """
import os, signal, sys
from agentkit.actors import RandomActor
from agentkit.trainers import collect_branches
from tests.trainers.branch_actors import make_gem_env

def kill(progress):
    if progress.continuations == 300:
        os.kill(os.getpid(), signal.SIGKILL)

collect_branches(
    make_gem_env, lambda env, seed: RandomActor(seed), 40, out=sys.argv[1], num_envs=11, on_progress=kill
)
"""


def test_sigkill_and_again_gives_the_very_same_file(tmp_path: Path):
    out, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    killed = subprocess.run([sys.executable, "-c", KILLED_RUN, str(out)], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert 1 <= len(out.read_bytes().splitlines()) < 40
    with out.open("ab") as file:
        file.write(b'{"seed": 39, "his')  # what a kill in the middle of a line leaves
    make = lambda env, seed: RandomActor(seed)  # noqa: E731
    collect_branches(make_gem_env, make, 40, out=out, num_envs=5)
    collect_branches(make_gem_env, make, 40, out=whole)
    assert out.read_bytes() == whole.read_bytes()


def test_real_games_with_the_planner_prefer_what_is_shorter(alfworld_data):
    def make_env():
        return gym.make("agentkit/ALFWorld-v0", data=alfworld_data, split="valid_seen", max_steps=30)

    def make_actor(env, seed):
        return MistakenActor(ExpertActor("planner", env), 0.3, seed)

    def make_planner(env, seed):
        return ExpertActor("planner", env)

    options = {"make_continuation": make_planner, "discount": 0.9, "states_per_episode": 6, "k": 3}
    pairs = collect_branches(make_env, make_actor, 2, **options)
    assert pairs == collect_branches(make_env, make_actor, 2, num_envs=3, **options)
    labels = [pair.label for pair in pairs]
    assert labels.count("A") > labels.count("B") > 0
    for pair in pairs:
        env = make_env()
        env.reset(seed=pair.seed)
        for action in [action for action, _ in pair.history]:
            env.step(action)
        # A shortest plan of n actions after the branch's own returns 0.9**n.
        env.step(pair.b)
        assert pair.return_b == pytest.approx(0.9 ** plan_steps(env), abs=1e-9) or pair.return_b == 0.0


def plan_steps(env) -> int:
    from agentkit.envs.alfworld.planner import plan_length

    engine = env.unwrapped.engine
    length = plan_length(engine.world, engine.state)
    assert length is not None
    return length
