"""`ConstrainedReadout`: a local language model as a decision model.

It never generates. Each option is scored as a whole token sequence, with the token that ends the answer, so that
"go to shelf 1" is not favoured over "go to shelf 10" for being its beginning; the softmax over the options is the
decision.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import attrs
import numpy as np

from agentkit.decisions import Decision, Query, Usage, softmax
from agentkit.models.chat import ChatEncoder, Message, Prompt
from agentkit.models.identity import checkpoint_digest
from agentkit.models.labels import Labels, as_asked, labelled
from agentkit.models.readout_settings import read_settings
from agentkit.models.scorer import SequenceScorer
from agentkit.models.shortening import shorten
from agentkit.models.token_tree import Item, Tokens, common_prefix_length

logger = logging.getLogger(__name__)

Scoring = Literal["sum", "mean", "pmi"]
NEUTRAL_CONTEXT = "N/A"
"""The content-free context that PMI scoring compares with."""
_ENCODED_TOGETHER = 512
_FITTINGS = 4
"""Attempts to make a query fit."""


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
        labels: what a choice is answered with: ``"words"``, the option itself; ``"listed"`` and ``"letters"`` ask as
            `Listed` and `Lettered` do.
        messages: query -> chat messages; replace it to change the wording.
        token_budget: the most tokens in one forward pass; None chooses by device.
        remembered: prefixes whose keys and values are kept between calls; None chooses by device.
        max_length: the most tokens of a query with its longest option; None = what the model's positions allow. A
            longer context loses its middle (see `agentkit.models.shortening`), which is logged and told by
            ``Decision.dropped_tokens``; a query that cannot be made to fit is unscored.
        template_arguments: what the chat template is told besides the messages, such as ``enable_thinking``.

    Identical options of one question share their probability equally.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        scoring: Scoring = "sum",
        temperature: float = 1.0,
        labels: Labels = "words",
        messages: Callable[[Query], Sequence[Message]] = query_messages,
        token_budget: int | None = None,
        remembered: int | None = None,
        max_length: int | None = None,
        template_arguments: Mapping[str, Any] | None = None,
    ):
        if scoring not in ("sum", "mean", "pmi"):
            raise ValueError(f"scoring must be 'sum', 'mean' or 'pmi', got {scoring!r}")
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, got {temperature!r}")
        if max_length is not None and max_length < 1:
            raise ValueError(f"max_length must be at least 1 or None, got {max_length!r}")
        self.scoring = scoring
        self.temperature = temperature
        self.labels: Labels = labels
        self.messages = messages
        self.encoder = ChatEncoder(tokenizer, template_arguments)
        self.max_length = max_length or _longest_input(model)
        self.scorer = SequenceScorer(model, token_budget, remembered)
        self._ask = labelled(self._decide_grouped, labels)
        self._answers = lru_cache(1024)(self._encode_answers)

    @classmethod
    def from_pretrained(cls, name_or_path: str, *, dtype: str = "auto", device: str = "cpu", **kwargs: Any):
        """Load a checkpoint folder or hub name; keyword arguments are the constructor's.

        A folder that `agentkit.trainers.DecisionTrainer` saved says how its model was trained to be read out; that
        holds where no keyword argument says otherwise.
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        kwargs = {**read_settings(name_or_path), **kwargs}
        model: Any = AutoModelForCausalLM.from_pretrained(name_or_path, dtype=dtype, attn_implementation="sdpa")
        return cls(model.eval().to(device), AutoTokenizer.from_pretrained(name_or_path), **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> "ConstrainedReadout":
        # Gymnasium deep-copies wrapper arguments at construction; a model is shared, never copied.
        return self

    @property
    def identity(self) -> str:
        """What the answers depend on: the weights, the chat template, the wording and the scoring."""
        wording = f"{self.messages.__module__}.{getattr(self.messages, '__qualname__', self.messages)}"
        digest = checkpoint_digest(self.scorer.model, self.encoder.tokenizer)
        settings = (self.scoring, self.temperature, self.labels, self.max_length, self.encoder.template_arguments)
        return f"readout {digest} {settings} {wording}"

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order; unscored where even a shortened query is too long for the model."""
        return self._ask(queries)

    def _decide_grouped(self, queries: Sequence[Query]) -> list[Decision]:
        together: dict[tuple[str, str], list[int]] = {}
        for i, query in enumerate(queries):
            together.setdefault((query.system, query.context), []).append(i)
        order = [i for indices in together.values() for i in indices]
        decisions = dict(zip(order, self._decide_all([queries[i] for i in order]), strict=True))
        return [decisions[i] for i in range(len(queries))]

    def _decide_all(self, queries: Sequence[Query]) -> list[Decision]:
        fitted: list[_Fitted] = []

        def items() -> Iterator[Item]:
            for start in range(0, len(queries), _ENCODED_TOGETHER):  # while the device computes earlier ones
                some = queries[start : start + _ENCODED_TOGETHER]
                self.encoder.learn(map(self.messages, some))
                for query in some:
                    fitted.append(self._fit(query))
                    if fitted[-1].item is not None:
                        yield fitted[-1].item

        scored = iter(self.scorer.score(items()))
        tables = [None if f.item is None else _table(next(scored)) for f in fitted]
        baselines = iter(self._baselines([f.query for f in fitted if f.item is not None]))
        self._report(fitted)
        return [
            self._too_long(f) if table is None else self._decide(f, table, next(baselines))
            for f, table in zip(fitted, tables, strict=True)
        ]

    def _baselines(self, queries: Sequence[Query]) -> list[np.ndarray]:
        """What `"pmi"` subtracts from the sums of each query's options, of shape (K,)."""
        if self.scoring != "pmi":
            return [np.zeros(len(query.question.options)) for query in queries]
        neutral = [Query(NEUTRAL_CONTEXT, query.question, query.system) for query in queries]
        prompts = (self.encoder.prompt(self.messages(query)) for query in neutral)
        return [table[:, 0] for table in self.log_scores(prompts, [query.question.options for query in queries])]

    def _fit(self, query: Query) -> "_Fitted":
        """The query as tokens, shortened where they are more than the model takes."""
        original, dropped = query, 0
        for _ in range(_FITTINGS):
            item = self.item(self.encoder.prompt(self.messages(query)), query.question.options)
            length = len(item.prefix) + max(map(len, item.continuations))
            if self.max_length is None or length <= self.max_length:
                return _Fitted(original, item, length, dropped)
            # What the gaps say and how pieces join costs a few tokens, so that one cut may be a little too small.
            shortened = shorten(original, dropped + length - self.max_length, self._count)
            if shortened.dropped <= dropped:
                break
            query, dropped = shortened.query, shortened.dropped
        return _Fitted(original, None, length, dropped)

    def _count(self, text: str) -> int:
        return len(self.encoder.encode_text(text))

    def _report(self, fitted: Sequence["_Fitted"]) -> None:
        cut = [f.dropped for f in fitted if f.dropped and f.item is not None]
        if cut:
            logger.warning(
                "%d of %d contexts are too long for the %s tokens that the model takes; they lost %d to %d tokens of "
                "their middle (see Decision.dropped_tokens)",
                *(len(cut), len(fitted), self.max_length, min(cut), max(cut)),
            )

    def _too_long(self, fitted: "_Fitted") -> Decision:
        reason = f"the query has at least {fitted.length} tokens and the model takes {self.max_length}"
        return Decision(fitted.query.question, unscored=reason)

    def log_scores(self, prompts: Iterable[Prompt], options: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """For each prompt and its K options: float64 of shape (K, 2), summed log-probability and token count."""
        scored = self.scorer.score(self.item(prompt, choices) for prompt, choices in zip(prompts, options, strict=True))
        return [_table(parts) for parts in scored]

    def score_tokens(self, prefix: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Log-probabilities, shape (n,), of each continuation's n tokens after exactly these prefix tokens."""
        return self.scorer.score([Item(tuple(prefix), tuple(map(tuple, continuations)))])[0]

    def asked(self, query: Query) -> Item | None:
        """The token sequences that one query is scored by; None when it needs no asking or cannot be made to fit."""
        rewritten = as_asked(query, self.labels)
        return None if rewritten is None else self._fit(rewritten).item

    def item(self, prompt: Prompt, options: Sequence[str]) -> Item:
        """The token sequences to score: the options' own tokens, after the prompt and its tail."""
        beginning, answers = self._answers(prompt.tail, tuple(options))
        return Item(prompt.ids + beginning, answers)

    def _encode_answers(self, tail: str, options: tuple[str, ...]) -> tuple[Tokens, tuple[Tokens, ...]]:
        """The tokens of the tail that every answer begins with, and the rest of each answer."""
        ids = self.encoder.encode_text(tail) if tail else ()
        answers = [self.encoder.answer(Prompt((), tail), option) for option in options]
        # An option that merges with the end of the tail begins earlier, and then so must all the others.
        boundary = min((common_prefix_length(ids, answer) for answer in answers), default=0)
        return ids[:boundary], tuple(answer[boundary:] for answer in answers)

    def _decide(self, fitted: "_Fitted", scores: np.ndarray, baseline: np.ndarray) -> Decision:
        sums, counts = scores[:, 0], scores[:, 1]
        ranked = {"sum": sums, "mean": sums / counts, "pmi": sums - baseline}[self.scoring]
        item = fitted.item
        prompt_size = len(item.prefix) if item is not None else 0
        return Decision(
            fitted.query.question,
            softmax(ranked / self.temperature).tolist(),
            label_mass=_label_mass(fitted.query.question.options, sums),
            usage=Usage(input_tokens=prompt_size + int(counts.sum()), requests=1),
            dropped_tokens=fitted.dropped,
        )


@attrs.frozen
class _Fitted:
    """A query and its tokens; ``item`` is None when no shortening makes it fit."""

    query: Query
    item: Item | None
    length: int
    dropped: int


def _table(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Summed log-probability and token count of K options, float64 of shape (K, 2)."""
    return np.array([(part.sum(), part.size) for part in parts], dtype=np.float64).reshape(-1, 2)


def _longest_input(model: Any) -> int | None:
    """The tokens that a model's positions allow, where its configuration says it."""
    return getattr(model.config.get_text_config(), "max_position_embeddings", None)


def _label_mass(options: Sequence[str], sums: np.ndarray) -> float:
    """The model's probability of answering with one of the options, each counted once."""
    distinct = dict(zip(options, sums.tolist(), strict=True))
    return float(min(1.0, np.exp(list(distinct.values())).sum()))
