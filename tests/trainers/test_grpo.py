"""The trainer: advantages by hand, exact ids and log-probabilities, λ = 0 as TRL's own GRPO, TRL's options."""

import math

import numpy as np
import pytest

pytest.importorskip("trl")

import torch
from trl import GRPOTrainer

from agentkit.decisions import Verdict
from agentkit.trainers import AgentGRPOConfig, RoleCredit, StepScores
from agentkit.trainers.batching.rows import Row, token_advantages
from agentkit.trainers.credit.assignment import assign_credit, with_outcome
from agentkit.trainers.credit.terms import Outcome
from agentkit.trainers.rollouts import playing as playing_module
from agentkit.trainers.rollouts.token_episode import TokenSample
from agentkit.trainers.trl_hooks import HOOKS, check_trl
from agentkit.trajectory import Step, Trajectory, load_trajectories
from agentkit.wrappers import JudgeRewardWrapper
from tests.trainers.byte_model import byte_model, doors
from tests.trainers.settings import ScriptedText, config, logged, losses, trainer

STYLES = ("conversation", "windowed")


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def trained(folder, terms=(), **settings):
    """Weights and losses after training a fresh model, and the trainer."""
    small = byte_model()
    agent = trainer(small, folder, terms, **settings)
    agent.train()
    return weights(small.model), losses(agent), agent


def episode(rewards, scores):
    steps = [
        Step(
            observation="",
            action="a",
            reward=r,
            scores={"j": Verdict.no_score("time-out") if s is None else Verdict(s)},
        )
        for r, s in zip(rewards, scores, strict=True)
    ]
    return Trajectory(goal="", steps=steps)


def test_token_advantages_of_two_unequal_episodes_by_hand():
    """Returns 1 and 0: A_out = ±0.5 / (0.70711 + 1e-4). Scores .9 .1 | .5 and an unscored step: mean .5, λ = .5."""
    group = [episode([0.0, 1.0], [0.9, 0.1]), episode([0.0, 0.0], [0.5, None])]
    credit = assign_credit(group, 2, with_outcome([StepScores(weight=0.5)], Outcome()))
    rows = [
        Row(TokenSample([0], [1] * 5, [0, 0, -1, -1, 1], [0.0] * 5), 0),
        Row(TokenSample([0], [1] * 3, [0, -1, 1], [0.0] * 3), 1),
        Row(TokenSample.empty(0)),
    ]
    out = 0.5 / (math.sqrt(0.5) + 1e-4)
    expected = [[out + 0.2, out + 0.2, 0, 0, out - 0.2, 0], [-out, 0, -out, 0, 0, 0], [0] * 6]
    np.testing.assert_allclose(token_advantages(rows, credit.steps, 6).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("style", STYLES)
def test_weights_of_zero_train_bit_identically_to_no_terms(tmp_path, style):
    zero = trained(tmp_path / "zero", [StepScores(weight=0.0), RoleCredit(weight=0.0)], prompt_style=style)
    none = trained(tmp_path / "none", prompt_style=style)
    assert not torch.equal(zero[0], weights(byte_model().model))
    assert torch.equal(zero[0], none[0])
    assert zero[1] == none[1]


TEXTS = ("<action>left</action><|e|>", "<action>exit</action><|e|>", "no tags<|e|>")


def test_lambda_zero_equals_trls_own_grpo_on_the_same_sequences(tmp_path, monkeypatch):
    """TRL's unchanged `GRPOTrainer` gets the sequences and returns of our rollouts: losses and gradients agree."""
    settings = {"action_style": "generated", "thought": False, "beta": 0.04, "optim": "sgd"}
    small, played = byte_model(), []
    monkeypatch.setattr(playing_module, "LocalGenerator", lambda *_: ScriptedText(small.tokenizer, TEXTS))
    ours = trainer(small, tmp_path / "ours", [StepScores(weight=0.0)], **settings)
    ours.ref_model = byte_reference(ours)
    remember = ours._publish
    monkeypatch.setattr(
        ours, "_publish", lambda episodes, steps: (played.append(list(episodes)), remember(episodes, steps))
    )
    ours.train()

    stock_model, batches = byte_model(), iter(played)

    def rollout(prompts, stock):
        episodes = next(batches)
        samples = [e.samples[0] for e in episodes]
        return {
            "prompt_ids": [s.prompt_ids for s in samples],
            "completion_ids": [s.completion_ids for s in samples],
            "logprobs": [s.log_probabilities for s in samples],
            "env_mask": [[int(i >= 0) for i in s.step_ids] for s in samples],
            "value": [e.trajectory.total_reward for e in episodes],
        }

    stock = GRPOTrainer(
        stock_model.model,
        lambda value, **_: value,
        config(tmp_path / "stock", **settings),
        train_dataset=ours.train_dataset,
        processing_class=stock_model.tokenizer,
        rollout_func=rollout,
    )
    stock.ref_model = byte_reference(stock)
    stock.train()
    assert len(set(logged(ours, "reward_std"))) >= 1
    assert max(map(abs, losses(ours))) > 0
    np.testing.assert_allclose(losses(ours), losses(stock), atol=1e-6)
    np.testing.assert_allclose(logged(ours, "grad_norm"), logged(stock, "grad_norm"), atol=1e-6, rtol=1e-6)
    np.testing.assert_allclose(logged(ours, "kl"), logged(stock, "kl"), atol=1e-6)
    for name in ("reward", "reward_std", "frac_reward_zero_std", "entropy"):
        np.testing.assert_allclose(logged(ours, name), logged(stock, name), atol=1e-6)
    torch.testing.assert_close(weights(small.model), weights(stock_model.model), atol=1e-6, rtol=0)


def byte_reference(agent):
    """Another random model as KL reference, with TRL's head, so that the KL is not 0."""
    from trl.trainer.utils import add_fused_lm_head

    model = byte_model(seed=1).model
    add_fused_lm_head(model)
    return model


@pytest.fixture(autouse=True)
def _reference_without_a_checkpoint(monkeypatch):
    """TRL loads the KL reference from the hub by name; a model that was never saved has none."""
    monkeypatch.setattr("trl.trainer.grpo_trainer.create_model_from_path", lambda *_, **__: byte_model(seed=1).model)


@pytest.mark.parametrize("style", STYLES)
def test_step_scores_change_what_is_learnt(tmp_path, style):
    one = trained(tmp_path / "0", [StepScores(weight=0.0)], prompt_style=style)
    other = trained(tmp_path / "1", [StepScores(weight=0.5)], prompt_style=style)
    assert not torch.equal(one[0], other[0])


def test_a_group_with_one_outcome_still_learns_from_step_scores(tmp_path):
    """Nobody can win: the outcome advantage is 0 for all, the step scores are not."""
    small = byte_model()
    start = weights(small.model)
    agent = trainer(
        small,
        tmp_path,
        [StepScores()],
        [lambda env: JudgeRewardWrapper(env, lambda t: [float(s.action == "left") for s in t.steps])],
        max_turns=1,
        learning_rate=1e-3,
    )
    make = agent.collector.player._factory

    def hopeless():
        env = make()
        env._states["start"]["actions"]["exit"] = "start"
        return env

    agent.collector.player._factory = hopeless
    agent.train()
    assert logged(agent, "frac_reward_zero_std") == [1.0, 1.0]
    assert not torch.equal(start, weights(small.model))


def test_rollouts_are_saved_with_their_advantages(tmp_path):
    trainer(byte_model(), tmp_path, [StepScores()]).train()
    saved = load_trajectories(tmp_path / "rollouts.jsonl")
    assert len(saved) == 8
    assert [t.group for t in saved[:4]] == ["step-0-group-0"] * 4
    for trajectory in saved:
        assert all(step.advantage is not None and step.scores["by_position"].score for step in trajectory.steps)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_sampled_log_probabilities_are_the_trainers(tmp_path, style, temperature):
    """So the importance ratio of the first update is 1, for every chosen token."""
    agent = trainer(byte_model(), tmp_path, prompt_style=style, action_temperature=temperature)
    batch = agent._generate_and_score_completions([{"prompt": "", "seed": 3}] * 4)
    with torch.no_grad(), agent._scoring(agent._samples(batch)):
        logps, entropies, _ = agent._get_per_token_logps_and_entropies(
            agent.model, batch["prompt_ids"], None, batch["completion_ids"].shape[1]
        )
    chosen = (batch["completion_mask"] * batch["tool_mask"]).bool()
    assert chosen.sum() > 8
    torch.testing.assert_close(logps[chosen], batch["sampling_per_token_logps"][chosen], atol=1e-4, rtol=0)
    assert (logps[~chosen] == 0).all()
    assert (entropies[chosen] >= -1e-6).all()
    assert (batch["advantages"][~chosen] == 0).all()


def test_the_ratio_of_a_second_iteration_is_that_of_action_probabilities(tmp_path):
    """Product of token ratios = p_new(a) / p_old(a), with both probabilities from the readout."""
    small = byte_model()
    agent = trainer(small, tmp_path, max_turns=1, num_iterations=2)
    batch = agent._generate_and_score_completions([{"prompt": "", "seed": 3}] * 4)
    first = [row.sample for row in agent._rows]
    with torch.no_grad():
        for p in small.model.parameters():
            p.add_(0.05 * torch.randn(p.shape, generator=torch.Generator().manual_seed(1)))
        with agent._scoring(first):
            logps, _, _ = agent._get_per_token_logps_and_entropies(
                agent.model, batch["prompt_ids"], None, batch["completion_ids"].shape[1]
            )
    ratio = torch.exp((logps - batch["old_per_token_logps"]).sum(1))
    for sample, value in zip(first, ratio.tolist(), strict=True):
        candidates = sample.decisions[0].candidates
        chosen = candidates.index(tuple(sample.completion_ids))
        new = action_probabilities(small.model, sample.prompt_ids, candidates)[chosen]
        old = action_probabilities(byte_model().model, sample.prompt_ids, candidates)[chosen]
        assert value == pytest.approx(new / old, rel=1e-3)


def action_probabilities(model, prefix, candidates):
    scores = []
    for candidate in candidates:
        with torch.no_grad():
            logp = torch.log_softmax(model(input_ids=torch.tensor([[*prefix, *candidate]])).logits[0], -1)
        scores.append(sum(logp[len(prefix) - 1 + j, token] for j, token in enumerate(candidate)))
    return torch.softmax(torch.stack(scores), 0).tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"beta": 0.1},
        {"num_iterations": 2, "epsilon_high": 0.3},
        {"loss_type": "dr_grpo", "scale_rewards": "none"},
        {"loss_type": "grpo", "scale_rewards": "batch", "importance_sampling_level": "sequence"},
        {"gradient_checkpointing": True},
        {"bf16": True},
        {"entropy_coef": 0.01},
        {"mask_truncated_completions": True},
        {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 2},
        {"steps_per_generation": 2, "per_device_train_batch_size": 2, "prompt_style": "windowed"},
        {"statistics": "sample", "prompt_style": "windowed"},
        {"env_threads": 3},
    ],
    ids=lambda options: ",".join(options),
)
def test_options_of_trl_keep_working(tmp_path, options):
    """Training runs, every loss is a number, and the weights move."""
    end, found, agent = trained(tmp_path, [StepScores()], **options)
    assert len(found) == 2
    assert all(math.isfinite(loss) for loss in found)
    assert all(math.isfinite(norm) for norm in logged(agent, "grad_norm"))
    assert not torch.equal(end, weights(byte_model().model))
    assert "kl" in agent.state.log_history[0] or "beta" not in options


def test_gradient_checkpointing_changes_no_loss(tmp_path):
    plain = trained(tmp_path / "plain")
    saved = trained(tmp_path / "saved", gradient_checkpointing=True)
    np.testing.assert_allclose(plain[1], saved[1], atol=1e-6)


@pytest.mark.parametrize("style", STYLES)
def test_peft_trains_the_adapter_alone(tmp_path, style):
    from peft import LoraConfig

    from agentkit.trainers import AgentGRPOTrainer

    small = byte_model()
    before = {name: p.detach().clone() for name, p in small.model.named_parameters()}
    agent = AgentGRPOTrainer(
        small.model,
        doors,
        config(tmp_path, prompt_style=style, beta=0.1),
        processing_class=small.tokenizer,
        peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"]),
    )
    agent.train()
    adapter = [p for name, p in agent.model.named_parameters() if "lora_B" in name]
    assert any((p != 0).any() for p in adapter)
    base = {n.replace("base_model.model.", "").replace(".base_layer", ""): p for n, p in agent.model.named_parameters()}
    for name, value in before.items():
        assert torch.equal(base[name], value)


def test_tensorboard_gets_the_metrics(tmp_path):
    pytest.importorskip("tensorboard")
    agent = trainer(byte_model(), tmp_path, report_to=["tensorboard"], logging_dir=str(tmp_path / "logs"))
    agent.train()
    assert list(tmp_path.rglob("events.out.tfevents*"))


@pytest.mark.parametrize("style", STYLES)
def test_greedy_evaluation_gives_equal_episodes_and_leaves_training_alone(tmp_path, style):
    from agentkit.trainers import AgentGRPOTrainer
    from agentkit.trainers.grpo import tasks

    small = byte_model()
    before = weights(small.model)
    agent = AgentGRPOTrainer(
        small.model,
        doors,
        config(tmp_path, prompt_style=style, eval_temperature=0.0, per_device_eval_batch_size=4),
        processing_class=small.tokenizer,
        eval_dataset=tasks(2),
    )
    found = agent.evaluate()
    assert found["eval_reward_std"] == pytest.approx(0, abs=1e-6)
    assert math.isfinite(found["eval_loss"])
    saved = load_trajectories(tmp_path / "rollouts.jsonl")
    assert {t.group for t in saved} == {"eval-step-0-group-0"}
    assert len({tuple(step.action for step in t.steps) for t in saved}) == 1  # the doors are the same for every seed
    assert torch.equal(before, weights(small.model))


def test_metrics_of_episodes_and_time_are_logged(tmp_path):
    agent = trained(tmp_path, [StepScores()], prompt_style="windowed")[2]
    entry = agent.state.log_history[0]
    saved = load_trajectories(tmp_path / "rollouts.jsonl")[:4]
    assert entry["reward"] == pytest.approx(np.mean([t.total_reward for t in saved]))
    assert entry["episodes/steps"] == np.mean([len(t) for t in saved])
    assert entry["credit/step_scores/mean"] == pytest.approx(0, abs=1e-9)
    parts = ("environment", "judging", "generation", "forward_backward", "idle")
    assert sum(entry[f"time/{part}"] for part in parts) == pytest.approx(entry["time/total"])
    assert 0 <= entry["micro_batches/padding"] < 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_turns": 0}, "max_turns must be at least 1, got 0"),
        ({"window": -1}, "window must be at least 0, got -1"),
        ({"action_temperature": 0.0}, "action_temperature must be positive, got 0.0"),
        ({"eval_temperature": -1.0}, "eval_temperature must be at least 0"),
        ({"prompt_style": "chat"}, "prompt_style must be one of 'conversation', 'windowed', got 'chat'"),
        ({"action_style": "free"}, "action_style must be one of"),
        ({"statistics": "steps"}, "statistics must be one of"),
        ({"invalid_action_penalty": 0.1}, "invalid_action_penalty must be at most 0"),
        ({"max_tokens_per_micro_batch": 0}, "max_tokens_per_micro_batch must be at least 1, or None"),
        ({"temperature": 0.7}, "set action_temperature instead"),
        ({"use_vllm": True}, "action_style='generated'"),
        ({"top_entropy_quantile": 0.5}, "needs whole batches"),
    ],
)
def test_bad_configuration_names_the_argument(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        config(tmp_path, **settings)


def test_terms_must_have_different_names(tmp_path):
    with pytest.raises(ValueError, match="different names"):
        trainer(byte_model(), tmp_path, [StepScores(), StepScores()])


def test_a_term_named_outcome_takes_its_place(tmp_path):
    agent = trainer(byte_model(), tmp_path, [Outcome("none")])
    assert agent.credit_terms == [Outcome("none")]


def test_the_installed_trl_passes_and_others_are_refused():
    check_trl()
    with pytest.raises(ImportError, match=r'tested with trl 1.16 .* pip install "trl>=1.16,<1.17"'):
        check_trl("1.17.0")
    gone = type("Gone", (), {name: getattr(GRPOTrainer, name) for name in HOOKS if name != "_compute_loss"})
    with pytest.raises(ImportError, match=r"has no GRPOTrainer\._compute_loss"):
        check_trl(trainer=gone)
    changed = type("Changed", (GRPOTrainer,), {"_compute_loss": lambda self, batch: None})
    with pytest.raises(ImportError, match=r"_compute_loss .* takes \('batch',\), expected \('model', 'inputs'\)"):
        check_trl(trainer=changed)


def test_every_option_says_what_it_does():
    fields = set(AgentGRPOConfig.__dataclass_fields__) - set(AgentGRPOConfig.__mro__[1].__dataclass_fields__)
    assert "prompt_style" in fields
    assert all(AgentGRPOConfig.__dataclass_fields__[name].metadata.get("help") for name in fields)
