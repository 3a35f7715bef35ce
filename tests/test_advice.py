"""Advice: what a gate writes, an actor reads."""

from hypothesis import given
from hypothesis import strategies as st

from agentkit.advice import advised_actions, with_advice

actions = st.text(st.characters(exclude_characters="'"), min_size=1)


@given(st.text(), st.text(), st.lists(actions, min_size=1, max_size=4))
def test_what_is_advised_is_read_back(observation, proposal, preferred):
    assert advised_actions(with_advice(observation, proposal, preferred)) == tuple(preferred)


def test_apostrophes_within_an_action_survive():
    seen = with_advice("A shop.", "search[men's shoes]", ["search[women's shoes]", "click[back]"])
    assert advised_actions(seen) == ("search[women's shoes]", "click[back]")


def test_only_the_end_of_an_observation_advises():
    seen = with_advice("A hall.", "look", ["take key"])
    assert advised_actions(f"{seen} You hear a noise.") == ()
