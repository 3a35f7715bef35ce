"""Micro-batches: cutting, trimming, weights, and the loss and gradients of the undivided batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("trl")

import torch

from agentkit.trainers import StepScores
from agentkit.trainers.batching.micro_batches import MicroBatch, cut, loss_mask, merged, padding_share, select, weights
from tests.trainers.byte_model import byte_model
from tests.trainers.settings import logged, losses, trainer

LOSSES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo")


@given(lengths=st.lists(st.integers(1, 50), min_size=1, max_size=30), budget=st.integers(1, 120))
def test_every_row_is_in_one_part_and_parts_fit_the_budget(lengths, budget):
    parts = cut(lengths, budget)
    assert sorted(i for part in parts for i in part) == list(range(len(lengths)))
    for part in parts:
        assert len(part) == 1 or len(part) * max(lengths[i] for i in part) <= budget


@given(lengths=st.lists(st.integers(1, 50), min_size=1, max_size=30), budget=st.integers(1, 120))
def test_cutting_pads_no_more_than_one_part_does(lengths, budget):
    assert padding_share(lengths, cut(lengths, budget)) <= padding_share(lengths, cut(lengths, None)) + 1e-12


def test_no_budget_is_one_part_in_order():
    assert cut([3, 9, 3, 2], None) == [[0, 1, 2, 3]]
    assert padding_share([3, 9, 3, 2], [[0, 1, 2, 3]]) == pytest.approx(1 - 17 / 36)


def batch():
    """Three rows: prompts of 1, 3, 2 tokens (padded left), completions of 4, 1, 2 (padded right); one is a filler."""
    prompt_mask = torch.tensor([[0, 0, 1], [1, 1, 1], [0, 1, 1]])
    completion_mask = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]])
    tool_mask = torch.tensor([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1]])
    return {
        "prompt_ids": torch.arange(9).view(3, 3),
        "prompt_mask": prompt_mask,
        "completion_ids": torch.arange(12).view(3, 4),
        "completion_mask": completion_mask,
        "tool_mask": tool_mask,
        "advantages": torch.arange(12.0).view(3, 4),
        "ratio": torch.arange(3.0).view(3, 1),
        "row": torch.arange(3),
        "num_items_in_batch": torch.tensor(5),
        "rows_that_teach": torch.tensor(2.0),
    }


def test_select_trims_prompts_on_the_left_and_completions_on_the_right():
    part = select(batch(), [1, 2])
    assert isinstance(part, MicroBatch)
    assert part["prompt_ids"].tolist() == [[3, 4, 5], [6, 7, 8]]
    assert part["completion_ids"].tolist() == [[4, 5], [8, 9]]
    assert part["advantages"].tolist() == [[4.0, 5.0], [8.0, 9.0]]
    assert part["ratio"].tolist() == [[1.0], [2.0]]
    assert part["row"].tolist() == [1, 2]
    assert part["num_items_in_batch"] == 5
    alone = select(batch(), [0])
    assert alone["prompt_ids"].tolist() == [[2]]
    assert alone["completion_ids"].shape == (1, 4)


def test_a_part_without_rows_has_no_token_that_counts():
    part = select(batch(), [])
    assert len(part["completion_ids"]) == 1
    assert loss_mask(part).sum() == 0


def test_a_part_is_filled_up_with_masked_rows():
    """Processes gather values of rows, so rows must be equally many; the weight is for the mean over all of them."""
    whole = batch()
    part = select(whole, [0], 3)
    assert part["completion_mask"].sum(1).tolist() == [4, 0, 0]
    assert whole["completion_mask"][0].sum() == 4
    assert weights(part, whole, "grpo").policy == 3 / 2


def test_weights_by_hand():
    """5 chosen tokens in the batch; the part has 2 of them in 2 of its rows, and 2 rows teach in all."""
    whole = batch()
    part = select(whole, [1, 2])
    assert weights(part, whole, "grpo").policy == 1.0
    assert weights(select(whole, [0]), whole, "dr_grpo").policy == 0.5
    assert weights(part, whole, "bnpo").policy == pytest.approx(2 / 5)
    assert weights(part, whole, "dapo").policy == 1.0
    assert weights(part, whole, "dapo").entropy == pytest.approx(2 / 5)
    with pytest.raises(ValueError, match="max_tokens_per_micro_batch=None"):
        weights(part, whole, "unheard_of")


def test_metrics_of_parts_are_merged_by_tokens():
    nan = float("nan")
    assert merged("entropy", [1.0, 4.0], [2, 1]) == 2.0
    assert merged("entropy", [1.0, nan], [2, 0]) == 1.0
    assert merged("clip_ratio/low_min", [0.5, nan, 0.25], [1, 0, 9]) == 0.25
    assert merged("clip_ratio/high_max", [0.5, 0.25], [1, 9]) == 0.5
    assert np.isnan(merged("kl", [nan], [0]))


def trained(folder, budget, **settings):
    """Plain gradient descent, unclipped, so that weights show the gradients."""
    small = byte_model()
    agent = trainer(
        small,
        folder,
        [StepScores()],
        max_tokens_per_micro_batch=budget,
        optim="sgd",
        learning_rate=0.5,
        max_grad_norm=0.0,
        max_steps=1,
        **settings,
    )
    agent.train()
    return agent, torch.cat([p.detach().flatten() for p in small.model.parameters()])


@pytest.mark.parametrize("loss_type", LOSSES)
@pytest.mark.parametrize("style", ["conversation", "windowed"])
def test_parts_add_up_to_the_undivided_loss_and_gradient(tmp_path, loss_type, style):
    settings = {"loss_type": loss_type, "prompt_style": style, "beta": 0.0, "entropy_coef": 0.05, "max_turns": 3}
    if loss_type == "luspo":
        settings["importance_sampling_level"] = "sequence"
    whole, whole_weights = trained(tmp_path / "whole", None, **settings)
    cut_up, cut_weights = trained(tmp_path / "cut", 1, **settings)
    assert logged(whole, "micro_batches/count") == [1.0]
    assert logged(cut_up, "micro_batches/count")[0] >= 4
    assert logged(cut_up, "micro_batches/padding") == [0.0]
    np.testing.assert_allclose(losses(cut_up), losses(whole), atol=1e-6)
    for name in ("entropy", "policy_loss", "entropy_coef"):
        np.testing.assert_allclose(logged(cut_up, name), logged(whole, name), atol=1e-5)
    assert not torch.equal(whole_weights, torch.cat([p.detach().flatten() for p in byte_model().model.parameters()]))
    torch.testing.assert_close(cut_weights, whole_weights, atol=1e-6, rtol=0)


def test_rows_that_fill_the_batch_up_change_no_loss(tmp_path):
    """The loss of windowed rows is the mean over those that teach, by hand from advantages (the ratio is 1)."""
    agent = trainer(
        byte_model(), tmp_path, [StepScores()], prompt_style="windowed", loss_type="grpo", max_turns=5, max_steps=1
    )
    batches, generate = [], agent._generate_and_score_completions
    agent._generate_and_score_completions = lambda inputs: batches.append(generate(inputs)) or batches[-1]
    agent.train()
    (batch,) = batches
    mask = loss_mask(batch)
    taught = mask.sum(1) > 0
    assert not taught.all()
    rows = -(batch["advantages"] * mask).sum(1)[taught] / mask.sum(1)[taught]
    assert losses(agent)[0] == pytest.approx(float(rows.mean()), abs=1e-6)
