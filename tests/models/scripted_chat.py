"""A chat model that replies what a script says."""

from collections.abc import Callable, Sequence

from agentkit.models.chat_service import ChatReply, ChatRequest
from agentkit.models.failures import ServiceError

Reply = str | ChatReply | ServiceError


class ScriptedChat:
    """Replies what a function makes of each request, or the next of a list; keeps what it was asked."""

    def __init__(self, script: Callable[[ChatRequest], Reply] | Sequence[Reply]):
        self.script = script
        self.requests: list[ChatRequest] = []

    def __call__(self, requests: Sequence[ChatRequest]) -> list[ChatReply | ServiceError]:
        replies: list[ChatReply | ServiceError] = []
        for request in requests:
            reply = self.script(request) if callable(self.script) else self.script[len(self.requests)]
            self.requests.append(request)
            replies.append(ChatReply(reply) if isinstance(reply, str) else reply)
        return replies
