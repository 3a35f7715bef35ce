"""One question put to a chat model: the prompt, the replies that came, and what they say."""

import math
import re
from collections.abc import Sequence

import numpy as np

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models.chat import Message
from agentkit.models.chat_service import ChatReply, WrittenToken
from agentkit.models.failures import ServiceError
from agentkit.models.labels import listed, option_labels

_MARKS = " \t\r\n\"'`*_.,:;!()[]{}<>"
_SHOWN = 60
_THOUGHTS_END = "</think>"  # closes the thoughts that some models write unasked


def answer_labels(question: Question) -> tuple[str, ...]:
    """What the model is to write for each distinct option: a predicate's own words, a score's level, else a letter."""
    options = tuple(dict.fromkeys(question.options))
    if question.kind == "score":
        return tuple(str(i) for i in range(len(question.options)))
    if question.kind == "predicate" and len(options) == 2 and all(o.isalpha() for o in options):
        return options
    return option_labels(len(options))


def poll_messages(query: Query, labels: Sequence[str], thinking: bool) -> tuple[Message, ...]:
    """The chat that asks a query, with the form that the answer must have."""
    question = query.question
    options = question.options if question.kind == "score" else tuple(dict.fromkeys(question.options))
    form = answer_form(labels, thinking)
    listing = "" if tuple(labels) == options else listed(labels, options)
    body = "\n\n".join(
        part for part in (query.context, "\n".join(p for p in (question.text, listing, form) if p)) if part
    )
    system: list[Message] = [{"role": "system", "content": query.system}] if query.system else []
    return (*system, {"role": "user", "content": body})


def answer_form(labels: Sequence[str], thinking: bool) -> str:
    """The sentence that says how to answer."""
    choices = " or ".join(labels) if len(labels) == 2 else f"one of {labels[0]} to {labels[-1]}"
    if thinking:
        return f'Think first. Then end with a line "Answer: ", followed by {choices}.'
    return f"Answer with {choices} only."


def read_label(text: str, labels: Sequence[str], options: Sequence[str], thinking: bool) -> int | None:
    """Which label a reply gives: the label, the option's words, or both, and nothing else; None = unreadable.

    With thoughts the last line ``Answer: ...`` counts, else that or the first line. A label that is a word may open a
    sentence, as in "No, it is not".

    >>> read_label("B. look", ["A", "B"], ["wait", "look"], thinking=False)
    1
    >>> read_label("A mug is needed", ["A", "B"], ["wait", "look"], thinking=False) is None
    True
    """
    text = text.rpartition(_THOUGHTS_END)[2]
    answers = re.findall(r"(?im)^\W*answer\W*:(.*)$", text)
    if thinking:
        if not answers:
            return None
        text = answers[-1]
    else:
        text = answers[-1] if answers else text.strip().partition("\n")[0]
    written = text.strip(_MARKS).casefold()
    for i, (label, option) in enumerate(zip(labels, options, strict=True)):
        forms = {label.casefold(), option.strip(_MARKS).casefold()} - {""}
        opens = label.isalpha() and len(label) > 1 and re.match(rf"{re.escape(label.casefold())}[,.;:!]", written)
        if (
            opens
            or written in forms
            or re.fullmatch(
                rf"{re.escape(label.casefold())}[\s.:)]+{re.escape(option.strip(_MARKS).casefold())}", written
            )
        ):
            return i
    return None


def label_distribution(
    tokens: Sequence[WrittenToken], label: str, labels: Sequence[str]
) -> tuple[np.ndarray, float] | None:
    """The distribution over K labels at the token that is ``label``, shape (K,), and the mass that they have.

    It is the first such token after the thoughts, and after the last "Answer:" if there is one. None when no token is
    that label by itself, since its probability cannot be read from one token then.
    """
    text = "".join(token.text for token in tokens)
    announcements = list(re.finditer(rf"(?i)answer\W*?:|{_THOUGHTS_END}", text))
    begin, end = announcements[-1].end() if announcements else 0, 0
    places = []
    for token in tokens:
        end += len(token.text)
        if end > begin and token.text.strip(_MARKS).casefold() == label.casefold():
            places.append(token)
    if not places:
        return None
    wanted = [other.casefold() for other in labels]
    masses = np.zeros(len(labels))
    for alternative, log_probability in places[0].alternatives:
        written = alternative.strip(_MARKS).casefold()
        if written in wanted and math.isfinite(log_probability):
            masses[wanted.index(written)] += math.exp(log_probability)
    total = float(masses.sum())
    return (masses / total, min(1.0, total)) if total > 0 else None


class Poll:
    """Collects the replies to one query.

    Args:
        query: what is asked.
        thinking: whether the model writes its thoughts first.
        counting: count the shares of samples from the start, instead of reading log-probabilities.
        samples: readable replies wanted when shares are counted, or thoughts averaged.
        retries: further replies that may replace unreadable ones.
    """

    def __init__(self, query: Query, thinking: bool, counting: bool, samples: int, retries: int):
        self.question = query.question
        scale = self.question.kind == "score"
        self.options = self.question.options if scale else tuple(dict.fromkeys(self.question.options))
        self.labels = answer_labels(self.question)
        self._asked = poll_messages(query, self.labels, thinking)
        self._correction: tuple[Message, ...] = ()
        self.thinking = thinking
        self.samples = samples
        # "1" begins "12", so a first token tells labels apart only if none begins another.
        self.counting = counting or any(len(label) > 1 and label.isdigit() for label in self.labels)
        self.wanted = samples if self.counting or thinking else 1
        self._left = retries
        self._distributions: list[np.ndarray] = []
        self._masses: list[float] = []
        self._usage = Usage()
        self._trouble: str | None = None
        self._over = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """The chat to send next; after an unreadable reply it says so, unless replies are sampled, which stay alike."""
        return (*self._asked, *self._correction)

    @property
    def missing(self) -> int:
        """How many replies to ask for next."""
        return 0 if self._over else self.wanted - len(self._distributions)

    def take(self, reply: ChatReply | ServiceError, sampling_allowed: bool) -> None:
        """Read one reply; where log-probabilities fail and ``sampling_allowed``, change to counting shares."""
        if isinstance(reply, ServiceError):
            self._trouble, self._over = reply.reason, True  # it has been retried already
            return
        self._usage += reply.usage
        chosen = read_label(reply.text, self.labels, self.options, self.thinking)
        if chosen is None:
            self._miss(reply.text)
        elif self.counting:
            self._distributions.append(np.eye(len(self.labels))[chosen])
        else:
            found = label_distribution(reply.tokens or (), self.labels[chosen], self.labels)
            if found is not None:
                self._distributions.append(found[0])
                self._masses.append(found[1])
            elif sampling_allowed:
                self.counting = True
                if self.wanted > 1:
                    self._distributions.append(np.eye(len(self.labels))[chosen])
                self.wanted = self.samples  # a single reply was greedy, hence no sample
            else:
                self._trouble, self._over = "the model tells no log-probabilities of the answer", True

    def decision(self) -> Decision:
        """What the replies say together."""
        if not self._distributions:
            return Decision(self.question, usage=self._usage, unscored=self._trouble or "there was no reply")
        mean = np.mean(self._distributions, axis=0)
        if self.question.kind == "score":
            shares = mean.tolist()
        else:
            counts = [self.question.options.count(option) for option in self.question.options]
            places = [self.options.index(option) for option in self.question.options]
            shares = [float(mean[place]) / count for place, count in zip(places, counts, strict=True)]
        mass = float(np.mean(self._masses)) if self._masses else None
        return Decision(self.question, shares, mass, self._usage)

    def _miss(self, text: str) -> None:
        self._trouble = f"the reply is not one of the answers: {text[:_SHOWN]!r}"
        self._left -= 1
        self._over = self._left < 0
        if self.wanted == 1:
            reminder = f"That is not one of the answers. {answer_form(self.labels, self.thinking)}"
            self._correction = ({"role": "assistant", "content": text}, {"role": "user", "content": reminder})
