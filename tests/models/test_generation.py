"""Batched sampling against a plain forward pass for every token."""

import numpy as np
import pytest
import torch

from agentkit.models.generation import BatchedGenerator

PROMPTS = [tuple(range(100, 110)), (7,), tuple(range(300, 340)), (5, 6, 7)]


@torch.no_grad()
def next_logs(model, ids, temperature):
    logits = model(torch.tensor([ids])).logits[0, -1].double()
    return torch.log_softmax(logits / (temperature or 1.0), dim=-1).numpy()


def plain(model, prompt, count, temperature, rng, stops):
    """One token at a time, without any cache."""
    ids, values = list(prompt), []
    for draw in rng.random(count):
        logs = next_logs(model, ids, temperature)
        cumulative = np.exp(logs).cumsum()
        token = int(logs.argmax() if temperature == 0 else np.searchsorted(cumulative, draw * cumulative[-1], "right"))
        ids.append(token)
        values.append(logs[token])
        if token in stops:
            break
    return tuple(ids[len(prompt) :]), np.array(values)


def rngs():
    return [np.random.default_rng(seed) for seed in range(len(PROMPTS))]


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_equals_one_plain_pass_per_token(tiny, temperature, attention):
    tiny.model.set_attn_implementation(attention)
    generator = BatchedGenerator(*tiny, token_budget=40, max_rows=3)
    answers = generator.generate(PROMPTS, max_new_tokens=6, temperature=temperature, rngs=rngs())
    for prompt, rng, answer in zip(PROMPTS, rngs(), answers, strict=True):
        ids, values = plain(tiny.model, prompt, 6, temperature, rng, generator.stop_ids)
        assert answer.ids == ids
        np.testing.assert_allclose(answer.log_probabilities, values, atol=1e-4)


def test_a_row_does_not_depend_on_its_batch(tiny):
    generator = BatchedGenerator(*tiny)
    together = generator.generate(PROMPTS, max_new_tokens=12, rngs=rngs())
    for i, answer in enumerate(together):
        alone = generator.generate([PROMPTS[i]], max_new_tokens=12, rngs=[rngs()[i]])[0]
        assert alone.ids == answer.ids


def test_stops_at_the_first_stop_token_and_keeps_it(tiny):
    generator = BatchedGenerator(*tiny)
    free = generator.generate(PROMPTS, max_new_tokens=20, rngs=rngs())
    assert not any(answer.stopped for answer in free)
    stop = free[2].ids[3]
    cut = generator.generate(PROMPTS, max_new_tokens=20, rngs=rngs(), stop_ids=[stop])[2]
    assert cut.stopped
    assert cut.ids == free[2].ids[: free[2].ids.index(stop) + 1]
    assert len(cut.log_probabilities) == len(cut.ids)


def test_draws_follow_the_distribution(tiny):
    """The first tokens of many samples have the model's own frequencies."""
    generator = BatchedGenerator(*tiny)
    prompt, count = PROMPTS[0], 2000
    sources = [np.random.default_rng(seed) for seed in range(count)]
    answers = generator.generate([prompt] * count, max_new_tokens=1, temperature=0.05, rngs=sources)
    probabilities = np.exp(next_logs(tiny.model, prompt, 0.05))
    top = int(probabilities.argmax())
    share = np.mean([answer.ids[0] == top for answer in answers])
    spread = np.sqrt(probabilities[top] * (1 - probabilities[top]) / count)
    assert abs(share - probabilities[top]) < 5 * spread


def test_changed_weights_count_at_once(tiny):
    generator = BatchedGenerator(*tiny)
    generator.generate(PROMPTS, max_new_tokens=3, temperature=0.0)
    with torch.no_grad():
        for parameter in tiny.model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    answer = generator.generate(PROMPTS, max_new_tokens=3, temperature=0.0)[0]
    assert answer.ids == plain(tiny.model, PROMPTS[0], 3, 0.0, np.random.default_rng(0), ())[0]


@pytest.mark.parametrize(
    ("prompts", "options", "message"),
    [
        ([()], {}, "empty one"),
        ([(1,)], {"max_new_tokens": 0}, "max_new_tokens must be at least 1"),
        ([(1,)], {"temperature": -1.0}, "temperature must be at least 0"),
        ([(1,)], {"rngs": []}, "0 generators for 1 prompts"),
        ([(1,) * 4090], {}, "4100 positions, the model has 4096"),
    ],
)
def test_bad_input_names_the_argument(tiny, prompts, options, message):
    with pytest.raises(ValueError, match=message):
        BatchedGenerator(*tiny).generate(prompts, **{"max_new_tokens": 10, **options})


def test_sliding_windows_are_refused(tiny):
    tiny.model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(ValueError, match="sliding_attention"):
        BatchedGenerator(*tiny)


def test_no_prompts_no_answers(tiny):
    assert BatchedGenerator(*tiny).generate([], max_new_tokens=3) == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_step_is_the_step(tiny):
    model = tiny.model.to("cuda")
    for prompts in (PROMPTS, [p + p for p in PROMPTS], PROMPTS):  # the second has other sizes, the third comes again
        plain_answers = BatchedGenerator(model, tiny.tokenizer, graphs=False).generate(
            prompts, max_new_tokens=12, rngs=rngs()
        )
        captured = BatchedGenerator(model, tiny.tokenizer, graphs=True).generate(
            prompts, max_new_tokens=12, rngs=rngs()
        )
        assert [a.ids for a in captured] == [a.ids for a in plain_answers]
