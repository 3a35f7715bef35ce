"""Nouns of a product title, which the type reward compares: by spaCy's small English model, or by rules without it.

The reference rewards used spaCy 3.8 with ``en_core_web_sm``; with it the type reward is exact. `RuleNouns` needs no
model and agrees on 99 % of the reference rewards (``examples/benchmarks/webshop_conformance.py`` measures it), because
that model takes nearly every capitalised word of a title for a proper noun. Which one is at work is never hidden: the
catalogue says so in ``noun_source``, and falling back to the rules warns once.
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from agentkit.trajectory import write_atomically

logger = logging.getLogger(__name__)

SPACY_MODEL = "en_core_web_sm"


class NounSource(Protocol):
    """Finds nouns in titles."""

    @property
    def name(self) -> str:
        """What it is, with versions; results of equal names are equal."""
        ...

    def __call__(self, title: str) -> Sequence[str]:
        """Nouns and proper nouns of ``title``, lower-case, in order, repeats kept."""
        ...


class SpacyNouns:
    """Nouns by a spaCy pipeline, tagger only; the pipeline is loaded when the first title comes.

    Args:
        model: an installed pipeline package.
    """

    def __init__(self, model: str = SPACY_MODEL):
        self._model = model
        self.name = f"spacy {importlib.metadata.version('spacy')} {model}"
        self._nlp: Any = None

    def __call__(self, title: str) -> Sequence[str]:
        return next(self.pipe([title]))

    def pipe(self, titles: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Nouns of many titles, in batches."""
        if self._nlp is None:
            import spacy

            self._nlp = spacy.load(self._model, exclude=["parser", "ner", "lemmatizer", "senter"])
        for document in self._nlp.pipe(titles, batch_size=64):
            yield tuple(token.text.lower() for token in document if token.pos_ in ("NOUN", "PROPN"))


# Words that the model hardly ever takes for a noun in a title: function words, and verbs and adjectives that stay so
# although they are capitalised.
_NEVER_WORDS = (
    "a an the this that these those and or but nor for with of in on to by from at as into over under up without per "
    "via than like about after before between through during around near is are be been was were do does did can will "
    "your you my our their his her its it i we they he she not me has have had any each every both most some other so "
    "too very when while if all only also just even etc more no out one two three four five six seven eight nine ten "
    "hundred full large led made make makes designed included includes include fully original oriental nordic italian "
    "resealable pressed damaged used based"
)
_NEVER = frozenset(_NEVER_WORDS.split())
_LOWER_CASE_ADJECTIVE = re.compile(r"(?:able|ible|ed|ing|ive|ous|ful|less|ic|al)$")
_UNIT = "km|dm|cm|mm|m|ha|nm|yd|ft|in|kg|mg|g|lb|oz|mph|MB|mb|KB|kb|GB|gb|TB|tb|T|G|M|K|t"
# The tokens that spaCy's English tokenizer makes of titles, nearly: a number leaves its unit, hyphens and slashes part.
_TOKEN = re.compile(
    rf"(?P<number>\d+(?:[.,]\d+)*)(?P<unit>{_UNIT})(?![^\W_])"
    r"|\d\w*(?:[.,]\d\w*)*"
    r"|[^\W\d_](?:[^\W_]|(?<=\w)[.&'’](?=[^\W_]))*"
    r"|[^\w\s]"
)


def _tokens(title: str) -> Iterator[str]:
    for match in _TOKEN.finditer(title):
        text = match[0]
        if match["unit"]:
            yield from (match["number"], match["unit"])
        elif len(text) > 2 and text[-2] in "'’" and text[-1] in "sS":
            yield from (text[:-2], text[-2:])
        else:
            yield from re.split(r"(?<=[a-z])\.(?=[A-Z])", text)


def _is_noun(token: str, before: str, after: str) -> bool:
    """Whether the model is likely to call ``token`` a noun, between its neighbours ("" = the title's end)."""
    word = token.lower()
    if token in ("|", "%"):
        return True
    if not word[0].isalpha():
        return word == "3d"
    if word in _NEVER or (token == word and _LOWER_CASE_ADJECTIVE.search(word)):
        return False
    exceptions = {
        "black": after in ("", "(") and before in (",", "-", ")", "."),
        "blue": after in ("", "(") and before in (",", "-", ")", "."),
        "compatible": not before[:1].isalpha(),
        "high": after == "-",
        "oz": token == "oz" and after[:1].isalpha(),
        "pack": before == "-" and after in ("", ")"),
        "set": before == "" and after == "of",
        "x": token == "x" and after[:1].isdigit(),
    }
    return not exceptions.get(word, False)


class RuleNouns:
    """Nouns by rules: every word but function words, numbers and some adjectives and verbs."""

    name = "rules 1"

    def __call__(self, title: str) -> Sequence[str]:
        tokens = ["", *_tokens(title), ""]
        triples = zip(tokens, tokens[1:], tokens[2:], strict=False)
        return tuple(token.lower() for before, token, after in triples if token and _is_noun(token, before, after))


class RememberedNouns:
    """A source behind a memory. spaCy takes milliseconds a title, so the nouns of many titles are found once and kept.

    Args:
        source: the source.
        titles: gives the titles whose nouns are found together when the first one is asked for.
        folder: where they are kept for the next process.
    """

    def __init__(self, source: NounSource, titles: Callable[[], Sequence[str]], folder: Path):
        self.name = source.name
        self._source, self._titles, self._folder = source, titles, folder
        self._find = lru_cache(maxsize=65_536)(source)

    def __call__(self, title: str) -> Sequence[str]:
        found = self._known.get(title)
        return self._find(title) if found is None else found

    @cached_property
    def _known(self) -> dict[str, Sequence[str]]:
        if not isinstance(self._source, SpacyNouns):
            return {}
        digest = hashlib.blake2b(self.name.encode(), digest_size=8).hexdigest()
        path = self._folder / f"nouns-{digest}.json"
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8"))
        titles = self._titles()
        known: dict[str, Sequence[str]] = dict(zip(titles, self._source.pipe(titles), strict=True))
        try:
            write_atomically(path, json.dumps(known))
        except OSError as error:
            logger.warning("the titles' nouns are not cached, for %s cannot be written: %s", path, error)
        return known


def installed_spacy_model() -> str | None:
    """The installed package of spaCy's small English model (under its own name or another packager's), or None."""
    if importlib.util.find_spec("spacy") is None:
        return None
    names = {entry.name for entry in importlib.metadata.entry_points(group="spacy_models")}
    if SPACY_MODEL in names or importlib.util.find_spec(SPACY_MODEL) is not None:
        return SPACY_MODEL
    return next((name for name in sorted(names) if name.startswith(SPACY_MODEL)), None)


@cache
def _warn_about_rules() -> None:
    warnings.warn(
        "WebShop's type reward uses rules instead of spaCy to find nouns (about 1 % of the rewards differ); "
        f"for exact rewards run: pip install spacy && python -m spacy download {SPACY_MODEL}",
        stacklevel=2,
    )


def noun_source(kind: str = "auto") -> NounSource:
    """The source of nouns.

    Args:
        kind: "spacy"; "rules"; or "auto": spaCy when its model is installed, else the rules, with a warning.

    Raises:
        ImportError: ``kind`` is "spacy" and the model is not installed.
        ValueError: ``kind`` is unknown.
    """
    if kind not in ("auto", "spacy", "rules"):
        raise ValueError(f"nouns must be 'auto', 'spacy' or 'rules', got {kind!r}")
    model = None if kind == "rules" else installed_spacy_model()
    if model is not None:
        return SpacyNouns(model)
    if kind == "spacy":
        raise ImportError(
            f"spaCy's model {SPACY_MODEL} is not installed; "
            f"run: pip install spacy && python -m spacy download {SPACY_MODEL}"
        )
    if kind == "auto":
        _warn_about_rules()
    return RuleNouns()
