"""Branches as training examples: both orders, the words of test time, and hard and soft labels."""

import pytest

from agentkit.branches import BranchEpisode, BranchPair, load_branches, preference
from agentkit.journal import Journal
from agentkit.judges import AbsoluteCritic, PairwiseComparator
from agentkit.testing import ScriptedModel
from agentkit.trainers import collect_branches, comparator_examples, critic_examples, split_by_group
from tests.trainers.branch_actors import make_gem_actor, make_gem_env


def pair(a, b, return_a, return_b, task="t", split="train"):
    label = preference(return_a, return_b)
    return BranchPair(
        goal="g",
        observation="o",
        a=a,
        b=b,
        return_a=return_a,
        return_b=return_b,
        label=label,
        task_id=task,
        split=split,
    )


PAIRS = [pair("p", "q", 1.0, 0.0), pair("p", "r", 1.0, 1.0), pair("s", "t", 0.0, 0.5, "u", "test")]


def test_a_comparator_learns_both_orders_in_the_words_of_test_time():
    comparator = PairwiseComparator(ScriptedModel())
    examples = comparator_examples(PAIRS[:1], comparator)
    asked = [comparator.query(PAIRS[0].comparison()), comparator.query(PAIRS[0].swapped().comparison())]
    assert [e.query for e in examples] == asked
    assert [e.target for e in examples] == ["A", "B"]
    assert {e.group for e in examples} == {"t"}


def test_a_tie_is_a_tie_in_both_orders_and_left_out_where_it_is_no_option(caplog):
    assert [e.target for e in comparator_examples(PAIRS[1:2], PairwiseComparator(ScriptedModel()))] == ["T", "T"]
    examples = comparator_examples(PAIRS, PairwiseComparator(ScriptedModel(), ties=False))
    assert [e.target for e in examples] == ["A", "B", "B", "A"]
    assert "1 pairs are ties" in caplog.text


def test_a_critic_learns_each_action_once_with_its_return_as_a_soft_label():
    critic = AbsoluteCritic(ScriptedModel())
    examples = critic_examples(PAIRS, critic)
    assert [e.target for e in examples] == [(1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)]
    assert [e.query for e in examples[:2]] == [critic.query(PAIRS[0].comparison(), action) for action in "pq"]


def test_a_critic_refuses_returns_that_are_no_probabilities():
    with pytest.raises(ValueError, match=r"returns in \[0, 1\], got 2.0 for 'p' in 't'"):
        critic_examples([pair("p", "q", 2.0, 0.0)], AbsoluteCritic(ScriptedModel()))


def test_a_split_can_be_chosen_and_tasks_stay_together():
    comparator = PairwiseComparator(ScriptedModel())
    assert len(comparator_examples(PAIRS, comparator, split="test")) == 2
    examples = comparator_examples(PAIRS, comparator)
    kept, held_out = split_by_group(examples, 0.3)
    assert {e.group for e in kept}.isdisjoint({e.group for e in held_out})
    assert len(kept) + len(held_out) == 6


def test_a_file_of_branches_stands_for_its_pairs(tmp_path):
    path = tmp_path / "branches.jsonl"
    pairs = collect_branches(make_gem_env, make_gem_actor, 1, out=path, discount=0.5)
    comparator = PairwiseComparator(ScriptedModel())
    assert comparator_examples(path, comparator) == comparator_examples(pairs, comparator)
    assert len(comparator_examples(path, comparator)) == 2 * len(pairs)
    assert Journal(path, BranchEpisode).entries()[0].split == load_branches(path)[0].split


@pytest.mark.slow
def test_a_small_model_trained_on_branches_prefers_what_they_prefer(tiny, tmp_path):
    pytest.importorskip("transformers")
    from agentkit.judges import comparator_report
    from agentkit.models import ConstrainedReadout
    from agentkit.trainers import DecisionConfig, DecisionTrainer

    pairs = collect_branches(make_gem_env, make_gem_actor, 1, discount=0.5)
    readout = ConstrainedReadout(*tiny)
    before = comparator_report(PairwiseComparator(readout), pairs)
    examples = comparator_examples(pairs, PairwiseComparator(readout))
    config = DecisionConfig(
        output_dir=str(tmp_path),
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=10,
        max_steps=40,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    trainer = DecisionTrainer(tiny.model, tiny.tokenizer, config, examples)
    trainer.train()
    after = comparator_report(PairwiseComparator(ConstrainedReadout(*tiny)), pairs)
    assert before.accuracy is not None
    assert after.accuracy is not None
    assert after.accuracy >= before.accuracy + 0.2
    assert (after.consistency or 0.0) > (before.consistency or 0.0)
