"""An over-long context loses its middle, and nobody is left in the dark about it."""

import logging
import re

import attrs
from hypothesis import given
from hypothesis import strategies as st

from agentkit.decisions import Query, Question
from agentkit.models import Cached, ConstrainedReadout
from agentkit.models.shortening import _units, shorten

QUESTION = Question("Consider step 30: go to desk 1\nDid this action help?")
FOCUS = "Step 30: go to desk 1\nResult: You see a mug.\n"


def episode(steps: int) -> Query:
    lines = [f"Step {n}: go to desk 1\nResult: You see a mug.\n" for n in range(1, steps + 1)]
    return Query("Goal: put a mug on a desk.\n\nStart: a room.\n\n" + "".join(lines), QUESTION, focus=(FOCUS,))


def words(text: str) -> int:
    return len(text.split())


@given(st.text(alphabet="ab \n\t\u2028", max_size=3000), st.integers(0, 800))
def test_units_are_the_context(text, blanks):
    text += "x" * blanks + " " * blanks
    units = _units(text)
    assert "".join(units) == text
    assert all(len(unit.strip()) <= 400 for unit in units)


@given(st.integers(31, 80), st.integers(1, 600))
def test_goal_focus_and_ends_stay(steps, excess):
    query = episode(steps)
    result = shorten(query, excess, words)
    context = result.query.context
    assert context.startswith("Goal: put a mug on a desk.\n")
    assert FOCUS in context
    left_out = sum(map(int, re.findall(r"\[\.\.\. (\d+) tokens left out \.\.\.\]", context)))
    assert left_out == result.dropped
    whole = words(query.context)
    if whole - words(context) < excess:  # as short as it can be
        assert re.sub(r"\[.*\]\n", "", context).split() == ("Goal: put a mug on a desk. " + FOCUS).split()
    else:
        # What is dropped stands in the middle: both ends are at least as long as what is left of them in any gap.
        assert whole - words(context) >= excess


def test_the_last_steps_stay_when_little_is_cut():
    context = shorten(episode(60), 100, words).query.context
    assert context.endswith("Step 60: go to desk 1\nResult: You see a mug.\n")
    assert "Step 1: go" in context
    assert "Step 29: go" not in context


def test_one_endless_line_is_cut_inside():
    query = Query("Goal: buy it.\n\n" + "word " * 5000, QUESTION)
    result = shorten(query, 4000, words)
    assert words(result.query.context) <= 1003 + 6
    assert result.query.context.startswith("Goal: buy it.\n\nword word")
    assert result.query.context.endswith("word ")


def test_the_readout_shortens_answers_and_tells(tiny, caplog):
    readout = ConstrainedReadout(*tiny, max_length=300)
    short, long = episode(3), episode(80)
    with caplog.at_level(logging.WARNING):
        decisions = readout([short, long])
    assert decisions[0].dropped_tokens == 0
    assert decisions[1].dropped_tokens > 0
    assert decisions[1].unscored is None
    assert decisions[1].usage.input_tokens <= 300 + 2  # usage counts both options, the limit the longer one
    assert "1 of 2 contexts are too long for the 300 tokens" in caplog.text


def test_a_query_that_cannot_fit_is_unscored_and_the_others_are_answered(tiny):
    long = Query("", Question("why " * 400))
    decisions = ConstrainedReadout(*tiny, max_length=100)([long, Query("", Question("?"))])
    assert "the model takes 100" in decisions[0].unscored
    assert decisions[1].unscored is None


def test_the_limit_is_the_models_own_by_default(tiny):
    assert ConstrainedReadout(*tiny).max_length == tiny.model.config.max_position_embeddings


def test_what_was_dropped_survives_the_cache(tiny, tmp_path):
    cached = Cached(ConstrainedReadout(*tiny, max_length=300), tmp_path)
    first, again = cached([episode(80)])[0], cached([episode(80)])[0]
    assert again == attrs.evolve(first, usage=again.usage)
    assert again.dropped_tokens > 0
    assert (cached.hits, cached.misses) == (1, 1)


def test_identity_changes_with_weights_and_scoring(tiny):
    before = ConstrainedReadout(*tiny).identity
    assert ConstrainedReadout(*tiny).identity == before
    assert ConstrainedReadout(*tiny, scoring="mean").identity != before
    for parameter in tiny.model.parameters():
        parameter.data.add_(1e-3)
    assert ConstrainedReadout(*tiny).identity != before
