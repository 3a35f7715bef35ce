"""Random stacks and random episodes: each signal stays with its own step, episode and name, down to the file."""

import tempfile
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit import load_trajectories
from agentkit.credit import ROLE_CONSTANTS
from agentkit.envs.vector import vectorize
from agentkit.wrappers import JudgeRewardWrapper, RecordTrajectoryWrapper, RoleCreditWrapper, vector
from tests.wrappers.numbered import JUDGE_A, JUDGE_B, PREFIX, NumberedEnv, number_of, role_of, roles, score_of

WEIGHTS = {"a": 0.5, "b": 2.0, "prefix": 1.0, "roles": 0.25}
JUDGES = {"a": JUDGE_A, "b": JUDGE_B, "prefix": PREFIX}
LIMIT = 4


def single_parts():
    judges = {name: partial(JudgeRewardWrapper, judge=judge, weight=WEIGHTS[name]) for name, judge in JUDGES.items()}
    return {
        **judges,
        "roles": partial(RoleCreditWrapper, judge=roles, weight=WEIGHTS["roles"]),
        "statistics": RecordEpisodeStatistics,
        "limit": partial(TimeLimit, max_episode_steps=LIMIT),
    }


def vector_parts():
    judges = {
        name: partial(vector.JudgeRewardWrapper, judge=judge, weight=WEIGHTS[name]) for name, judge in JUDGES.items()
    }
    return {
        **judges,
        "roles": partial(vector.RoleCreditWrapper, judge=roles, weight=WEIGHTS["roles"]),
        "statistics": gym.wrappers.vector.RecordEpisodeStatistics,
    }


endings = st.sampled_from(["!", "?", "cut"])
shapes = st.lists(st.tuples(st.integers(1, 6), endings), min_size=1, max_size=6)
"""Episodes: how many steps each, and how it ends ("cut": a reset comes before the end)."""


def stacks(parts):
    return st.lists(st.sampled_from(sorted(parts)), unique=True).flatmap(st.permutations)


def check(recorded, seen_to_end):
    """One episode of the file, against what its actions alone say.

    ``seen_to_end``: the judges (and "roles") that saw the episode end.
    """
    numbers = [number_of(step.action) for step in recorded.steps]
    raw = [number / 8 for number in numbers]
    shaped = list(raw)
    for name, judge in JUDGES.items():
        scores = judge.expected(numbers)
        if name in seen_to_end:
            assert [score_of(step.scores[name]) for step in recorded.steps] == scores
            shaped = [value + WEIGHTS[name] * (score or 0.0) for value, score in zip(shaped, scores, strict=True)]
        else:
            assert all(name not in step.scores for step in recorded.steps)
    if "roles" in seen_to_end:
        names = [role_of(number) for number in numbers]
        assert [step.role for step in recorded.steps] == names
        credits = [0.0 if name is None else WEIGHTS["roles"] * ROLE_CONSTANTS[name] for name in names]
        shaped = [value + credit for value, credit in zip(shaped, credits, strict=True)]
    else:
        assert all(step.role is None for step in recorded.steps)
    assert [step.raw_reward for step in recorded.steps] == raw
    if seen_to_end:
        assert [step.shaped_reward for step in recorded.steps] == pytest.approx(shaped)
    else:
        assert all(step.shaped_reward is None for step in recorded.steps)


def check_rewards(recorded, prefix):
    """What the outermost environment returned: the raw reward and the prefix judge's bonus, which exist at once."""
    for step in recorded.steps:
        number = number_of(step.action)
        bonus = WEIGHTS["prefix"] * (PREFIX.score(number) or 0.0) if prefix else 0.0
        assert step.reward == pytest.approx(number / 8 + bonus)


@settings(max_examples=60, deadline=None)
@given(stacks(single_parts()), shapes)
def test_a_stack_around_one_environment(order, episodes):
    env: gym.Env = NumberedEnv()
    parts = single_parts()
    for name in order:
        env = parts[name](env)
    number, played = 0, []
    with tempfile.TemporaryDirectory() as folder:
        recorder = RecordTrajectoryWrapper(env, Path(folder) / "episodes.jsonl")
        for length, ending in episodes:
            recorder.reset()
            actions, limited = [], False
            for t in range(length):
                number += 1
                actions.append(f"{number}{ending if ending != 'cut' and t == length - 1 else ''}")
                *_, terminated, truncated, _ = recorder.step(actions[-1])
                if terminated or truncated:
                    limited = ending == "cut" or t < length - 1
                    break
            ended = ending != "cut" or limited
            played.append((actions, ended, limited))
        recorder.close()
        recorded = load_trajectories(recorder.path)
    assert len(recorded) == len(played)
    judging = [name for name in order if name in WEIGHTS]
    for trajectory, (actions, ended, limited) in zip(recorded, played, strict=True):
        assert [step.action for step in trajectory.steps] == actions
        # What stands inside the limit does not see the end that the limit makes.
        seen = judging if not limited else [n for n in judging if order.index(n) > order.index("limit")]
        check(trajectory, seen if ended else [])
        check_rewards(trajectory, "prefix" in order)


@settings(max_examples=60, deadline=None)
@given(
    stacks(vector_parts()),
    st.lists(shapes, min_size=1, max_size=3),
    st.sampled_from(AutoresetMode),
    st.data(),
)
def test_a_stack_around_a_vector(order, plans, mode, data):
    env = vectorize([NumberedEnv] * len(plans), autoreset_mode=mode)
    parts = vector_parts()
    for name in order:
        env = parts[name](env)
    with tempfile.TemporaryDirectory() as folder:
        recorder = vector.RecordTrajectoryWrapper(env, Path(folder) / "episodes.jsonl")
        played = drive(recorder, plans, mode, data)
        recorder.close()
        recorded = load_trajectories(recorder.path)
    assert sorted([s.action for s in t.steps] for t in recorded) == sorted(actions for actions, _ in played)
    ends = {tuple(actions): ended for actions, ended in played}
    judging = [name for name in order if name in WEIGHTS]
    for trajectory in recorded:
        check(trajectory, judging if ends[tuple(s.action for s in trajectory.steps)] else [])
        check_rewards(trajectory, "prefix" in order)


def drive(env, plans, mode, data):
    """Play each copy's episodes; what was played in each, and whether it came to its end."""
    count = len(plans)
    number, played = 0, []
    running = [[] for _ in plans]
    over = np.zeros(count, bool)
    left = [iter(plan) for plan in plans]
    current = [next(plan) for plan in left]
    env.reset()
    for _ in range(12):
        wants_cut = [ending == "cut" and len(running[i]) >= length for i, (length, ending) in enumerate(current)]
        mask = np.array(wants_cut) | (over if mode is AutoresetMode.DISABLED else False)
        if mask.any():
            everything = data.draw(st.booleans())
            options = None if everything else {"reset_mask": mask}
            env.reset(options=options)
            for i in range(count) if everything else np.flatnonzero(mask):
                if running[i]:
                    played.append((running[i], False))
                running[i], over[i] = [], False
                current[i] = next(left[i], (3, "!"))
        actions = []
        for i, (length, ending) in enumerate(current):
            number += 1
            last = ending != "cut" and len(running[i]) >= length - 1
            actions.append(f"{number}{ending if last else ''}")
        _, _, terminations, truncations, _ = env.step(tuple(actions))
        for i, action in enumerate(actions):
            if over[i]:  # the step that resets, whose action is ignored
                over[i], running[i], current[i] = False, [], next(left[i], (3, "!"))
                continue
            running[i].append(action)
            if terminations[i] or truncations[i]:
                played.append((running[i], True))
                running[i] = []
                over[i] = mode is not AutoresetMode.SAME_STEP
                if not over[i]:
                    current[i] = next(left[i], (3, "!"))
    return [*played, *((actions, False) for actions in running if actions)]
