"""Chat models that write an answer: requests, replies, and a model behind an OpenAI-compatible server."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentkit.decisions import Usage
from agentkit.models.chat import Message
from agentkit.models.failures import ServiceError
from agentkit.models.limits import Limits, RequestRunner
from agentkit.models.openai_client import open_client
from agentkit.models.sending import Travel

MOST_ALTERNATIVES = 20
"""The most tokens per position of which OpenAI's chat endpoint tells the log-probability."""


@attrs.frozen
class ChatRequest:
    """A chat that waits for the assistant."""

    messages: tuple[Message, ...] = attrs.field(converter=tuple)
    max_tokens: int = 16
    temperature: float = 0.0
    alternatives: int = 0
    """Of how many tokens at each position to tell the log-probability."""


@attrs.frozen
class WrittenToken:
    """A token of a reply, and the log-probability of the likeliest tokens at its place (itself among them)."""

    text: str
    alternatives: tuple[tuple[str, float], ...] = attrs.field(converter=tuple)


@attrs.frozen
class ChatReply:
    """What the assistant wrote."""

    text: str
    tokens: tuple[WrittenToken, ...] | None = None
    """None when the model does not tell log-probabilities."""
    usage: Usage = attrs.field(factory=Usage)


Chat: TypeAlias = Callable[[Sequence[ChatRequest]], Sequence[ChatReply | ServiceError]]
"""``chat(requests) -> replies``, in order; a request that brought none has a `ServiceError` in its place."""


# Special tokens of common chat templates: <|...|>, <start_of_turn>, <s>, [INST] and their closing forms.
_CONTROL = re.compile(r"<(?=\|[^\s|<>]{1,40}\|>|/?(?:s|bos|eos|start_of_turn|end_of_turn)>)|\[(?=/?INST\])")


def disarm_control_tokens(text: str) -> str:
    """The text with a space inside whatever looks like a special token of a chat template.

    Servers tokenise messages with special tokens on, so a page that holds one could otherwise open a chat turn.

    >>> disarm_control_tokens("a page <|im_start|>system <b>")
    'a page < |im_start|>system <b>'
    """
    return _CONTROL.sub(lambda match: match[0] + " ", text)


class ServerChat:
    """A chat model behind any OpenAI-compatible server.

    Args:
        model: the server's name of the model.
        client: an ``openai.OpenAI``; None = one from the next two arguments.
        base_url: the server; None = OpenAI's own.
        api_key: None = ``$OPENAI_API_KEY``; a server given by ``base_url`` may do without.
        limits: requests at a time and a minute, retries, time-outs; None = `Limits()`.
        disarm: put a space into special tokens that messages hold (`disarm_control_tokens`).
        extra: further arguments of ``client.chat.completions.create``.

    Raises:
        ImportError: openai or tenacity is missing; the message holds the pip line.
    """

    def __init__(
        self,
        model: str,
        client: Any = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        limits: Limits | None = None,
        disarm: bool = True,
        extra: Mapping[str, Any] | None = None,
    ):
        self.model = model
        self.disarm = disarm
        self.extra = dict(extra or {})
        self.tells_log_probabilities: bool | None = None
        """Learnt from the first replies; None = not known yet."""
        self._run = RequestRunner(limits or Limits())
        self._client, self._errors = open_client(client, base_url, api_key, self._run.limits)
        arguments = {"model": model, "base_url": base_url, "limits": limits, "disarm": disarm, "extra": extra}
        self._travel = Travel(arguments, client is not None or api_key is not None, "OPENAI_API_KEY")
        self.identity = f"chat {self._client.base_url} {model} {sorted(self.extra.items())}"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._travel.reduce(type(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> "ServerChat":
        return self

    def __call__(self, requests: Sequence[ChatRequest]) -> list[ChatReply | ServiceError]:
        """One reply or failure for each request, in order."""
        return self._run([self._task(request) for request in requests])

    def _task(self, request: ChatRequest) -> Callable[[], ChatReply]:
        return lambda: self._reply(request)

    def _reply(self, request: ChatRequest) -> ChatReply:
        if not request.alternatives or self.tells_log_probabilities is False:
            return self._send(request, {})
        count = min(MOST_ALTERNATIVES, request.alternatives)
        try:
            reply = self._send(request, {"logprobs": True, "top_logprobs": count})
        except ServiceError as failure:
            if not failure.rejected or self.tells_log_probabilities:
                raise
            # Many servers reject the argument; whether that was the fault shows in the same request without it.
            reply = self._send(request, {})
        self.tells_log_probabilities = bool(self.tells_log_probabilities or reply.tokens)
        return reply

    def _send(self, request: ChatRequest, arguments: Mapping[str, Any]) -> ChatReply:
        messages = [dict(message) for message in request.messages]
        if self.disarm:
            messages = [{**m, "content": disarm_control_tokens(m["content"])} for m in messages]
        completion = self._errors.guard(
            lambda: self._client.chat.completions.create(
                model=self.model,
                messages=messages,
                temperature=request.temperature,
                max_completion_tokens=request.max_tokens,
                **arguments,
                **self.extra,
            )
        )
        return read_completion(completion.to_dict(warnings=False) if hasattr(completion, "to_dict") else None)


def read_completion(body: Any) -> ChatReply:
    """The reply in the body of a chat completion.

    Raises:
        ServiceError: there is none, or the model refused.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = message.get("content")
        refused = bool(message.get("refusal")) or choice.get("finish_reason") == "content_filter"
    except (TypeError, KeyError, IndexError, AttributeError):
        raise ServiceError("the answer has not the promised form", passing=True) from None
    if refused:
        raise ServiceError("the model refused to answer")
    if not isinstance(text, str):
        raise ServiceError("the answer holds no text", passing=True)
    counts = body.get("usage") if isinstance(body.get("usage"), dict) else {}
    tokens = [counts.get(name) for name in ("prompt_tokens", "completion_tokens")]
    usage = Usage(*(count if isinstance(count, int) else 0 for count in tokens), requests=1)
    return ChatReply(text, _written_tokens(choice.get("logprobs")), usage)


def _written_tokens(logprobs: Any) -> tuple[WrittenToken, ...] | None:
    try:
        return (
            tuple(
                WrittenToken(
                    row["token"], tuple((str(top["token"]), float(top["logprob"])) for top in row["top_logprobs"] or ())
                )
                for row in logprobs["content"]
            )
            or None
        )
    except (TypeError, KeyError, ValueError):
        return None
