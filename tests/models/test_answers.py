"""Grouping and ordering of questions for services, as properties."""

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models.answers import ask_in_groups, groups_by_context, option_names
from agentkit.models.failures import ServiceError

queries_st = st.lists(
    st.builds(
        lambda context, system, number: Query(context, Question(f"{number}?"), system),
        st.sampled_from("ABC"),
        st.sampled_from(["", "S"]),
        st.integers(0, 30),
    ),
    max_size=25,
)


def value(query: Query) -> float:
    """An answer that tells which query it belongs to."""
    return (sum(map(ord, query.context + query.system)) * 31 + int(query.question.text[:-1])) % 97 / 97


def in_turn(requests: Sequence[Callable[[], Sequence[Decision]]]) -> list[Sequence[Decision] | ServiceError]:
    results: list[Sequence[Decision] | ServiceError] = []
    for request in requests:
        try:
            results.append(request())
        except ServiceError as error:
            results.append(error)
    return results


@given(queries_st, st.integers(1, 6), st.sets(st.integers(0, 30)), st.sets(st.sampled_from("ABC")))
def test_each_answer_is_in_its_place_whatever_is_rejected_or_fails(
    queries: list[Query], size: int, poison: set[int], broken: set[str]
) -> None:
    def rejected(query: Query) -> bool:
        return int(query.question.text[:-1]) in poison

    def ask(some: Sequence[Query]) -> list[Decision]:
        assert 1 <= len(some) <= size
        assert len({(q.system, q.context) for q in some}) == 1
        if some[0].context in broken:
            raise ServiceError("broken")
        if any(map(rejected, some)):
            raise ServiceError("rejected", rejected=True)
        return [Decision(q.question, (value(q), 1 - value(q)), usage=Usage(requests=1)) for q in some]

    decisions = ask_in_groups(queries, size, ask, in_turn)
    assert [d.question for d in decisions] == [q.question for q in queries]
    for query, decision in zip(queries, decisions, strict=True):
        if query.context in broken:
            assert decision.unscored == "broken"
        elif rejected(query):
            assert decision.unscored == "rejected"
        else:
            assert decision.value == value(query)


@given(queries_st, st.integers(1, 6))
def test_groups_partition_the_queries(queries: list[Query], size: int) -> None:
    groups = groups_by_context(queries, size)
    assert sorted(i for group in groups for i in group) == list(range(len(queries)))
    assert all(1 <= len(group) <= size for group in groups)
    contexts = {(q.system, q.context) for q in queries}
    full = sum(-(-sum((q.system, q.context) == c for q in queries) // size) for c in contexts)
    assert len(groups) == full


@given(st.lists(st.text(alphabet="ab ()'nothig", max_size=10), min_size=1, max_size=12))
def test_names_are_distinct_never_blank_and_the_options_own_where_they_can(options: list[str]) -> None:
    names = option_names(options)
    assert len(set(names.names)) == len(names.names) == len(set(options))
    assert all(name.strip() for name in names.names)
    for option, index in zip(options, names.index, strict=True):
        assert not option.strip() or names.names[index] == option
    spread = names.spread([1 / len(names.names)] * len(names.names))
    assert abs(sum(spread) - 1) < 1e-9
    assert all(spread[i] == spread[options.index(option)] for i, option in enumerate(options))
