"""What goes wrong in long runs, in a real trainer: environments, judges and numbers that fail."""

import json
import math
import threading

import gymnasium as gym
import pytest

pytest.importorskip("trl")

import torch
from safetensors.torch import load_file

from agentkit.decisions import Decision, Usage
from agentkit.judges import StepJudge
from agentkit.models.prices import Price
from agentkit.models.usage import UsageMeter
from agentkit.trainers import AgentGRPOTrainer, StepScores
from agentkit.trainers.robustness.guarding import EnvFailureError, is_dropped
from agentkit.trainers.robustness.outage import JudgeOutageError
from agentkit.trainers.robustness.watch import NonFiniteError
from agentkit.trajectory import load_trajectories
from agentkit.wrappers import JudgeRewardWrapper
from tests.trainers.byte_model import byte_model, doors
from tests.trainers.settings import by_position, config, judged, logged, losses


class Trouble(gym.Wrapper):
    """Makes doors; the ``number``-th step of all environments together raises or hangs, and those of ``always``."""

    taken = 0

    def __init__(self, shared, trouble, number, always=()):
        super().__init__(doors())
        self.shared, self.trouble, self.number, self.always = shared, trouble, number, always
        self.place = len(shared)
        shared.append(self)

    def step(self, action):
        self.shared[0].taken += 1
        if self.shared[0].taken == self.number or self.place in self.always:
            if self.trouble == "hang":
                threading.Event().wait()
            raise RuntimeError("the grammar broke")
        return self.env.step(action)


def factory(trouble, number=6, always=()):
    shared = []
    return lambda: Trouble(shared, trouble, number, always)


class Unstartable(gym.Wrapper):
    """Doors whose first reset of all fails."""

    def __init__(self, resets):
        super().__init__(doors())
        self.resets = resets

    def reset(self, **kwargs):
        self.resets.append(kwargs.get("seed"))
        if len(self.resets) == 1:
            raise OSError("the game file is gone")
        return self.env.reset(**kwargs)


def train(folder, make_env=doors, terms=(), wrappers=(judged,), **settings):
    small = byte_model()
    agent = AgentGRPOTrainer(
        small.model,
        make_env,
        config(folder, **settings),
        wrappers=wrappers,
        credit_terms=terms,
        processing_class=small.tokenizer,
    )
    agent.train()
    return agent


def weights(agent):
    return torch.cat([p.detach().flatten() for p in agent.model.parameters()])


# Environments


@pytest.mark.parametrize(("trouble", "timeout"), [("raise", None), ("hang", 0.2)])
def test_one_broken_environment_costs_its_episode_and_not_the_step(tmp_path, trouble, timeout):
    agent = train(tmp_path, factory(trouble), env_timeout=timeout)
    counted = "env/raised" if trouble == "raise" else "env/hung"
    assert logged(agent, counted) == [1.0, 0.0]
    assert logged(agent, "env/retried") == [1.0, 0.0]
    assert logged(agent, "episodes/dropped") == [0.0, 0.0]
    assert len(losses(agent)) == 2
    assert len(load_trajectories(tmp_path / "rollouts.jsonl")) == 8


def test_an_episode_that_cannot_begin_is_begun_again(tmp_path):
    resets = []
    agent = train(tmp_path, lambda: Unstartable(resets), max_steps=1)
    assert logged(agent, "env/retried") == [1.0]
    assert resets == [resets[0]] * 5  # the same task, in a fresh environment


def test_a_dropped_episode_teaches_nothing_and_counts_in_no_mean(tmp_path):
    """The fourth environment, and each that takes its place, never works."""
    agent = train(tmp_path, factory("raise", 0, always=range(3, 99)), max_steps=1, max_env_retries=1)
    assert logged(agent, "env/dropped") == [1.0]
    assert logged(agent, "episodes/dropped") == [0.25]
    played = load_trajectories(tmp_path / "rollouts.jsonl")
    assert [is_dropped(t) for t in played] == [False, False, False, True]
    returns = [t.total_reward for t in played[:3]]
    spread = torch.tensor(returns).std().item() + 1e-4
    for t, value in zip(played, returns, strict=False):
        expected = (value - sum(returns) / 3) / spread
        assert [s.advantage for s in t.steps] == pytest.approx([expected] * len(t))
    assert all(s.advantage == 0.0 for s in played[3].steps)


def test_the_rule_raise_stops_the_run(tmp_path):
    with pytest.raises(EnvFailureError, match="the grammar broke"):
        train(tmp_path, factory("raise"), on_env_failure="raise")


# Judges


def absent(trajectory):
    raise ConnectionError("the server is gone")


def unreachable(env):
    return JudgeRewardWrapper(env, absent)


def test_in_an_outage_training_goes_on_by_the_outcome_alone(tmp_path):
    plain = train(tmp_path / "plain", wrappers=())
    out = train(tmp_path / "out", terms=[StepScores()], wrappers=[unreachable], on_judge_outage="outcome")
    assert losses(out) == losses(plain)
    assert torch.equal(weights(out), weights(plain))
    assert logged(out, "credit/unscored/absent") == [1.0, 1.0]


def test_a_judge_that_comes_back_has_missed_nothing(tmp_path):
    """It fails while the episodes are played, and answers when it is asked again: as if nothing had been."""
    questions = []

    def flaky(trajectory):
        questions.append(len(trajectory))
        if len(questions) <= 4:
            raise ConnectionError("the server is gone")
        return by_position(trajectory)

    in_time = train(tmp_path / "in time", terms=[StepScores()])
    late = train(tmp_path / "late", terms=[StepScores()], wrappers=[lambda env: JudgeRewardWrapper(env, flaky)])
    assert losses(late) == losses(in_time)
    assert torch.equal(weights(late), weights(in_time))


def test_an_outage_stops_the_run_where_that_is_asked_for(tmp_path):
    with pytest.raises(JudgeOutageError, match="judge 'absent' left at least 50%"):
        train(tmp_path, terms=[StepScores()], wrappers=[unreachable], on_judge_outage="stop")


def test_what_judges_cost_is_logged_as_a_running_total(tmp_path):
    def yes(queries):
        return [Decision(q.question, (0.9, 0.1), usage=Usage(100, 0, 1)) for q in queries]

    meter = UsageMeter(prices={"judge-1": Price(1.0, 1.0)})
    judge = StepJudge(meter.metered(yes, role="judge", model="judge-1"))
    agent = train(tmp_path, terms=[StepScores()], wrappers=[lambda env: JudgeRewardWrapper(env, judge)])
    tokens = logged(agent, "judges/tokens")
    assert tokens[-1] == meter.usage("judge").input_tokens
    assert tokens == sorted(tokens)
    assert logged(agent, "judges/dollars")[-1] == pytest.approx(meter.dollars("judge"))
    assert logged(agent, "judges/seconds")[-1] > 0.0


def test_running_totals_are_not_averaged_over_the_steps_between_two_logs(tmp_path):
    def yes(queries):
        return [Decision(q.question, (0.9, 0.1), usage=Usage(100, 0, 1)) for q in queries]

    meter = UsageMeter()
    judge = StepJudge(meter.metered(yes, role="judge", model="unknown"))
    agent = train(tmp_path, wrappers=[lambda env: JudgeRewardWrapper(env, judge)], logging_steps=2)
    assert logged(agent, "judges/tokens") == [meter.usage("judge").input_tokens]


# Numbers


def test_a_nan_loss_stops_with_its_batch(tmp_path):
    small = byte_model()
    small.model.model.norm.register_forward_hook(lambda m, i, o: o * math.nan if m.training else o)
    agent = AgentGRPOTrainer(small.model, doors, config(tmp_path), wrappers=[judged], processing_class=small.tokenizer)
    with pytest.raises(NonFiniteError, match="the loss is nan in step 0"):
        agent.train()
    folder = tmp_path / "nonfinite-step-0-rank-0"
    assert load_file(folder / "batch-0.safetensors")["completion_ids"].shape[0] == 4
    assert len(load_trajectories(folder / "rollouts.jsonl")) == 4


def test_nan_gradients_stop_before_they_reach_the_weights(tmp_path):
    small = byte_model()
    start = torch.cat([p.detach().flatten().clone() for p in small.model.parameters()])
    small.model.model.norm.weight.register_hook(lambda gradient: gradient * math.nan)
    agent = AgentGRPOTrainer(small.model, doors, config(tmp_path), wrappers=[judged], processing_class=small.tokenizer)
    with pytest.raises(NonFiniteError, match="the norm of the gradients is nan"):
        agent.train()
    assert torch.equal(start, weights(agent))
    report = json.loads((tmp_path / "nonfinite-step-0-rank-0" / "report.json").read_text())
    assert "model.norm.weight" in report["parameters_with_such_gradients"]
    assert report["parameters_with_such_values"] == []


@pytest.mark.parametrize(
    "bad",
    [
        {"env_timeout": 0.0},
        {"on_env_failure": "ignore"},
        {"max_env_retries": -1},
        {"on_judge_outage": "wait"},
        {"judge_outage_share": 0.0},
        {"judge_outage_wait": -1.0},
    ],
)
def test_bad_options_are_named(tmp_path, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        config(tmp_path, **bad)
