"""The supervised warm start trains on exactly what rollouts would have sampled, and on nothing else."""

import copy

import pytest

pytest.importorskip("trl")

import numpy as np
import torch
from trl import SFTConfig

from agentkit.actors import RandomActor
from agentkit.models.chat import ChatEncoder
from agentkit.rollout import rollout
from agentkit.testing import ScriptedEnv
from agentkit.trainers.rollouts.prompts import Wording
from agentkit.trainers.rollouts.styles import make_style, replay
from agentkit.trainers.sft import IGNORED, in_tags, sft_dataset, sft_trainer
from agentkit.trajectory import Step, Trajectory


def episode(*actions, won=True):
    steps = [
        Step(observation=f"room {i}", action=action, reward=0.0, admissible_actions=("left", "right"))
        for i, action in enumerate(actions)
    ]
    return Trajectory(goal="get out", steps=steps, won=won)


def style(tokenizer, name="conversation", **wording):
    return make_style(name, ChatEncoder(tokenizer), Wording(**wording))


@pytest.mark.parametrize("name", ["conversation", "windowed"])
def test_the_labels_are_the_actions_with_their_terminators_and_nothing_else(smol, name):
    trajectory = episode("left", "right", "left")
    rows = sft_dataset([trajectory], style(smol.tokenizer, name))
    assert len(rows) == (1 if name == "conversation" else 3)
    learnt = "".join(smol.tokenizer.decode([i for i in row["labels"] if i != IGNORED]) for row in rows)
    assert learnt == "left<|im_end|>right<|im_end|>left<|im_end|>"
    for row in rows:
        kept = [(i, label) for i, label in zip(row["input_ids"], row["labels"], strict=True) if label != IGNORED]
        assert all(i == label for i, label in kept)


@pytest.mark.parametrize("name", ["conversation", "windowed"])
def test_the_sequences_are_those_of_the_prompt_style(smol, name):
    written = style(smol.tokenizer, name)
    trajectory = rollout(ScriptedEnv(), RandomActor(seed=1), seed=0)[0]
    rows = sft_dataset([trajectory], written, only_won=False)
    assert [row["input_ids"] for row in rows] == [list(sample.ids) for sample in replay(trajectory, written).samples]


def test_generated_actions_are_learnt_in_their_tags(smol):
    (row,) = sft_dataset([episode("left")], style(smol.tokenizer, action_style="generated"), answer=in_tags)
    learnt = smol.tokenizer.decode([i for i in row["labels"] if i != IGNORED])
    assert learnt == "<action>left</action><|im_end|>"


def test_only_won_episodes_teach_unless_asked(smol):
    episodes = [episode("left"), episode("right", won=False)]
    assert len(sft_dataset(episodes, style(smol.tokenizer))) == 1
    assert len(sft_dataset(episodes, style(smol.tokenizer), only_won=False)) == 2
    with pytest.raises(ValueError, match="none of 1 demonstrations was won; set only_won to false"):
        sft_dataset(episodes[1:], style(smol.tokenizer))


def test_sequences_that_will_be_cut_are_counted(smol, caplog):
    sft_dataset([episode("left", "right")], style(smol.tokenizer), max_length=10)
    assert "1 of 1 sequences are longer than max_length=10" in caplog.text


def test_training_makes_the_experts_actions_likely(tiny, tmp_path):
    expert = [episode("right", "left"), episode("right", "right")]
    written = style(tiny.tokenizer)
    args = SFTConfig(
        output_dir=str(tmp_path),
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        max_steps=12,
        learning_rate=1e-2,
        per_device_train_batch_size=2,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        logging_steps=1,
        lr_scheduler_type="constant",
    )
    untrained = copy.deepcopy(tiny.model)
    trainer = sft_trainer(tiny.model, tiny.tokenizer, args, expert, written)
    first = _loss_of_actions(untrained, replay(expert[0], written).samples[0])
    trainer.train()
    assert _loss_of_actions(tiny.model, replay(expert[0], written).samples[0]) < 0.5 * first
    # TRL's first loss is the mean over exactly the labelled tokens of both episodes.
    both = [_token_losses(untrained, replay(t, written).samples[0]) for t in expert]
    logged = next(entry["loss"] for entry in trainer.state.log_history if "loss" in entry)
    assert logged == pytest.approx(np.concatenate(both).mean(), abs=1e-3)


@torch.no_grad()
def _token_losses(model, sample):
    ids = torch.tensor([sample.ids])
    logps = model(ids).logits[0].log_softmax(-1)
    start = len(sample.prompt_ids)
    chosen = [start + i for i, step in enumerate(sample.step_ids) if step >= 0]
    return np.array([-logps[i - 1, ids[0, i]].item() for i in chosen])


def _loss_of_actions(model, sample):
    return _token_losses(model.eval(), sample).mean()
