"""`Prompted`: a chat model that writes its answer, as a decision model."""

from collections.abc import Sequence
from typing import Any, Literal

from agentkit.decisions import Decision, Query
from agentkit.models.answers import certain_decision, log_unscored
from agentkit.models.chat_service import MOST_ALTERNATIVES, Chat, ChatRequest, ServerChat
from agentkit.models.limits import Limits
from agentkit.models.poll import Poll

Probabilities = Literal["auto", "log-probabilities", "samples"]
PROBABILITIES: tuple[str, ...] = ("auto", "log-probabilities", "samples")


class Prompted:
    """``decide(queries) -> decisions`` from a chat model that is asked to answer with a label.

    Probabilities come from the log-probabilities of the labels at the answer's place, where the model tells them
    (the likeliest 20 tokens; a label that is not among them gets 0), and from the shares of repeated samples where
    not. A reply that is not exactly a label, an option, or both, is asked for again; what stays unreadable is unscored.

    Args:
        chat: a chat model; `Prompted.server` and `Prompted.local` make one.
        thinking: let the model write its thoughts first; the answer then stands in the last line, ``Answer: B``.
        probabilities: ``"log-probabilities"``, ``"samples"``, or ``"auto"``: the former if the model tells them.
        samples: replies a question when shares are counted (temperature 1), and thoughts a question when the model
            thinks first (the distributions after each are averaged). Without thoughts log-probabilities need one.
        retries: further replies a question that may replace unreadable ones.
        max_tokens: of a reply; None = 16, or 512 with thinking.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        thinking: bool = False,
        probabilities: Probabilities = "auto",
        samples: int = 8,
        retries: int = 2,
        max_tokens: int | None = None,
    ):
        if probabilities not in PROBABILITIES:
            raise ValueError(f"probabilities must be one of {PROBABILITIES}, got {probabilities!r}")
        if samples < 1:
            raise ValueError(f"samples must be at least 1, got {samples!r}")
        if retries < 0:
            raise ValueError(f"retries must be at least 0, got {retries!r}")
        self.chat = chat
        self.thinking = thinking
        self.probabilities = probabilities
        self.samples = samples
        self.retries = retries
        self.max_tokens = max_tokens if max_tokens is not None else 512 if thinking else 16
        self.identity = (
            f"prompted {getattr(chat, 'identity', '')} thinking={thinking} {probabilities} samples={samples} "
            f"max_tokens={self.max_tokens}"
        )

    @classmethod
    def server(
        cls,
        model: str,
        client: Any = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        limits: Limits | None = None,
        **settings: Any,
    ) -> "Prompted":
        """A model behind an OpenAI-compatible server; see `ServerChat`. The settings are the constructor's."""
        return cls(ServerChat(model, client, base_url=base_url, api_key=api_key, limits=limits), **settings)

    @classmethod
    def local(cls, model: Any, tokenizer: Any, **settings: Any) -> "Prompted":
        """A local Hugging Face model and its tokenizer. The settings are the constructor's."""
        from agentkit.models.local_chat import LocalChat

        return cls(LocalChat(model, tokenizer), **settings)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Prompted":
        return self

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        """One decision for each query, in order."""
        certain = [certain_decision(query.question) for query in queries]
        # A chat model that is known to tell no log-probabilities is spared the request for them.
        silent = self.probabilities == "auto" and getattr(self.chat, "tells_log_probabilities", None) is False
        counting = silent or self.probabilities == "samples"
        polls = [
            Poll(query, self.thinking, counting, self.samples, self.retries)
            for query, decision in zip(queries, certain, strict=True)
            if decision is None
        ]
        while pending := [poll for poll in polls for _ in range(poll.missing)]:
            replies = self.chat([self._request(poll) for poll in pending])
            for poll, reply in zip(pending, replies, strict=True):
                poll.take(reply, sampling_allowed=self.probabilities == "auto")
        answered = iter([poll.decision() for poll in polls])
        decisions = [decision if decision is not None else next(answered) for decision in certain]
        log_unscored(decisions)
        return decisions

    def _request(self, poll: Poll) -> ChatRequest:
        return ChatRequest(
            poll.messages,
            self.max_tokens,
            temperature=1.0 if poll.wanted > 1 else 0.0,
            alternatives=0 if poll.counting else MOST_ALTERNATIVES,
        )
