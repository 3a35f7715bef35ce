"""`DecisionTrainer` trains exactly the readout that is used at test time."""

import json

import numpy as np
import pytest

pytest.importorskip("trl")

import torch

from agentkit.decisions import Query, Question
from agentkit.models import ConstrainedReadout
from agentkit.models.readout_settings import SETTINGS_FILE
from agentkit.trainers import DecisionConfig, DecisionExample, DecisionTrainer
from agentkit.trainers.decisions.option_batches import decision_loss

ROOMS = Question("Where to?", "choice", ("go to shelf 1", "go to shelf 10", "look"))
HELPED = Question("Did it help?")
EXAMPLES = [
    DecisionExample(Query("A red room.", ROOMS), "look", "red"),
    DecisionExample(Query("A blue room, with a much longer text around it.", ROOMS), "go to shelf 1", "blue"),
    DecisionExample(Query("A blue room.", HELPED, "Be strict."), "yes", "blue"),
    DecisionExample(Query("A green room.", ROOMS), (0.2, 0.3, 0.5), "green"),
]


def config(folder, **settings):
    plain = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "per_device_train_batch_size": 4,
        "max_steps": 4,
        "learning_rate": 1e-2,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
    }
    return DecisionConfig(**{**plain, **settings})


def trainer(tiny, folder, examples=EXAMPLES, held_out=EXAMPLES, callbacks=None, peft_config=None, **settings):
    args = config(folder, **settings)
    return DecisionTrainer(
        tiny.model, tiny.tokenizer, args, examples, held_out, callbacks=callbacks, peft_config=peft_config
    )


def trained_probabilities(agent):
    """From the differentiable scores that the loss is made of."""
    batch = agent.data_collator(agent.train_dataset)
    with torch.no_grad():
        scores = agent.compute_loss(agent.model.eval(), batch, return_outputs=True)[1]["scores"]
    return [p[: len(e.probabilities)].tolist() for p, e in zip(scores.softmax(-1), EXAMPLES, strict=True)]


@pytest.mark.parametrize(
    ("scoring", "labels"), [("sum", "words"), ("mean", "words"), ("mean", "listed"), ("sum", "letters")]
)
def test_the_saved_folder_answers_with_the_trained_probabilities(tiny, tmp_path, scoring, labels):
    agent = trainer(tiny, tmp_path, scoring=scoring, labels=labels, temperature=5.0, max_steps=2)
    before = trained_probabilities(agent)
    agent.train()
    after = trained_probabilities(agent)
    saved = ConstrainedReadout.from_pretrained(str(agent.save_readout(tmp_path / "saved")))
    assert (saved.scoring, saved.labels, saved.temperature) == (scoring, labels, 5.0)
    decisions = saved([e.query for e in EXAMPLES])
    for trained, decision in zip(after, decisions, strict=True):
        np.testing.assert_allclose(trained, decision.probabilities, atol=1e-4)
    assert not np.allclose(np.concatenate(after), np.concatenate(before), atol=1e-3)


def test_eager_attention_gives_the_same_loss(tiny, tmp_path):
    losses = []
    for attention in ("sdpa", "eager"):
        tiny.model.set_attn_implementation(attention)
        agent = trainer(tiny, tmp_path)
        losses.append(agent.compute_loss(tiny.model, agent.data_collator(agent.train_dataset)).item())
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_the_loss_of_soft_and_hard_labels_by_hand():
    """Scores (0, log 2, -inf) are p = (1/3, 2/3); soft (.25, .75): -.25 log 1/3 - .75 log 2/3 = .5788."""
    scores = torch.log(torch.tensor([[1.0, 2.0, 0.0], [1.0, 1.0, 2.0]]))
    soft, hard = torch.tensor([0.25, 0.75, 0.0]), torch.tensor([0.0, 0.0, 1.0])
    assert decision_loss(scores[:1], soft[None]).item() == pytest.approx(0.578752, abs=1e-5)
    assert decision_loss(scores[1:], hard[None]).item() == pytest.approx(np.log(2), abs=1e-6)
    both = decision_loss(scores, torch.stack([soft, hard])).item()
    assert both == pytest.approx((0.578752 + np.log(2)) / 2, abs=1e-5)


def test_the_loss_of_a_batch_has_finite_gradients_where_rows_have_unequal_options(tiny, tmp_path):
    agent = trainer(tiny, tmp_path)
    agent.compute_loss(tiny.model, agent.data_collator(agent.train_dataset)).backward()
    assert all(torch.isfinite(p.grad).all() for p in tiny.model.parameters() if p.grad is not None)


def test_the_loss_is_the_mean_of_the_examples_own_losses(tiny, tmp_path):
    agent = trainer(tiny, tmp_path)
    together = agent.compute_loss(tiny.model, agent.data_collator(agent.train_dataset)).item()
    alone = [agent.compute_loss(tiny.model, agent.data_collator([row])).item() for row in agent.train_dataset]
    assert together == pytest.approx(np.mean(alone), abs=1e-5)


def test_a_small_set_is_learnt_by_heart_and_measured(tiny, tmp_path):
    hard = EXAMPLES[:3]
    agent = trainer(tiny, tmp_path, hard, hard, max_steps=25, scoring="mean")
    before = agent.measure(hard)
    agent.train()
    after = agent.evaluate()
    assert after["eval_accuracy"] == 1.0
    assert after["eval_nll"] < 0.1 < before.nll
    assert after["eval_ece"] < 0.1
    assert any("eval_nll" in entry for entry in agent.state.log_history)


def test_training_moves_towards_soft_labels_not_beyond(tiny, tmp_path):
    settings = {"max_steps": 25, "scoring": "mean", "lr_scheduler_type": "linear"}
    agent = trainer(tiny, tmp_path, EXAMPLES[3:], EXAMPLES[3:], **settings)
    agent.train()
    assert agent.measure(EXAMPLES[3:]).brier < 0.01


def test_the_same_seed_trains_the_same_and_a_resumed_run_ends_the_same(tiny, tmp_path):
    start = {name: value.clone() for name, value in tiny.model.state_dict().items()}
    ends = []
    for folder, resume in (("a", None), ("b", None), ("b", "checkpoint-2")):
        tiny.model.load_state_dict(start)
        settings = {"save_strategy": "steps", "save_steps": 2, "per_device_train_batch_size": 2}
        agent = trainer(tiny, tmp_path / folder, **settings)
        agent.train(resume_from_checkpoint=str(tmp_path / folder / resume) if resume else None)
        ends.append(torch.cat([p.detach().flatten() for p in agent.model.parameters()]))
    assert torch.equal(ends[0], ends[1])
    assert torch.equal(ends[0], ends[2])


def test_early_stopping_keeps_the_best_weights(tiny, tmp_path):
    """The held-out label contradicts the training label, so that every epoch makes it worse."""
    train, held_out = EXAMPLES[:1], [DecisionExample(EXAMPLES[0].query, "go to shelf 1", "other")]
    agent = trainer(tiny, tmp_path, train, held_out, early_stopping_patience=2, max_steps=-1, num_train_epochs=20)
    agent.train()
    assert agent.state.global_step < 20
    best = min(entry["eval_nll"] for entry in agent.state.log_history if "eval_nll" in entry)
    assert agent.measure(held_out).nll == pytest.approx(best, abs=1e-5)


def test_an_adapter_is_merged_into_the_saved_folder(tiny, tmp_path):
    from peft import LoraConfig

    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    agent = trainer(tiny, tmp_path, peft_config=lora, learning_rate=0.1)
    agent.train()
    assert sum(p.requires_grad for p in agent.model.parameters()) == 8
    decisions = ConstrainedReadout.from_pretrained(str(agent.save_readout(tmp_path / "saved")))(
        [e.query for e in EXAMPLES]
    )
    for trained, decision in zip(trained_probabilities(agent), decisions, strict=True):
        np.testing.assert_allclose(trained, decision.probabilities, atol=1e-4)
    assert not (tmp_path / "saved" / "adapter_config.json").exists()


def test_a_long_example_loses_its_middle_as_at_test_time(tiny, tmp_path):
    long = DecisionExample(Query("Goal.\n" + "A wall.\n" * 200, HELPED), "yes")
    agent = trainer(tiny, tmp_path, [long], [long], max_length=200)
    item = agent.train_dataset[0].item
    assert len(item.prefix) < 200
    with pytest.raises(ValueError, match=r"none of 1 train_examples fits max_length=5"):
        trainer(tiny, tmp_path, [long], [long], max_length=5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "pmi"}, "scoring must be one of sum, mean.*calibrates a model that is not trained"),
        ({"scoring": "max"}, "scoring must be one of"),
        ({"labels": "numbers"}, "labels must be one of words, listed, letters"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"max_length": 0}, "max_length must be at least 1"),
        ({"early_stopping_patience": 0}, "early_stopping_patience must be at least 1"),
    ],
)
def test_bad_settings_name_the_argument(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        config(tmp_path, **settings)


def test_evaluation_without_held_out_examples_says_how_to_get_some(tiny, tmp_path):
    with pytest.raises(ValueError, match="split_by_group"):
        trainer(tiny, tmp_path, held_out=()).evaluate()
    with pytest.raises(ValueError, match="needs eval_examples"):
        trainer(tiny, tmp_path, held_out=(), early_stopping_patience=1)


def test_settings_beside_the_weights_are_checked(tiny, tmp_path):
    folder = trainer(tiny, tmp_path).save_readout(tmp_path / "saved")
    assert json.loads((folder / SETTINGS_FILE).read_text())["labels"] == "words"
    assert ConstrainedReadout.from_pretrained(str(folder), scoring="mean").scoring == "mean"
    (folder / SETTINGS_FILE).write_text('{"skoring": "sum"}')
    with pytest.raises(ValueError, match="must hold an object with the keys scoring, temperature, labels"):
        ConstrainedReadout.from_pretrained(str(folder))
    (folder / SETTINGS_FILE).write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        ConstrainedReadout.from_pretrained(str(folder))
