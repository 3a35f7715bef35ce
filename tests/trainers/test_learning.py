"""A policy that knows nothing learns, and step scores teach it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("trl")

from agentkit.trainers import StepScores

BENCHMARK = Path(__file__).resolve().parents[2] / "examples" / "benchmarks" / "credit_learning.py"


def load(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_success_rises_from_chance_to_over_ninety_per_cent(tmp_path):
    """60 updates, where the benchmark's five seeds need 24 to 41."""
    benchmark = load(BENCHMARK)
    setting = benchmark.Setting(updates=60, group=8, learning_rate=3e-3)
    success = benchmark.learn([StepScores(weight=0.5)], 0, setting, tmp_path, lambda: None)
    assert len(success) == 60
    assert np.mean(success[:5]) < 0.3
    assert np.mean(success[-5:]) > 0.9
    assert benchmark.updates_to_goal(success) is not None


def test_updates_to_the_goal_are_those_of_the_smoothed_curve():
    benchmark = load(BENCHMARK)
    assert benchmark.smoothed([0.0, 1.0]).tolist() == [0.0, 0.5]
    assert benchmark.updates_to_goal([0.0] * 3 + [1.0] * 10) == 8  # five updates at 1.0 leave nothing else in the mean
    assert benchmark.updates_to_goal([0.9] * 20) is None


def test_a_random_speaker_gets_through_one_time_in_nine():
    """At least 4 of 8 words are right, each with probability ¼: 11.4 %."""
    env = load(BENCHMARK).lamps()
    rng = np.random.default_rng(0)
    won = 0
    for _ in range(2000):
        _, info = env.reset()
        ended = False
        while not ended:
            _, _, terminated, truncated, info = env.step(str(rng.choice(info["admissible_actions"])))
            ended = terminated or truncated
        won += info["won"]
    assert won / 2000 == pytest.approx(0.114, abs=0.02)
