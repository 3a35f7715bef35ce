"""The trainer: advantages by hand, exact token ids, and λ = 0 as plain outcome GRPO to the bit."""

import copy
import math

import numpy as np
import pytest

pytest.importorskip("trl")

import torch
from gymnasium.wrappers import TimeLimit

from agentkit.decisions import Verdict
from agentkit.models import ConstrainedReadout
from agentkit.testing import ScriptedEnv
from agentkit.trainers import AgentGRPOConfig, AgentGRPOTrainer, StepScores
from agentkit.trainers import grpo as grpo_module
from agentkit.trainers.conversation import ConversationPolicy, play_conversation
from agentkit.trainers.token_episode import TokenEpisode
from agentkit.trajectory import Step, Trajectory, load_trajectories
from agentkit.wrappers import ComparatorGateWrapper, JudgeRewardWrapper


def config(folder, **kwargs):
    settings = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": 4,
        "num_generations": 4,
        "max_steps": 2,
        "max_turns": 4,
        "learning_rate": 1e-2,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
    }
    return AgentGRPOConfig(**{**settings, **kwargs})


DOORS = {
    "start": {
        "observation": "Two doors.",
        "actions": {"left": "hall", "right": {"to": "end", "reward": 1.0}, "wait": "start"},
    },
    "hall": {"observation": "A hall.", "actions": {"left": "start", "right": "hall", "wait": "hall"}},
    "end": {"observation": "Out.", "won": True},
}
"""Actions of one token each, so that a random model tries all of them."""


def doors():
    return ScriptedEnv(copy.deepcopy(DOORS), goal="get out")


def by_position(trajectory):
    """A judge whose scores differ within an episode."""
    return [(t + 1) / len(trajectory) for t in range(len(trajectory))]


def judged(env):
    return JudgeRewardWrapper(env, by_position)


def trainer(tiny, folder, terms=(), wrappers=(judged,), **kwargs):
    return AgentGRPOTrainer(
        tiny.model,
        doors,
        config(folder, **kwargs),
        wrappers=wrappers,
        credit_terms=terms,
        processing_class=tiny.tokenizer,
    )


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def token_episode(step_ids, rewards, scores):
    steps = [
        Step(
            observation="",
            action="a",
            reward=r,
            scores={"j": Verdict.no_score("time-out") if s is None else Verdict(s)},
        )
        for r, s in zip(rewards, scores, strict=True)
    ]
    tokens = TokenEpisode([0], [1] * len(step_ids), list(step_ids), [0.0] * len(step_ids))
    tokens.trajectory = Trajectory(goal="", steps=steps)
    return tokens


def test_token_advantages_of_two_unequal_episodes_by_hand(tiny, tmp_path):
    """Returns 1 and 0: A_out = ±0.5 / (0.70711 + 1e-4). Scores .9 .1 | .5 and an unscored step: mean .5, λ = .5."""
    agent = trainer(tiny, tmp_path, [StepScores(weight=0.5)], num_generations=2, per_device_train_batch_size=2)
    agent._episodes = [
        token_episode([0, 0, -1, -1, 1], [0.0, 1.0], [0.9, 0.1]),
        token_episode([0, -1, 1], [0.0, 0.0], [0.5, None]),
    ]
    outcome = torch.tensor([0.5, -0.5]) / (math.sqrt(0.5) + 1e-4)
    advantages = agent._token_advantages(outcome, agent._step_credit(), 6)
    out = 0.5 / (math.sqrt(0.5) + 1e-4)
    expected = [[out + 0.2, out + 0.2, 0, 0, out - 0.2, 0], [-out, 0, -out, 0, 0, 0]]
    np.testing.assert_allclose(advantages.numpy(), expected, atol=1e-6)
    assert advantages[1, 2] == outcome[1]  # the unscored step adds exactly 0


def test_lambda_zero_trains_bit_identically_to_plain_outcome_grpo(tiny, tmp_path):
    """Against TRL's own advantages, with our override of them taken out."""
    start = copy.deepcopy(tiny.model.state_dict())
    results = []
    for name, terms, plain in (("zero", [StepScores(weight=0.0)], False), ("none", [], False), ("trl", [], True)):
        tiny.model.load_state_dict(start)
        agent = trainer(tiny, tmp_path / name, terms)
        if plain:
            agent._token_advantages = lambda outcome, steps, width: outcome  # the (B,) tensor that TRL made
        agent.train()
        results.append((weights(tiny.model), [e["loss"] for e in agent.state.log_history if "loss" in e]))
    tiny.model.load_state_dict(start)
    assert not torch.equal(results[0][0], weights(tiny.model))
    for other in results[1:]:
        assert torch.equal(results[0][0], other[0])
        assert results[0][1] == other[1]


def test_step_scores_change_what_is_learnt(tiny, tmp_path):
    start = copy.deepcopy(tiny.model.state_dict())
    trained = []
    for weight in (0.0, 0.5):
        tiny.model.load_state_dict(start)
        trainer(tiny, tmp_path / str(weight), [StepScores(weight=weight)]).train()
        trained.append(weights(tiny.model))
    assert not torch.equal(*trained)


def test_a_group_with_one_outcome_still_learns_from_step_scores(tiny, tmp_path):
    """Nobody can win: the outcome advantage is 0 for all, the step scores are not."""
    start = weights(tiny.model)
    seen = {"left": 1.0}
    agent = trainer(
        tiny,
        tmp_path,
        [StepScores()],
        [lambda env: JudgeRewardWrapper(env, lambda t: [seen.get(s.action, 0.0) for s in t.steps])],
        learning_rate=1e-3,
    )
    agent._env.unwrapped._states["start"]["actions"]["right"] = "start"
    agent.train()
    assert all(e.get("frac_reward_zero_std") == 1.0 for e in agent.state.log_history if "loss" in e)
    assert not torch.equal(start, weights(tiny.model))


def test_rollouts_are_saved_with_their_advantages(tiny, tmp_path):
    trainer(tiny, tmp_path, [StepScores()]).train()
    saved = load_trajectories(tmp_path / "rollouts.jsonl")
    assert len(saved) == 8
    assert [t.group for t in saved[:4]] == ["step-0-group-0"] * 4
    for trajectory in saved:
        assert all(step.advantage is not None and step.scores["by_position"].score for step in trajectory.steps)


def test_training_uses_the_sampled_ids_where_reencoding_would_differ(tiny, tmp_path):
    """The action is sampled as single characters; decoding and encoding it again gives other ids."""
    agent = trainer(tiny, tmp_path, num_generations=2, per_device_train_batch_size=2)
    tokenizer = agent._tokenizer
    letters = (i for letter in "look" for i in tokenizer(letter)["input_ids"])
    odd = (*letters, tokenizer.eos_token_id)
    again = tuple(tokenizer(tokenizer.decode(odd, skip_special_tokens=True))["input_ids"])
    assert again != odd[:-1]
    readout = ConstrainedReadout(tiny.model, tokenizer)
    policy = ConversationPolicy(readout, "")
    episodes = []
    for reward in (1.0, 0.0):
        tokens = policy.start("A hall.", {"goal": "g"})
        tokens.add_action(odd, readout.score_tokens(tokens.ids, [odd])[0], 0)
        tokens.trajectory = Trajectory(goal="", steps=[Step(observation="", action="look", reward=reward)])
        episodes.append(tokens)
    agent.play = lambda seeds, size: episodes
    batch = agent._generate_and_score_completions([{"prompt": "", "seed": 0}] * 2)
    assert batch["completion_ids"][0].tolist() == list(odd)
    logps, _, _ = agent._get_per_token_logps_and_entropies(
        agent.model,
        torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1),
        torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1),
        len(odd),
    )
    np.testing.assert_allclose(logps[0].detach().numpy(), episodes[0].log_probabilities, atol=1e-4)
    np.testing.assert_allclose(batch["sampling_per_token_logps"][0].numpy(), episodes[0].log_probabilities, atol=1e-6)


def test_log_probabilities_of_a_whole_conversation_are_the_trainers(tiny, tmp_path):
    agent = trainer(tiny, tmp_path)
    batch = agent._generate_and_score_completions([{"prompt": "", "seed": 3}] * 4)
    with torch.no_grad():
        logps, _, _ = agent._get_per_token_logps_and_entropies(
            agent.model,
            torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1),
            torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1),
            batch["completion_ids"].shape[1],
        )
    chosen = (batch["completion_mask"] * batch["tool_mask"]).bool()
    assert 0 < chosen.sum() < batch["completion_mask"].sum()
    torch.testing.assert_close(logps[chosen], batch["sampling_per_token_logps"][chosen], atol=1e-4, rtol=0)
    assert (batch["advantages"][~chosen] == 0).all()


def test_the_conversation_reads_as_the_chat_it_was(tiny):
    policy = ConversationPolicy(ConstrainedReadout(*tiny), "Play.")
    env = TimeLimit(ScriptedEnv(), 2)
    tokens = play_conversation(
        env, policy, seed=0, group=None, rng=np.random.default_rng(0), max_turns=2, max_tokens=4096
    )
    steps = tokens.trajectory.steps
    messages = [
        {"role": "system", "content": "Play."},
        {"role": "user", "content": f"Goal: {tokens.trajectory.goal}\n\n{steps[0].observation}"},
        {"role": "assistant", "content": steps[0].action},
        {"role": "user", "content": steps[1].observation},
        {"role": "assistant", "content": steps[1].action},
    ]
    text = tiny.tokenizer.apply_chat_template(messages, tokenize=False).removesuffix("\n")
    assert tiny.tokenizer.decode(tokens.ids) == text
    chosen = [i for i, step in zip(tokens.completion_ids, tokens.step_ids, strict=True) if step == 1]
    assert tiny.tokenizer.decode(chosen) == f"{steps[1].action}<|im_end|>"


def test_a_withheld_action_gets_no_credit(tiny):
    """Every first proposal is withheld: its tokens stay in the conversation but belong to no step."""

    def always(comparisons):
        half = len(comparisons) // 2
        return ["B"] * half + ["A"] * half

    policy = ConversationPolicy(ConstrainedReadout(*tiny), "")
    env = ComparatorGateWrapper(TimeLimit(ScriptedEnv(), 2), always)
    tokens = play_conversation(
        env, policy, seed=0, group=None, rng=np.random.default_rng(0), max_turns=2, max_tokens=4096
    )
    ends = [i for i, token in enumerate(tokens.completion_ids) if token == tiny.tokenizer.eos_token_id]
    turns = [tokens.step_ids[i] for i in ends]
    # withheld answer, advice, executed answer, observation; then the same for the second step, which ends the episode
    assert turns == [-1, -1, 0, -1, -1, -1, 1]
    assert len(tokens.trajectory.steps) == 2


def test_terms_must_have_different_names(tiny, tmp_path):
    with pytest.raises(ValueError, match="different names"):
        trainer(tiny, tmp_path, [StepScores(), StepScores()])


@pytest.mark.parametrize("setting", [{"max_turns": 0}, {"action_temperature": 0.0}])
def test_bad_configuration_names_the_argument(tmp_path, setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        config(tmp_path, **setting)


def test_hooks_that_are_overridden_exist():
    from trl import GRPOTrainer

    for name in ("_generate_and_score_completions",):
        assert name in vars(grpo_module.AgentGRPOTrainer)
        assert hasattr(GRPOTrainer, name)
