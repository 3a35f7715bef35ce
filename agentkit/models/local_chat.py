"""`LocalChat`: a Hugging Face chat model that writes its replies with ``generate``."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentkit.decisions import Usage
from agentkit.extras import require
from agentkit.models.chat import ChatEncoder
from agentkit.models.chat_service import ChatReply, ChatRequest, WrittenToken
from agentkit.models.identity import checkpoint_digest


class LocalChat:
    """``chat(requests) -> replies`` from a local model; requests of one form are generated together.

    Text from outside never becomes a chat turn: contents are tokenised with special tokens off.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer, with its chat template.
        batch_size: the most prompts in one call of ``generate``.
        seed: makes sampled replies reproducible; the global random state stays as it was.
        template_arguments: what the chat template is told besides the messages, such as ``enable_thinking``.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        batch_size: int = 16,
        seed: int = 0,
        template_arguments: Mapping[str, Any] | None = None,
    ):
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size!r}")
        self._torch = require("torch", "models")
        self.model = model
        self.encoder = ChatEncoder(tokenizer, template_arguments)
        self.batch_size = batch_size
        self.seed = seed
        self._calls = 0
        arguments = sorted(self.encoder.template_arguments.items())
        self.identity = f"local-chat {checkpoint_digest(model, tokenizer)} seed={seed} {arguments}"

    def __deepcopy__(self, memo: dict[int, Any]) -> "LocalChat":
        return self

    def __call__(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """One reply for each request, in order."""
        replies: list[ChatReply | None] = [None] * len(requests)
        forms: dict[tuple[int, float, int], list[int]] = {}
        for i, request in enumerate(requests):
            forms.setdefault((request.max_tokens, request.temperature, request.alternatives), []).append(i)
        for indices in forms.values():
            for start in range(0, len(indices), self.batch_size):
                batch = indices[start : start + self.batch_size]
                for i, reply in zip(batch, self._generate([requests[i] for i in batch]), strict=True):
                    replies[i] = reply
        return [reply for reply in replies if reply is not None]

    def _generate(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        torch, device = self._torch, self.model.device
        rows = [self.token_ids(request) for request in requests]
        width = max(map(len, rows))
        # Padding stands on the left, so that every row's next token stands in the same column.
        ids = torch.tensor([[0] * (width - len(row)) + row for row in rows], device=device)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=device)
        form, alternatives = requests[0], _Alternatives(requests[0].alternatives)
        sampling = {"do_sample": False}
        if form.temperature > 0:
            sampling = {"do_sample": True, "temperature": form.temperature, "top_k": 0, "top_p": 1.0}
        self._calls += 1
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch.inference_mode():
            torch.manual_seed(self.seed + self._calls)
            written = self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=form.max_tokens,
                eos_token_id=list(self.encoder.terminator),
                pad_token_id=self.encoder.terminator[0],
                logits_processor=[alternatives.record] if form.alternatives else None,
                **sampling,
            )[:, width:].tolist()
        return [self._reply(i, row, len(rows[i]), alternatives) for i, row in enumerate(written)]

    def token_ids(self, request: ChatRequest) -> list[int]:
        """The prompt of a request."""
        prompt = self.encoder.prompt(request.messages)
        return [*prompt.ids, *(self.encoder.encode_text(prompt.tail) if prompt.tail else ())]

    def _reply(self, row: int, ids: list[int], prompt_tokens: int, alternatives: "_Alternatives") -> ChatReply:
        decode, end = self.encoder.tokenizer.decode, self.encoder.terminator[0]
        if end in ids:
            ids = ids[: ids.index(end)]
        tokens = None
        if alternatives.steps:
            tokens = tuple(
                WrittenToken(decode([token]), tuple((decode([other]), p) for other, p in step[row]))
                for token, step in zip(ids, alternatives.steps, strict=False)
            )
        usage = Usage(prompt_tokens, len(ids), 1)
        return ChatReply(decode(ids, skip_special_tokens=True), tokens or None, usage)


class _Alternatives:
    """Records the likeliest next tokens at each step, before temperature is applied."""

    def __init__(self, count: int):
        self.count = count
        self.steps: list[list[list[tuple[int, float]]]] = []

    def record(self, input_ids: Any, scores: Any) -> Any:
        top = scores.float().log_softmax(-1).topk(self.count, dim=-1)
        rows = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        self.steps.append([list(zip(ids, values, strict=True)) for ids, values in rows])
        return scores
