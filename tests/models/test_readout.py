"""The readout against one plain forward pass per option, on SmolLM2."""

import numpy as np
import pytest
import torch

from agentkit.decisions import Query, Question
from agentkit.models import ConstrainedReadout
from agentkit.models.scorer import SequenceScorer
from agentkit.models.token_tree import Item

CONTEXT = "Goal: put a clean mug in the coffee machine.\nYou hold a dirty mug. You are at the sink.\n"
SHELVES = Question("Where to?", "choice", ("go to shelf 1", "go to shelf 10", "go to shelf 100", "look"))
HELPED = Question("Did it help?")
QUERIES = [Query(CONTEXT, SHELVES), Query(CONTEXT, HELPED), Query("Another place entirely.", HELPED, "Be strict.")]


@torch.no_grad()
def plain(model, prefix, continuation):
    """Log-probability of each token of the continuation, from a forward pass of its own."""
    ids = [*prefix, *continuation]
    logits = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return np.array([logits[i - 1, ids[i]].item() for i in range(len(prefix), len(ids))])


@pytest.mark.parametrize("remembered", [0, 4])
@pytest.mark.parametrize("budget", [150, 8192])
def test_scores_equal_one_plain_pass_per_option(smol, remembered, budget):
    readout = ConstrainedReadout(*smol, remembered=remembered, token_budget=budget)
    for queries in (QUERIES, QUERIES[::-1], QUERIES[:1]):  # again, so that remembered prefixes are used
        prompts = [readout.encoder.prompt(readout.messages(q)) for q in queries]
        items = [readout.item(p, q.question.options) for p, q in zip(prompts, queries, strict=True)]
        for item, scores in zip(items, readout.scorer.score(items), strict=True):
            for continuation, score in zip(item.continuations, scores, strict=True):
                np.testing.assert_allclose(score, plain(smol.model, item.prefix, continuation), atol=1e-4)


def test_eager_attention_gives_the_same(tiny):
    tiny.model.set_attn_implementation("sdpa")
    expected = ConstrainedReadout(*tiny, remembered=0)(QUERIES)
    tiny.model.set_attn_implementation("eager")
    for one, other in zip(ConstrainedReadout(*tiny, remembered=0)(QUERIES), expected, strict=True):
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-5)


def test_probabilities_are_the_softmax_of_whole_sequences_with_terminator(smol):
    readout = ConstrainedReadout(*smol)
    prompt = readout.encoder.prompt(readout.messages(QUERIES[0]))
    item = readout.item(prompt, SHELVES.options)
    assert all(c[-1:] == readout.encoder.terminator for c in item.continuations)
    sums = np.array([plain(smol.model, item.prefix, c).sum() for c in item.continuations])
    decision = readout(QUERIES[:1])[0]
    np.testing.assert_allclose(decision.probabilities, np.exp(sums) / np.exp(sums).sum(), rtol=1e-3)
    assert decision.label_mass == pytest.approx(np.exp(sums).sum(), rel=1e-3)


def test_an_option_is_not_favoured_for_being_a_beginning(smol):
    """Without the terminator "go to shelf 1" could never score below "go to shelf 10"."""
    readout = ConstrainedReadout(*smol)
    question = Question("Say exactly: go to shelf 10", "choice", ("go to shelf 1", "go to shelf 10"))
    assert readout([Query("", question)])[0].choice == "go to shelf 10"


def test_mean_scoring_divides_by_length(smol):
    sums = ConstrainedReadout(*smol)
    prompt = sums.encoder.prompt(sums.messages(QUERIES[0]))
    table = sums.log_scores([prompt], [SHELVES.options])[0]
    means = table[:, 0] / table[:, 1]
    decision = ConstrainedReadout(*smol, scoring="mean")(QUERIES[:1])[0]
    np.testing.assert_allclose(decision.probabilities, np.exp(means) / np.exp(means).sum(), rtol=1e-3)


def test_pmi_subtracts_the_content_free_score(smol):
    readout = ConstrainedReadout(*smol, scoring="pmi")
    with_context, without = QUERIES[0], Query("N/A", SHELVES)
    prompts = [readout.encoder.prompt(readout.messages(q)) for q in (with_context, without)]
    table = readout.log_scores(prompts, [SHELVES.options] * 2)
    logits = table[0][:, 0] - table[1][:, 0]
    expected = np.exp(logits - logits.max())
    np.testing.assert_allclose(readout([with_context])[0].probabilities, expected / expected.sum(), rtol=1e-3)


def test_duplicates_share_and_a_single_option_is_certain(smol):
    readout = ConstrainedReadout(*smol)
    twice = readout([Query("", Question("?", "choice", ("look", "look", "wait")))])[0].probabilities
    assert twice[0] == pytest.approx(twice[1])
    assert readout([Query("", Question("?", "choice", ("look",)))])[0].probabilities == (1.0,)
    assert readout([]) == []


def test_a_growing_conversation_is_encoded_once(smol):
    scorer = SequenceScorer(smol.model, remembered=2)
    tokens = tuple(range(100, 160))
    scorer.score([Item(tokens, ((5, 6),))])
    first = scorer.tokens_computed
    scorer.score([Item((*tokens, 7, 8, 9), ((5, 6),))])
    assert (first, scorer.tokens_computed - first) == (62, 5)


def test_changed_weights_need_forget(tiny):
    scorer = SequenceScorer(tiny.model, remembered=2)
    item = Item(tuple(range(100, 130)), ((5, 6),))
    before = scorer.score([item])[0][0]
    with torch.no_grad():
        for parameter in tiny.model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    scorer.forget()
    after = scorer.score([item])[0][0]
    np.testing.assert_allclose(after, plain(tiny.model, item.prefix, item.continuations[0]), atol=1e-4)
    assert not np.allclose(before, after)


def test_a_model_is_never_copied(tiny):
    import copy

    readout = ConstrainedReadout(*tiny)
    assert copy.deepcopy(readout) is readout


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"scoring": "max"}, "scoring must be"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"token_budget": 0}, "token_budget must be at least 1"),
    ],
)
def test_bad_settings(tiny, kwargs, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedReadout(*tiny, **kwargs)


def test_unsupported_attention_says_how_to_load(tiny):
    tiny.model.config._attn_implementation = "flash_attention_2"
    with pytest.raises(ValueError, match="attn_implementation='sdpa'"):
        SequenceScorer(tiny.model)
