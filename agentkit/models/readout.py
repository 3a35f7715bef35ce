"""`ConstrainedReadout`: a local language model as a decision model.

It never generates. Each option is scored as a whole token sequence, with the token that ends the answer, so that
"go to shelf 1" is not favoured over "go to shelf 10" for being its beginning; the softmax over the options is the
decision.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from agentkit.decisions import Decision, Query, Usage, softmax
from agentkit.models.chat import ChatEncoder, Message, Prompt
from agentkit.models.scorer import SequenceScorer
from agentkit.models.token_tree import Item, common_prefix_length

Scoring = Literal["sum", "mean", "pmi"]
NEUTRAL_CONTEXT = "N/A"
"""The content-free context that PMI scoring compares with."""


def query_messages(query: Query) -> list[Message]:
    """The default chat of a query: the system text (if any), then one user message with context and question."""
    system: list[Message] = [{"role": "system", "content": query.system}] if query.system else []
    body = "\n\n".join(part for part in (query.context, query.question.text) if part)
    return [*system, {"role": "user", "content": body}]


class ConstrainedReadout:
    """``decide(queries) -> decisions`` from a Hugging Face causal LM.

    Args:
        model: the language model; its attention must be ``sdpa`` or ``eager``.
        tokenizer: its tokenizer; the chat template is applied when there is one.
        scoring: the log-score of an option of n tokens (terminator included): ``"sum"`` of its token log-probabilities,
            i.e. the model's own distribution over answers; ``"mean"`` over the n tokens, which removes the preference
            for short options; ``"pmi"``, the sum minus the option's sum after a content-free context
            (domain-conditional PMI, Holtzman et al. 2021, arXiv 2104.08315), which removes the preference for common
            options at the cost of scoring every question twice.
        temperature: divides the log-scores.
        messages: query -> chat messages; replace it to change the wording.
        token_budget: the most tokens in one forward pass.
        remembered: prefixes whose keys and values are kept between calls; None chooses by device.

    Identical options of one question share their probability equally.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        scoring: Scoring = "sum",
        temperature: float = 1.0,
        messages: Callable[[Query], Sequence[Message]] = query_messages,
        token_budget: int = 8192,
        remembered: int | None = None,
    ):
        if scoring not in ("sum", "mean", "pmi"):
            raise ValueError(f"scoring must be 'sum', 'mean' or 'pmi', got {scoring!r}")
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, got {temperature!r}")
        self.scoring = scoring
        self.temperature = temperature
        self.messages = messages
        self.encoder = ChatEncoder(tokenizer)
        self.scorer = SequenceScorer(model, token_budget, remembered)

    @classmethod
    def from_pretrained(cls, name_or_path: str, *, dtype: str = "auto", device: str = "cpu", **kwargs: Any):
        """Load a checkpoint folder or hub name; keyword arguments are the constructor's."""
        from transformers import AutoModelForCausalLM, AutoTokenizer

        model: Any = AutoModelForCausalLM.from_pretrained(name_or_path, dtype=dtype, attn_implementation="sdpa")
        return cls(model.eval().to(device), AutoTokenizer.from_pretrained(name_or_path), **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> "ConstrainedReadout":
        # Gymnasium deep-copies wrapper arguments at construction; a model is shared, never copied.
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order."""
        together: dict[tuple[str, str], list[int]] = {}
        for i, query in enumerate(queries):
            together.setdefault((query.system, query.context), []).append(i)
        order = [i for indices in together.values() for i in indices]
        decisions = dict(zip(order, self._decide_all([queries[i] for i in order]), strict=True))
        return [decisions[i] for i in range(len(queries))]

    def _decide_all(self, queries: Sequence[Query]) -> list[Decision]:
        prompts = [self.encoder.prompt(self.messages(query)) for query in queries]
        options = [query.question.options for query in queries]
        log_scores = self.log_scores(prompts, options)
        if self.scoring == "pmi":
            neutral = [Query(NEUTRAL_CONTEXT, query.question, query.system) for query in queries]
            neutral_prompts = [self.encoder.prompt(self.messages(query)) for query in neutral]
            baselines = self.log_scores(neutral_prompts, options)
        else:
            baselines = [np.zeros((len(o), 2)) for o in options]
        return [
            self._decide(query, prompt, scores, baseline)
            for query, prompt, scores, baseline in zip(queries, prompts, log_scores, baselines, strict=True)
        ]

    def log_scores(self, prompts: Sequence[Prompt], options: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """For each prompt and its K options: float64 of shape (K, 2), summed log-probability and token count."""
        items = [self.item(prompt, choices) for prompt, choices in zip(prompts, options, strict=True)]
        scored = self.scorer.score(items)
        return [
            np.array([(part.sum(), part.size) for part in parts], dtype=np.float64).reshape(-1, 2) for parts in scored
        ]

    def score_tokens(self, prefix: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Log-probabilities, shape (n,), of each continuation's n tokens after exactly these prefix tokens."""
        return self.scorer.score([Item(tuple(prefix), tuple(map(tuple, continuations)))])[0]

    def item(self, prompt: Prompt, options: Sequence[str]) -> Item:
        """The token sequences to score: the options' own tokens, after the prompt and its tail."""
        tail = self.encoder.encode_text(prompt.tail) if prompt.tail else ()
        answers = [self.encoder.answer(prompt, option) for option in options]
        # An option that merges with the end of the tail begins earlier, and then so must all the others.
        boundary = min((common_prefix_length(tail, answer) for answer in answers), default=0)
        return Item(prompt.ids + tail[:boundary], tuple(answer[boundary:] for answer in answers))

    def _decide(self, query: Query, prompt: Prompt, scores: np.ndarray, baseline: np.ndarray) -> Decision:
        sums, counts = scores[:, 0], scores[:, 1]
        ranked = {"sum": sums, "mean": sums / counts, "pmi": sums - baseline[:, 0]}[self.scoring]
        return Decision(
            query.question,
            softmax(ranked / self.temperature).tolist(),
            label_mass=_label_mass(query.question.options, sums),
            usage=Usage(input_tokens=len(prompt.ids) + int(counts.sum()), requests=1),
        )


def _label_mass(options: Sequence[str], sums: np.ndarray) -> float:
    """The model's probability of answering with one of the options, each counted once."""
    distinct = dict(zip(options, sums.tolist(), strict=True))
    return float(min(1.0, np.exp(list(distinct.values())).sum()))
