"""Where generated text comes from: the policy itself, or a vLLM that holds its weights."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from agentkit.trainers.rollouts.token_episode import Tokens


@attrs.frozen
class SampledText:
    """A sampled continuation."""

    ids: Sequence[int]
    log_probabilities: Sequence[float]


class LocalGenerator:
    """Generates with the policy's own model, all prompts together.

    Args:
        model: the bare language model.
        tokenizer: its tokenizer.
        stop_ids: tokens that end an answer.
        max_new_tokens: the most tokens of an answer.
        temperature: of the sampled distribution; 0 = greedy.
    """

    def __init__(self, model: Any, tokenizer: Any, stop_ids: Tokens, max_new_tokens: int, temperature: float):
        from agentkit.models.generation import BatchedGenerator

        self._generator = BatchedGenerator(model, tokenizer)
        self._stop_ids, self._max_new_tokens, self._temperature = stop_ids, max_new_tokens, temperature

    def __call__(self, prompts: Sequence[Tokens], rngs: Sequence[np.random.Generator]) -> Sequence[Any]:
        """One continuation for each prompt."""
        if not prompts:
            return []
        return self._generator.generate(
            prompts,
            max_new_tokens=self._max_new_tokens,
            temperature=self._temperature,
            rngs=rngs,
            stop_ids=self._stop_ids,
        )


class VLLMGenerator:
    """Generates with TRL's vLLM, colocated or a server; TRL puts the policy's weights into it.

    Every process must take part in every call with the same number of prompts, so prompts are filled up with copies of
    the first one seen, whose continuations are dropped.

    Args:
        vllm: `trl.generation.vllm_generation.VLLMGeneration`.
        width: prompts of a call, on every process.
        filler: a prompt for processes that have none of their own left.
        max_new_tokens: the most tokens of an answer.
        profiler: makes the context in which vLLM is timed.
    """

    def __init__(self, vllm: Any, width: int, filler: Tokens, max_new_tokens: int, profiler: Callable[[], Any]):
        self._vllm, self._width, self._filler, self._profiler = vllm, width, filler, profiler
        vllm.max_completion_length = max_new_tokens

    def __call__(self, prompts: Sequence[Tokens], rngs: Sequence[np.random.Generator]) -> list[SampledText]:
        """One continuation for each prompt; vLLM draws by itself, so ``rngs`` are not used."""
        filled = [*map(list, prompts), *[list(self._filler)] * (self._width - len(prompts))]
        _, ids, log_probabilities, _ = self._vllm.generate(
            prompts=filled, images=None, num_generations=1, profiler=self._profiler()
        )
        return [
            # vLLM gives the alternatives of each token, the sampled one first; None stands for NaN.
            SampledText(tokens, [math.nan if a[0] is None else float(a[0]) for a in values])
            for tokens, values, _ in zip(ids, log_probabilities, prompts, strict=False)
        ]
