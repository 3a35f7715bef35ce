"""Sampling of many continuations at once, with the log-probabilities that they were sampled with.

transformers' own ``generate`` launches every kernel of every layer for every token, which on a GPU costs more than the
arithmetic. Here one decoding step (model, softmax, draw, bookkeeping) works on buffers of fixed size and is captured as
a CUDA graph, so that a token costs one launch. Each row keeps its own position, so prompts need no padding on the left
and a row's result does not depend on its neighbours.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import torch
from transformers import DynamicCache
from transformers.cache_utils import Cache, DynamicLayer

from agentkit.models.forwarding import attention_mask, cache_argument, output_of, takes_boolean_masks

_LENGTH_STEP = 256
_CHECKED_EVERY = 8
_KEPT_GRAPHS = 4


@attrs.frozen(eq=False)
class Generated:
    """One sampled continuation of n tokens, the stop token (if it came) included."""

    ids: tuple[int, ...]
    log_probabilities: np.ndarray
    """Float64 of shape (n,), of each token in the distribution it was drawn from."""
    stopped: bool
    """Ended with a stop token; otherwise it was cut at the most tokens allowed."""


class BatchedGenerator:
    """Continues token sequences with a local causal language model.

    Args:
        model: a Hugging Face causal LM with full attention in every layer (``sdpa`` or ``eager``).
        tokenizer: its tokenizer, for the end-of-text token.
        token_budget: the most prompt tokens (rows times padded width) of one forward pass.
        max_rows: the most sequences that are decoded together.
        graphs: capture decoding as CUDA graphs; None = where the model is on such a device.

    The model's weights may change between calls, as long as they stay where they are in memory.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        token_budget: int = 65536,
        max_rows: int = 256,
        graphs: bool | None = None,
    ):
        if token_budget < 1:
            raise ValueError(f"token_budget must be at least 1, got {token_budget}")
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows}")
        takes_boolean_masks(model)
        kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or ["full_attention"])
        if kinds != {"full_attention"}:
            raise ValueError(f"the model has layers of {sorted(kinds)}; only full attention in every layer is decoded")
        self.model = model
        self.stop_ids: tuple[int, ...] = () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
        self.token_budget = token_budget
        self.max_rows = max_rows
        self.graphs = model.device.type == "cuda" if graphs is None else graphs
        self._decoders: OrderedDict[tuple[int, int, float], _Decoder] = OrderedDict()

    def __deepcopy__(self, memo: dict[int, Any]) -> "BatchedGenerator":
        return self

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_new_tokens: int,
        temperature: float = 1.0,
        rngs: Sequence[np.random.Generator] | None = None,
        stop_ids: Sequence[int] = (),
    ) -> list[Generated]:
        """One continuation for each prompt, in order.

        Args:
            prompts: token ids, at least one each.
            max_new_tokens: the most tokens of a continuation, at least 1.
            temperature: divides the logits; 0 = the most probable token, whose log-probability is that at 1.
            rngs: a generator of random numbers for each prompt, which makes a row independent of its batch; None = new
                ones.
            stop_ids: tokens that end a continuation, besides the end-of-text token.

        Raises:
            ValueError: an empty prompt, a negative temperature, a wrong number of generators, or prompts longer than
                the model's positions allow.
        """
        self._check(prompts, max_new_tokens, temperature, rngs)
        sources = [np.random.default_rng() for _ in prompts] if rngs is None else rngs
        draws = np.array([rng.random(max_new_tokens) for rng in sources]).reshape(len(prompts), max_new_tokens)
        stops = sorted({*self.stop_ids, *stop_ids})
        results: dict[int, Generated] = {}
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        for start in range(0, len(order), self.max_rows):
            rows = order[start : start + self.max_rows]
            answers = self._continue([prompts[i] for i in rows], draws[rows], temperature, stops)
            results.update(zip(rows, answers, strict=True))
        return [results[i] for i in range(len(prompts))]

    def _check(self, prompts: Any, max_new_tokens: int, temperature: float, rngs: Any) -> None:
        if max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
        if not temperature >= 0:
            raise ValueError(f"temperature must be at least 0, got {temperature!r}")
        if not all(len(prompt) for prompt in prompts):
            raise ValueError("prompts holds an empty one; the first token needs something to follow")
        if rngs is not None and len(rngs) != len(prompts):
            raise ValueError(f"rngs has {len(rngs)} generators for {len(prompts)} prompts")
        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        longest = max(map(len, prompts), default=0) + max_new_tokens
        if limit is not None and longest > limit:
            raise ValueError(f"prompts and max_new_tokens need up to {longest} positions, the model has {limit}")

    def _continue(
        self, prompts: Sequence[Sequence[int]], draws: np.ndarray, temperature: float, stops: Sequence[int]
    ) -> list[Generated]:
        decoder = self._decoder(len(prompts), len(prompts[-1]) + draws.shape[1], temperature)
        decoder.begin(stops)
        for start, end in _chunks([len(p) for p in prompts], self.token_budget):
            self._encode(decoder, prompts[start:end], draws[start:end, 0], start)
        ids, values = decoder.run(torch.from_numpy(draws), len(prompts))
        return [_until_stop(ids[row], values[row], stops) for row in range(len(prompts))]

    def _encode(self, decoder: "_Decoder", prompts: Sequence[Sequence[int]], draws: np.ndarray, start: int) -> None:
        """Prompts into keys and values, and the first token of each continuation."""
        device = self.model.device
        lengths = torch.tensor([len(p) for p in prompts], device=device)
        tokens = torch.zeros((len(prompts), int(lengths.max())), dtype=torch.long)
        for row, prompt in enumerate(prompts):
            tokens[row, : len(prompt)] = torch.as_tensor(prompt)
        cache = DynamicCache()
        last = torch.arange(len(prompts), device=device), lengths - 1
        with output_of(self.model, lambda hidden: hidden[last][:, None]):
            # Padded on the right under a causal mask: no real token sees the padding.
            output = self.model(input_ids=tokens.to(device), use_cache=True, **{cache_argument(self.model): cache})
        decoder.fill(cache, lengths, output.logits[:, 0], torch.from_numpy(draws).to(device), start)

    def _decoder(self, rows: int, length: int, temperature: float) -> "_Decoder":
        """Buffers of at least this size; sizes are rounded up, so that few different graphs are captured."""
        if not self.graphs:
            return _Decoder(self.model, rows, length, temperature, captured=False)
        key = (1 << (rows - 1).bit_length(), -(-length // _LENGTH_STEP) * _LENGTH_STEP, temperature)
        if key not in self._decoders:
            if len(self._decoders) >= _KEPT_GRAPHS:
                self._decoders.popitem(last=False)
            self._decoders[key] = _Decoder(self.model, *key, captured=True)
        self._decoders.move_to_end(key)
        return self._decoders[key]


class _RowLayer(DynamicLayer):
    """Keys and values of fixed size, in which row b writes at its own ``positions[b]``."""

    def __init__(self, positions: torch.Tensor, length: int):
        super().__init__()
        self.positions, self.length = positions, length
        self.rows = torch.arange(len(positions), device=positions.device)

    def allocate(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Buffers shaped like these of shape (b, heads, s, width), for all rows."""
        if not self.is_initialized:
            count = len(self.positions)
            self.keys = keys.new_zeros((count, keys.shape[1], self.length, keys.shape[3]))
            self.values = values.new_zeros((count, values.shape[1], self.length, values.shape[3]))
            self.is_initialized = True

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any):
        """Write one token's keys and values in each row; return the whole buffers."""
        assert self.keys is not None
        assert self.values is not None
        self.keys[self.rows, :, self.positions] = key_states[:, :, 0]
        self.values[self.rows, :, self.positions] = value_states[:, :, 0]
        return self.keys, self.values


class _Decoder:
    """The buffers of one decoding, and one step of it as a CUDA graph where that is wanted."""

    def __init__(self, model: Any, rows: int, length: int, temperature: float, captured: bool):
        device = model.device
        self.model, self.temperature, self.captured = model, temperature, captured
        self.tokens = torch.zeros((rows, 1), dtype=torch.long, device=device)
        self.positions = torch.zeros(rows, dtype=torch.long, device=device)
        self.draw = torch.zeros(rows, dtype=torch.float64, device=device)
        self.value = torch.zeros(rows, dtype=torch.float32, device=device)
        self.index = torch.arange(length, device=device)
        layers = model.config.get_text_config().num_hidden_layers
        self.layers = [_RowLayer(self.positions, length) for _ in range(layers)]
        self.cache = Cache(layers=list(self.layers))
        self.argument = cache_argument(model)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stops: tuple[int, ...] = ()

    def begin(self, stops: Sequence[int]) -> None:
        """Forget the sequences of the last run; unused rows stay at position 0."""
        self.positions.zero_()
        self.stops = tuple(stops)

    def fill(
        self, cache: DynamicCache, lengths: torch.Tensor, logits: torch.Tensor, draws: torch.Tensor, start: int
    ) -> None:
        """Take over b encoded prompts as rows ``start`` onwards, and draw their first tokens."""
        end = start + len(lengths)
        encoded: list[Any] = cache.layers
        for own, other in zip(self.layers, encoded, strict=True):
            own.allocate(other.keys, other.values)
            assert own.keys is not None
            assert own.values is not None
            own.keys[start:end, :, : other.keys.shape[2]] = other.keys
            own.values[start:end, :, : other.values.shape[2]] = other.values
        self.positions[start:end] = lengths
        tokens, values = _drawn(logits, draws, self.temperature)
        self.tokens[start:end, 0] = tokens
        self.value[start:end] = values

    def run(self, draws: torch.Tensor, used: int) -> tuple[np.ndarray, np.ndarray]:
        """Decode until all ``used`` rows have stopped: ids and log-probabilities, both of shape (rows, steps)."""
        device = self.tokens.device
        on_device = torch.zeros((len(self.tokens), draws.shape[1]), dtype=torch.float64, device=device)
        on_device[:used] = draws.to(device)
        stops = torch.tensor(self.stops, dtype=torch.long, device=device)
        ids, values = [self.tokens[:, 0].clone()], [self.value.clone()]
        running = ~torch.isin(ids[0][:used], stops)
        for step in range(1, draws.shape[1]):
            if step % _CHECKED_EVERY == 1 and not bool(running.any()):  # asking makes the host wait for the device
                break
            self.draw.copy_(on_device[:, step])
            self._advance()
            ids.append(self.tokens[:, 0].clone())
            values.append(self.value.clone())
            running &= ~torch.isin(ids[-1][:used], stops)
        return torch.stack(ids, dim=1).cpu().numpy(), torch.stack(values, dim=1).double().cpu().numpy()

    def _advance(self) -> None:
        if not self.captured:
            self._step()
            return
        if self.graph is None:
            self._capture()
        assert self.graph is not None
        self.graph.replay()

    def _capture(self) -> None:
        """Record one step. Warming up runs it for real, so what it changes is put back."""
        kept = [buffer.clone() for buffer in (self.tokens, self.positions, self.value)]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._step()
                self._put_back(kept)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._step()
        self._put_back(kept)

    def _put_back(self, kept: Sequence[torch.Tensor]) -> None:
        for buffer, value in zip((self.tokens, self.positions, self.value), kept, strict=True):
            buffer.copy_(value)

    def _step(self) -> None:
        """Feed the last token of each row and draw the next."""
        visible = (self.index[None, :] <= self.positions[:, None])[:, None, None]
        logits = self.model(
            input_ids=self.tokens,
            position_ids=self.positions[:, None],
            attention_mask=attention_mask(self.model, visible),
            use_cache=True,
            **{self.argument: self.cache},
        ).logits[:, -1]
        tokens, values = _drawn(logits, self.draw, self.temperature)
        self.tokens.copy_(tokens[:, None])
        self.value.copy_(values)
        # Rows that have stopped go on until all have; they must not write beyond their buffers.
        self.positions.copy_((self.positions + 1).clamp(max=len(self.index) - 1))


def _drawn(logits: torch.Tensor, draws: torch.Tensor, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens by inverse transform sampling from uniform draws in [0, 1), and their log-probabilities: (b,), (b,)."""
    logs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    if temperature == 0:
        tokens = logs.argmax(dim=-1)
    else:
        cumulative = logs.double().exp().cumsum(dim=-1)
        tokens = torch.searchsorted(cumulative, (draws * cumulative[:, -1])[:, None], right=True)[:, 0]
        tokens = tokens.clamp(max=logits.shape[-1] - 1)
    return tokens, logs.gather(1, tokens[:, None])[:, 0]


def _chunks(lengths: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """Runs of rows, sorted by length, whose padded size fits the budget (one row may exceed it)."""
    chunks: list[tuple[int, int]] = []
    start = 0
    for end in range(1, len(lengths) + 1):
        if end == len(lengths) or (end + 1 - start) * lengths[end] > budget:
            chunks.append((start, end))
            start = end
    return chunks


def _until_stop(ids: np.ndarray, values: np.ndarray, stops: Sequence[int]) -> Generated:
    where = np.flatnonzero(np.isin(ids, list(stops)))
    size = int(where[0]) + 1 if where.size else len(ids)
    return Generated(tuple(ids[:size].tolist()), values[:size], stopped=bool(where.size))
