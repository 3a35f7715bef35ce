"""`Journal`: entries come back as they were, and a damaged file says where."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.journal import Journal


@attrs.frozen
class Entry:
    name: str
    value: float = attrs.field(default=0.0, validator=attrs.validators.ge(0.0))
    parts: tuple[str, ...] = ()


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(entries=st.lists(st.builds(Entry, texts, st.floats(0, 1e6), st.lists(texts, max_size=2).map(tuple)), max_size=3))
def test_entries_round_trip(entries, tmp_path_factory):
    journal = Journal(tmp_path_factory.mktemp("journal") / "folder" / "entries.jsonl", Entry)
    for entry in entries:
        journal.add(entry)
    assert journal.entries() == entries


def test_a_line_that_was_cut_off_is_left_out_and_the_next_one_is_whole(tmp_path, caplog):
    journal = Journal(tmp_path / "entries.jsonl", Entry)
    journal.add(Entry("first"))
    journal.path.write_text(journal.path.read_text() + '{"name": "sec')
    assert journal.entries() == [Entry("first")]
    assert "the last line is cut off" in caplog.text
    journal.add(Entry("third"))
    assert journal.entries() == [Entry("first"), Entry("third")]


def test_a_file_that_holds_nothing_but_half_a_line_is_empty(tmp_path):
    journal = Journal(tmp_path / "entries.jsonl", Entry)
    journal.path.write_text('{"name"')
    assert journal.entries() == []
    assert journal.path.read_bytes() == b""


@pytest.mark.parametrize("line", ["not json", "[]", '{"value": 1.0}', '{"name": "a", "value": -1.0}', '{"nam": "a"}'])
def test_a_damaged_line_is_named(line, tmp_path):
    journal = Journal(tmp_path / "entries.jsonl", Entry)
    journal.add(Entry("first"))
    journal.path.write_text(journal.path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=r"entries.jsonl, line 2 is no Entry: .*; delete that line"):
        journal.entries()
