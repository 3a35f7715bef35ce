"""Chat prompts as token ids, in which text from outside can never become a chat turn.

A page or an observation may hold ``<|im_start|>``. Here contents are tokenised with special tokens switched off, and
only the special tokens of the chat template itself become special ids. Tokenisers split text at special tokens first,
so encoding the pieces between them gives the same ids as encoding the whole chat.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import attrs

from agentkit.models.token_tree import common_prefix_length

Message = Mapping[str, str]

_LINES = re.compile(r"(?<=\S\n)(?=[A-Za-z])")
"""Where a text may be cut so that its lines are encoded (and remembered) one by one: many questions about one context
then share their encoding. Only cuts that common tokenizers make themselves; others are tried out at construction."""

_SAMPLE_LINES = (
    "Goal: put a mug in/on desk 1.\n",
    "Step 12: look\n",
    "Result: \u00e9\n",
    "a b.\n",
    "X\n",
    "it's 5!\n",
    "end",
)

_MARK = "\ue000{}\ue001"  # private-use characters, which no template holds
_CANARY: tuple[Message, ...] = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "The mug is on desk 1."},
)


@attrs.frozen
class Prompt:
    """A chat that waits for the assistant: ids up to the last special token, and the text that follows it.

    An answer is tokenised together with ``tail``, so that the boundary comes out as in a whole text.
    """

    ids: tuple[int, ...]
    tail: str


@attrs.frozen
class _Encoded:
    """A text with the places where its lines begin, and the number of ids before each."""

    text: str
    cuts: list[int]
    sizes: list[int]
    ids: tuple[int, ...]


def _line_start(text: str, end: int) -> int:
    """The last place before ``end`` where `_LINES` cuts the text; 0 when there is none."""
    while (start := text.rfind("\n", 0, end) + 1) and not _LINES.match(text, start):
        end = start - 1
    return start


class _PlainTokenizer:
    """Texts to ids, none of them special. A copy of the tokenizer's fast backend skips most of a call's overhead."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._backend: Any = None
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is not None:  # copied, since the switches below must not reach the caller's tokenizer
            self._backend = type(backend).from_str(backend.to_str())
            self._backend.encode_special_tokens = True
            self._backend.no_padding()
            self._backend.no_truncation()

    def encode(self, text: str) -> tuple[int, ...]:
        if self._backend is not None:
            return tuple(self._backend.encode(text, add_special_tokens=False).ids)
        return tuple(self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])

    def encode_many(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Several texts, on several threads where the backend can."""
        if self._backend is None:
            return [self.encode(text) for text in texts]
        return [tuple(e.ids) for e in self._backend.encode_batch_fast(list(texts), add_special_tokens=False)]


class ChatEncoder:
    """Turns messages into token ids with a tokenizer's own chat template (or plain text when it has none).

    Args:
        tokenizer: a Hugging Face tokenizer.
        template_arguments: what the chat template is told besides the messages, such as ``enable_thinking``.
    """

    def __init__(self, tokenizer: Any, template_arguments: Mapping[str, Any] | None = None):
        self.tokenizer = tokenizer
        self.template_arguments = dict(template_arguments or {})
        self._added: dict[str, int] = dict(tokenizer.get_added_vocab())
        for token, token_id in zip(tokenizer.all_special_tokens, tokenizer.all_special_ids, strict=True):
            self._added.setdefault(token, token_id)
        ordered = sorted(map(re.escape, self._added), key=len, reverse=True)
        self._splitter = re.compile(f"({'|'.join(ordered)})") if ordered else None
        self._plain = _PlainTokenizer(tokenizer)
        self._texts: dict[str, tuple[int, ...]] = {}
        self._pieces: dict[str, tuple[int, ...]] = {}
        self._last = _Encoded("", [0], [0], ())
        self._rendered: dict[tuple[tuple[str, ...], bool], str] = {}
        self._splits_lines = self._lines_are_independent()
        self.terminator = self._find_terminator()
        self._check()

    def encode_text(self, text: str) -> tuple[int, ...]:
        """Ids of plain text; whatever it holds, none of them is a special token."""
        known = self._texts.get(text)
        if known is None:
            known = self._encode_lines(text) if self._splits_lines else self._encode_piece(text)
            if len(self._texts) >= 4096:  # a bound, so that long runs do not grow
                self._texts.clear()
            if len(self._pieces) >= 65536:
                self._pieces.clear()
            self._texts[text] = known
        return known

    def learn(self, chats: Iterable[Sequence[Message]]) -> None:
        """Tokenise the lines of many chats together, so that encoding each of them is a look-up."""
        if not self._splits_lines:
            return
        unknown: dict[str, None] = {}
        before: dict[int, str] = {}
        for chat in chats:
            for place, message in enumerate(chat):
                text = message["content"]
                # The lines that it shares with the message before it have been seen.
                start = _line_start(text, common_prefix_length(before.get(place, ""), text))
                unknown.update((piece, None) for piece in _LINES.split(text[start:]) if piece not in self._pieces)
                before[place] = text
        self._pieces.update(zip(unknown, self._plain.encode_many(list(unknown)), strict=True))

    def _encode_lines(self, text: str) -> tuple[int, ...]:
        """Line by line, from where the text parts from the one encoded before it."""
        last = self._last
        line = max(0, bisect_left(last.cuts, common_prefix_length(last.text, text)) - 1)
        cuts, sizes = last.cuts[: line + 1], last.sizes[: line + 1]
        ids = list(last.ids[: sizes[-1]])
        for piece in _LINES.split(text[cuts[-1] :]):
            ids.extend(self._encode_piece(piece))
            cuts.append(cuts[-1] + len(piece))
            sizes.append(len(ids))
        self._last = _Encoded(text, cuts, sizes, tuple(ids))
        return self._last.ids

    def _encode_piece(self, text: str) -> tuple[int, ...]:
        ids = self._pieces.get(text)
        if ids is None:
            ids = self._pieces[text] = self._plain.encode(text)
        return ids

    def _lines_are_independent(self) -> bool:
        """Whether this tokenizer treats a line the same alone as in a text, tried on lines of many kinds."""
        whole = "".join(_SAMPLE_LINES)
        return tuple(chain.from_iterable(map(self._encode_piece, _LINES.split(whole)))) == self._encode_piece(whole)

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """The chat up to the assistant's answer."""
        ids, tail = self._split(self._render(messages, add_generation_prompt=True), messages)
        return Prompt(ids, tail)

    def answer(self, prompt: Prompt, text: str, terminate: bool = True) -> tuple[int, ...]:
        """Ids that follow ``prompt.ids`` when the assistant answers ``text`` (with the token that ends its turn)."""
        return self.encode_text(prompt.tail + text) + (self.terminator if terminate else ())

    def continuation(self, messages: Sequence[Message]) -> Prompt:
        """What follows an assistant's terminated answer: further messages, then the wait for the next answer."""
        head = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        rendered = self._render([*head, *messages], add_generation_prompt=True)
        _, _, rest = rendered.partition(_MARK.format(1))
        ids, tail = self._split(rest, [*head, *messages])
        return Prompt(ids[len(self.terminator) :], tail)

    def _render(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        """The chat with marks for contents, which depends on the roles alone and so is rendered once for each."""
        key = (tuple(message["role"] for message in messages), add_generation_prompt)
        if key not in self._rendered:
            if len(self._rendered) >= 4096:
                self._rendered.clear()
            self._rendered[key] = self._render_roles(*key)
        return self._rendered[key]

    def _render_roles(self, roles: Sequence[str], add_generation_prompt: bool) -> str:
        marked = [{"role": role, "content": _MARK.format(i)} for i, role in enumerate(roles)]
        if self.tokenizer.chat_template is None:
            return "\n\n".join(m["content"] for m in marked) + ("\n\n" if add_generation_prompt else "")
        return self._templated(marked, add_generation_prompt)

    def _templated(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        return self.tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=add_generation_prompt, **self.template_arguments
        )

    def _split(self, rendered: str, messages: Sequence[Message]) -> tuple[tuple[int, ...], str]:
        def fill(piece: str) -> str:
            return re.sub("\ue000(\\d+)\ue001", lambda match: messages[int(match[1])]["content"], piece)

        pieces = self._splitter.split(rendered) if self._splitter is not None else [rendered]
        ids: list[int] = []
        for piece in pieces[:-1]:
            if piece in self._added:
                ids.append(self._added[piece])
            elif piece:
                ids.extend(self.encode_text(fill(piece)))
        return tuple(ids), fill(pieces[-1])

    def _find_terminator(self) -> tuple[int, ...]:
        """The special token that the template puts after an assistant's message; else the end-of-text token."""
        if self.tokenizer.chat_template is not None and self._splitter is not None:
            messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
            _, _, rest = self._render(messages, add_generation_prompt=False).partition(_MARK.format(1))
            match = self._splitter.search(rest)
            if match is not None:
                return (self._added[match[0]],)
        if self.tokenizer.eos_token_id is None:
            raise ValueError("the tokenizer has neither a chat template that ends a turn nor an end-of-text token")
        return (self.tokenizer.eos_token_id,)

    def _check(self) -> None:
        """Refuse a tokenizer whose pieces do not add up to the whole (some glue words across special tokens)."""
        if self.tokenizer.chat_template is None:
            return
        prompt = self.prompt(_CANARY)
        whole = self._templated(_CANARY, add_generation_prompt=True)
        expected = self.tokenizer(whole, add_special_tokens=False)["input_ids"]
        if list(prompt.ids + self.encode_text(prompt.tail)) != list(expected):
            raise ValueError(
                f"{type(self.tokenizer).__name__} encodes a chat differently from its parts, so contents cannot be "
                "kept apart from chat turns; use a tokenizer that splits text at special tokens"
            )
