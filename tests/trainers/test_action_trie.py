"""Exact log-probabilities: by hand, as a chain rule, in numpy as in torch, and against one forward pass a candidate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("trl")

import torch
from trl.trainer.utils import add_fused_lm_head

from agentkit.decisions import softmax
from agentkit.trainers.rollouts.token_episode import Choice, Decision, TokenSample
from agentkit.trainers.scoring.action_layout import lay_out, layout_size
from agentkit.trainers.scoring.action_trie import TrieIndex, exact_log_probabilities, exact_terms
from agentkit.trainers.scoring.exact_scoring import score_samples
from tests.trainers.byte_model import byte_model

END = 9
answers = st.lists(
    st.lists(st.integers(0, 2), max_size=4).map(lambda ids: (*ids, END)), min_size=1, max_size=6, unique=True
)


def test_three_actions_by_hand():
    """p = .2, .3, .5 on (1 9), (1 2 9), (2 9): the first token 1 has .5, then 9 has .4 and 2 has .6."""
    candidates = [(1, END), (1, 2, END), (2, END)]
    scores = np.log([0.2, 0.3, 0.5]) + 7.0  # any constant cancels
    np.testing.assert_allclose(np.exp(exact_log_probabilities(candidates, scores, 0)), [0.5, 0.4])
    np.testing.assert_allclose(np.exp(exact_log_probabilities(candidates, scores, 1)), [0.5, 0.6, 1.0])
    np.testing.assert_allclose(np.exp(exact_log_probabilities(candidates, scores, 2)), [0.5, 1.0])


@given(candidates=answers, data=st.data())
def test_tokens_sum_to_the_action_and_actions_to_one(candidates, data):
    scores = np.array(data.draw(st.lists(st.floats(-30, 0), min_size=len(candidates), max_size=len(candidates))))
    per_action = [exact_log_probabilities(candidates, scores, k).sum() for k in range(len(candidates))]
    np.testing.assert_allclose(np.exp(per_action), softmax(scores), atol=1e-9)
    assert all((exact_log_probabilities(candidates, scores, k) <= 1e-9).all() for k in range(len(candidates)))


def test_equal_candidates_share_their_node():
    """Two equal actions are one text: its probability is the sum of both."""
    values = exact_log_probabilities([(1, END), (1, END), (2, END)], np.log([0.25, 0.25, 0.5]), 0)
    np.testing.assert_allclose(np.exp(values), [0.5, 1.0])


@given(candidates=answers, data=st.data())
def test_torch_is_numpy_and_entropies_sum_to_the_entropy_of_the_action(candidates, data):
    scores = np.array(data.draw(st.lists(st.floats(-8, 0), min_size=len(candidates), max_size=len(candidates))))
    decisions = [Decision(0, len(c), tuple(candidates)) for c in candidates]
    index = TrieIndex.build(decisions, candidates, torch.device("cpu"))
    logps, entropies = exact_terms(torch.tensor(np.tile(scores, (len(candidates), 1))), index)
    for k, candidate in enumerate(candidates):
        expected = exact_log_probabilities(candidates, scores, k)
        np.testing.assert_allclose(logps[k, : len(candidate)], expected, atol=1e-9)
        assert (logps[k, len(candidate) :] == 0).all()
    p = softmax(scores)
    along = np.array([entropies[k, : len(c)].sum() for k, c in enumerate(candidates)])
    np.testing.assert_allclose((p * along).sum(), -(p * np.log(p)).sum(), atol=1e-9)


def test_padding_of_decisions_changes_nothing():
    """A short decision beside a long one: its values, and its gradient, are those it has alone."""
    short, long = [(1, END), (2, END)], [(1, 2, 3, END), (1, 2, 4, END), (1, END), (5, END)]
    alone = torch.tensor([[0.3, -0.2]], dtype=torch.float64, requires_grad=True)
    beside = torch.tensor([[0.3, -0.2, 99.0, -99.0], [0.1, 0.2, 0.3, 0.4]], dtype=torch.float64, requires_grad=True)
    cpu = torch.device("cpu")
    one = exact_terms(alone, TrieIndex.build([Decision(0, 2, tuple(short))], [short[0]], cpu))
    decisions = [Decision(0, 2, tuple(short)), Decision(0, 4, tuple(long))]
    two = exact_terms(beside, TrieIndex.build(decisions, [short[0], long[1]], cpu))
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a[0], b[0, :2])
        a[0].sum().backward(retain_graph=True)
        b[0].sum().backward(retain_graph=True)
    torch.testing.assert_close(alone.grad[0], beside.grad[0, :2])
    assert (beside.grad[0, 2:] == 0).all()


def sample_with_decisions(seed=0):
    """Two turns, with candidates that share beginnings with each other and, by chance, with the chosen ones."""
    rng = np.random.default_rng(seed)
    sample = TokenSample(rng.integers(0, 200, 7).tolist())
    for step in range(2):
        candidates = tuple(
            (*rng.integers(0, 3, rng.integers(1, 5)).tolist(), 210 + k % 2) for k in range(int(rng.integers(2, 9)))
        )
        candidates = tuple(dict.fromkeys(candidates))
        chosen = candidates[int(rng.integers(len(candidates)))]
        sample.add_action(Choice("a", chosen, [0.0] * len(chosen), candidates=candidates), step)
        sample.add_context(rng.integers(0, 200, 5).tolist())
    return sample


def brute_force(model, sample, temperature, width):
    """One forward pass for each candidate, nothing shared, in plain loops."""
    values = torch.zeros(width, dtype=torch.float64)
    for decision in sample.decisions:
        prefix = sample.prompt_ids + sample.completion_ids[: decision.start]
        scores = []
        for candidate in decision.candidates:
            ids = torch.tensor([[*prefix, *candidate]])
            logp = torch.log_softmax(model(input_ids=ids).logits[0].double(), -1)
            picked = [logp[len(prefix) - 1 + j, token] for j, token in enumerate(candidate)]
            scores.append(torch.stack(picked).sum() / temperature)
        stacked = torch.stack(scores)
        chosen = tuple(sample.completion_ids[decision.start : decision.start + decision.size])

        def under(j, candidates=decision.candidates, chosen=chosen, stacked=stacked):
            members = [k for k, candidate in enumerate(candidates) if candidate[:j] == chosen[:j]]
            return torch.logsumexp(stacked[members], 0)

        for j in range(decision.size):
            values[decision.start + j] = under(j + 1) - under(j)
    return values


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_one_pass_equals_one_pass_a_candidate_in_value_and_gradient(attention, temperature):
    model = byte_model(attention=attention).model
    samples = [sample_with_decisions(seed) for seed in range(3)]
    width = max(len(s.completion_ids) for s in samples)
    signs = torch.linspace(-1, 1, width, dtype=torch.float64)
    expected = torch.stack([brute_force(model, s, temperature, width) for s in samples])
    (expected * signs).sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    found, _ = score_samples(model, samples, width=width, temperature=temperature, padding=0, attention=attention)
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=0)
    (found * signs).sum().backward()
    for p, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(p.grad, gradient, atol=1e-5, rtol=1e-4)


def test_the_layout_has_one_position_for_each_edge_beside_the_path():
    for seed in range(20):
        sample = sample_with_decisions(seed)
        assert len(lay_out(sample)) == layout_size(sample)


def test_a_batch_without_decisions_still_has_a_gradient():
    """Every process must take part in the backward pass, whatever its rows hold."""
    model = byte_model().model
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    found, entropies = score_samples(
        model, [TokenSample.empty(0)], width=3, temperature=1.0, padding=0, attention="sdpa"
    )
    assert found.shape == entropies.shape == (1, 3)
    assert (found == 0).all()
    found.sum().backward()
    assert all(p.grad is not None and (p.grad == 0).all() for p in model.parameters())
