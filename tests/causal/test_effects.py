"""Effects: counts, rates, and how they change with time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.causal import effect_by_time, effect_of, effect_table
from agentkit.causal.ledger import KINDS
from tests.causal.rows import row


def test_by_hand():
    rows = [row(kind, task=str(i)) for i, kind in enumerate(["rescued"] * 3 + ["harmed"] + ["both right"] * 4)]
    rows += [row("both wrong", task="w")] * 2
    effect = effect_of(rows)
    assert (effect.rescued, effect.harmed, effect.both_right, effect.both_wrong, effect.states) == (3, 1, 4, 2, 10)
    assert (effect.success_without, effect.success_with, effect.net) == pytest.approx((0.5, 0.7, 0.2))
    assert (effect.rescue_rate, effect.harm_rate) == pytest.approx((3 / 5, 1 / 5))
    assert effect.p_value == pytest.approx(2 * 5 / 16)
    low, high = effect.net_interval
    assert low < 0.2 < high
    assert effect.rescue_interval[0] < 3 / 5 < effect.rescue_interval[1]


@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=30))
def test_the_net_value_is_the_difference_of_the_success_rates(kinds):
    effect = effect_of([row(kind, task=str(i % 4)) for i, kind in enumerate(kinds)])
    assert effect.net == pytest.approx(effect.success_with - effect.success_without)
    assert effect.states == len(kinds)


def test_rates_without_anything_to_rescue_or_harm_are_unknown():
    assert effect_of([row("both right")]).rescue_rate is None
    assert effect_of([row("both wrong")]).harm_rate is None


def test_time_splits_the_states_and_loses_none():
    rows = [row("rescued", step=0), row("harmed", step=4), row("both right", step=5), row("both wrong", step=23)]
    by_time = effect_by_time(rows, width=5)
    assert list(by_time) == [range(0, 5), range(5, 10), range(20, 25)]
    assert [effect.states for effect in by_time.values()] == [2, 1, 1]
    assert by_time[range(0, 5)].net == 0.0


def test_the_table_names_every_stretch():
    lines = effect_table([row("rescued", step=3), row("both wrong", step=12)]).splitlines()
    assert [line.split()[0] for line in lines] == ["steps", "all", "0-9", "10-19"]
    assert lines[1].split()[1:4] == ["2", "1", "0"]


def test_an_empty_ledger_is_a_clear_error():
    for function in (effect_of, effect_by_time, effect_table):
        with pytest.raises(ValueError, match="the ledger has no rows"):
            function([])
    with pytest.raises(ValueError, match="width must be at least 1"):
        effect_by_time([row("rescued")], width=0)
