"""English text analysis as Lucene's `EnglishAnalyzer` does it: text -> index terms.

The chain is StandardTokenizer (Unicode word boundaries, UAX #29), possessive filter, lower case, stop words, Porter
stemmer (Lucene 9, `org.apache.lucene.analysis.en.EnglishAnalyzer`; the stemmer is the well-kept PyStemmer).
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from agentkit.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""The 33 stop words of Lucene's `EnglishAnalyzer`."""

MAX_TOKEN_LENGTH = 255
"""StandardTokenizer cuts a longer run of letters into pieces of this many characters."""

# Extended_Pictographic as of Unicode 12.1, which Lucene 9 was built with; later versions of the property dropped
# symbols such as U+2605 (black star), and each such token counts towards a document's length.
_PICTOGRAPHS = (
    "00A9 00AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB "
    "25B6 25C0 25FB-25FE 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271D 2721 2728 2733-2734 2744 "
    "2747 274C 274E 2753-2755 2757 2763-2767 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 "
    "303D 3297 3299 1F000-1F0FF 1F10D-1F10F 1F12F 1F16C-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F1AD-1F1E5 1F201-1F20F "
    "1F21A 1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F3FA 1F400-1F53D 1F546-1F64F 1F680-1F6FF 1F774-1F77F 1F7D5-1F7FF "
    "1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8FF 1F90C-1F93A 1F93C-1F945 1F947-1FFFD"
)

# The two rules that Porter's own code (and so Lucene's) has and the published algorithm (Snowball's "porter") has not:
# -bli -> -ble and -logi -> -log after a stem of measure > 0, here applied to the spellings that reach them.
_MEASURE = r"(?:[aeiou]|(?<=[^aeiou])y)(?:[^aeiouy]|(?<=[aeiou])y)"
_DEPARTURE = re.compile(rf"^(.*{_MEASURE}.*)(bl|log)(?:y|ies|i)$")
_DEPARTED = {"bl": "ble", "log": "log"}


def _character_class(ranges: str) -> str:
    bounds = (part.partition("-") for part in ranges.split())
    return "[" + "".join(f"{chr(int(low, 16))}-{chr(int(high or low, 16))}" for low, _, high in bounds) + "]"


def _token_pattern() -> str:
    """The word rules of UAX #29 (WB5 to WB13b) that yield tokens; a token holds at least one letter or digit."""
    extend = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*"
    letter = rf"[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]{extend}"
    digit = rf"\p{{WB=Numeric}}{extend}"
    katakana = rf"\p{{WB=Katakana}}{extend}"
    joiner = rf"\p{{WB=ExtendNumLet}}{extend}"
    inside_word = rf"[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{extend}"
    inside_number = rf"[\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{extend}"
    word = rf"(?:{letter}(?:{inside_word}(?={letter}))?|{digit}(?:{inside_number}(?={digit}))?|{katakana}|{joiner})+"
    single = rf"[\p{{Ideographic}}\p{{Hiragana}}]{extend}"
    south_east_asian = rf"(?:\p{{Line_Break=Complex_Context}}{extend})+"
    pictograph = rf"{_character_class(_PICTOGRAPHS)}{extend}(?:(?<=\u200D){_character_class(_PICTOGRAPHS)}{extend})*"
    flags = r"(?:\p{Regional_Indicator}{2})"
    # A run of joiners alone ("___") is no token.
    return rf"(?=_*+[^\s_]){word}|{single}|{south_east_asian}|{flags}|{pictograph}"


@cache
def analyzer() -> "Callable[[str], list[str]]":
    """The function that turns a text into its terms, in order, repeats kept; built once a process.

    Raises:
        ImportError: `regex` or `PyStemmer` is missing; the message holds the pip line.

    >>> analyzer()("The women's T-shirts, 3.5 inches (XL)")
    ['women', 't', 'shirt', '3.5', 'inch', 'xl']
    """
    find = require("regex", "webshop").compile("(?V1)" + _token_pattern()).findall
    stem_word = require("Stemmer", "webshop").Stemmer("porter", 0).stemWord

    @cache
    def stem(word: str) -> str:
        # Lucene's PorterStemmer leaves words of one or two letters alone; Snowball's does not.
        if len(word) <= 2:
            return word
        return stem_word(_DEPARTURE.sub(lambda match: match[1] + _DEPARTED[match[2]], word))

    def analyze(text: str) -> list[str]:
        terms = []
        for token in find(text):
            pieces = [token]
            if len(token) > MAX_TOKEN_LENGTH:
                pieces = [token[i : i + MAX_TOKEN_LENGTH] for i in range(0, len(token), MAX_TOKEN_LENGTH)]
            for piece in pieces:
                if piece[-2:-1] in ("'", "\u2019", "\uff07") and piece[-1:] in ("s", "S"):
                    piece = piece[:-2]
                piece = piece.lower()
                if piece and piece not in STOP_WORDS:
                    terms.append(stem(piece))
        return terms

    return analyze
