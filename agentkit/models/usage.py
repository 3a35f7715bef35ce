"""`UsageMeter`: tokens and dollars by role, so that any run can say what it cost."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from agentkit.decisions import Decision, DecisionModel, Query, Usage
from agentkit.models.chat_service import Chat, ChatReply, ChatRequest
from agentkit.models.failures import ServiceError
from agentkit.models.prices import DEFAULT_PRICES, Prices


@attrs.frozen
class Account:
    """What one model used in one role."""

    role: str
    """What the model served as, such as ``actor``, ``judge`` or ``comparator``."""
    model: str
    """Its name in the price table."""
    usage: Usage = attrs.field(factory=Usage)
    scored: int = 0
    """Decisions (or replies) that it gave."""
    unscored: int = 0
    """Questions that it did not answer."""


class UsageMeter:
    """Counts what decision models use, by role and model. Safe for threads.

    Args:
        prices: the price table; the default is `agentkit.models.prices.DEFAULT_PRICES`.

    >>> from agentkit.decisions import Question
    >>> def judge(queries):
    ...     return [Decision(q.question, (1.0, 0.0), usage=Usage(1000, 10, 1)) for q in queries]
    >>> meter = UsageMeter()
    >>> _ = meter.metered(judge, role="judge", model="Qwen3-8B")([Query("", Question("Did it help?"))])
    >>> meter.usage("judge")
    Usage(input_tokens=1000, output_tokens=10, requests=1)
    >>> round(meter.dollars_per_100_tasks(1), 5)
    0.01215
    """

    def __init__(self, prices: Prices = DEFAULT_PRICES):
        self.prices = prices
        self._accounts: dict[tuple[str, str], Account] = {}
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> "UsageMeter":
        return self  # a copy would count apart from the one that the user reads

    def metered(self, decide: DecisionModel, *, role: str, model: str) -> "Metered":
        """The decision model, counted under this role and this name of the price table."""
        return Metered(decide, self, role, model)

    def metered_chat(self, chat: Chat, *, role: str, model: str) -> Chat:
        """The chat model, counted under this role and this name of the price table."""

        def counted(requests: Sequence[ChatRequest]) -> Sequence[ChatReply | ServiceError]:
            replies = chat(requests)
            for reply in replies:
                failed = isinstance(reply, ServiceError)
                self.count(role, model, Usage() if failed else reply.usage, not failed)
            return replies

        return counted

    def count(self, role: str, model: str, usage: Usage, scored: bool) -> None:
        """Add one question's usage."""
        with self._lock:
            account = self._accounts.get((role, model), Account(role, model))
            self._accounts[role, model] = attrs.evolve(
                account,
                usage=account.usage + usage,
                scored=account.scored + scored,
                unscored=account.unscored + (not scored),
            )

    def accounts(self, role: str | None = None) -> list[Account]:
        """What has been counted, for one role or for all."""
        with self._lock:
            return [account for account in self._accounts.values() if role is None or account.role == role]

    def usage(self, role: str | None = None) -> Usage:
        """Tokens and requests of one role, or of all."""
        return sum((account.usage for account in self.accounts(role)), Usage())

    def dollars(self, role: str | None = None) -> float:
        """What one role, or all, cost.

        Raises:
            ValueError: a model has no price.
        """
        return self._sum(self.accounts(role), lambda account: self._price(account).dollars(account.usage))

    def dollars_per_100_tasks(self, tasks: int, role: str | None = None) -> float:
        """The cost of 100 tasks, from that of the ``tasks`` that were played.

        Raises:
            ValueError: no task was played, or a model has no price.
        """
        if tasks < 1:
            raise ValueError(f"tasks must be at least 1, got {tasks!r}")
        return 100 * self.dollars(role) / tasks

    def dollars_per_score(self, role: str = "judge") -> float:
        """The cost of one score of a role; questions that brought none are paid by those that did.

        Raises:
            ValueError: the role has given no score, or a model has no price.
        """
        scored = sum(account.scored for account in self.accounts(role))
        if not scored:
            raise ValueError(f"the role {role!r} has given no score; counted roles: {sorted(self._roles())}")
        return self.dollars(role) / scored

    def _roles(self) -> set[str]:
        return {account.role for account in self.accounts()}

    def _price(self, account: Account) -> Any:
        if account.model not in self.prices:
            raise ValueError(
                f"no price for {account.model!r}; known: {', '.join(self.prices)}. "
                f"Give UsageMeter(prices={{**DEFAULT_PRICES, {account.model!r}: Price(input, output)}})"
            )
        return self.prices[account.model]

    @staticmethod
    def _sum(accounts: Sequence[Account], dollars: Callable[[Account], float]) -> float:
        return sum(map(dollars, accounts))


@attrs.frozen
class Metered:
    """A decision model whose usage is counted; see `UsageMeter.metered`."""

    decide: DecisionModel
    meter: UsageMeter
    role: str
    model: str

    def __deepcopy__(self, memo: dict[int, Any]) -> "Metered":
        return self

    @property
    def identity(self) -> str | None:
        """The identity of the model that is counted."""
        return getattr(self.decide, "identity", None)

    def __call__(self, queries: Sequence[Query]) -> Sequence[Decision]:
        """The model's decisions, counted."""
        decisions = self.decide(queries)
        for decision in decisions:
            self.meter.count(self.role, self.model, decision.usage, decision.unscored is None)
        return decisions
