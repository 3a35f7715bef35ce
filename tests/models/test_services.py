"""What the services are asked, and how their answers, sound or not, are read."""

import json
import math
import pickle
import sys
from typing import Any

import pytest

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models import OpenAIDecisions, Prompted, SystemOne
from agentkit.models.answers import groups_by_context, option_names, sound_decision
from tests.models.misbehaving_server import MisbehavingServer, Reaction, answers, status
from tests.models.test_failures import GOOD, KEY, QUICK, Make, make_openai, make_prompted, make_system_one

pytest.importorskip("openai")
pytest.importorskip("typesafe_sdk")

HOT = Question("Is it hot?")
WHERE = Question("Where to?", "choice", ("go to shelf 1", "go to shelf 10", "look"))
HOW = Question("How far?", "score", ("not at all", "half", "done"))
typed_backends = pytest.mark.parametrize("make", [make_openai, make_system_one], ids=["openai", "system-one"])


def questions_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    found = body["questions"]
    return list(found.values()) if isinstance(found, dict) else found


@typed_backends
def test_questions_about_one_context_share_a_request_and_answers_find_their_places(make: Make) -> None:
    queries = [Query("A", WHERE), Query("B", HOT), Query("A", HOW), Query("A", HOT, "Be strict."), Query("A", HOT)]
    with MisbehavingServer(answers(GOOD[make])) as server:
        decisions = make(server.url)(queries)
        assert sorted(len(questions_of(body)) for body in server.bodies) == [1, 1, 3]
    assert [d.question for d in decisions] == [q.question for q in queries]
    assert [d.choice for d in decisions] == ["go to shelf 1", "yes", "done", "yes", "yes"]
    # The request's cost stands once, with the first of its questions.
    assert [d.usage.requests for d in decisions] == [1, 1, 0, 1, 0]
    assert [d.usage.input_tokens for d in decisions] == [100, 100, 0, 100, 0]


@pytest.mark.parametrize(("make", "most"), [(make_openai, 400), (make_system_one, 64)])
def test_no_request_holds_more_questions_than_the_service_takes(make: Make, most: int) -> None:
    queries = [Query("A", Question(f"Did step {i} help?")) for i in range(most + 1)]
    with MisbehavingServer(answers(GOOD[make])) as server:
        decisions = make(server.url)(queries)
        assert sorted(len(questions_of(body)) for body in server.bodies) == [1, most]
    assert all(d.value == pytest.approx(0.75) for d in decisions)


def test_the_requests_have_the_services_own_forms() -> None:
    odd = Question("Is it right?", "predicate", ("right", "wrong"))
    queries = [Query("A", question, "Be strict.") for question in (HOT, odd, WHERE, HOW)]
    with MisbehavingServer(answers(GOOD[make_openai])) as server:
        make_openai(server.url)(queries)
        assert server.exchanges[0].path.endswith("/decisions")
        assert server.bodies[0] == {
            "model": "m",
            "input": [{"role": "system", "content": "Be strict."}, {"role": "user", "content": "A"}],
            "questions": [
                {"name": "q0", "type": "predicate", "instructions": "Is it hot?"},
                {
                    "name": "q1",
                    "type": "predicate",
                    "instructions": "Is it right?\n(True means: right. False means: wrong.)",
                },
                {
                    "name": "q2",
                    "type": "choice",
                    "instructions": "Where to?",
                    "choices": [{"value": o} for o in WHERE.options],
                },
                {
                    "name": "q3",
                    "type": "score",
                    "instructions": "How far?",
                    "levels": [{"label": o} for o in HOW.options],
                },
            ],
        }
    with MisbehavingServer(answers(GOOD[make_system_one])) as server:
        make_system_one(server.url)(queries)
        assert server.exchanges[0].path == "/v1/systemone"
        assert server.bodies[0] == {
            "model": "m",
            "state": "Be strict.\n\nA",
            "questions": {
                "q0": {"type": "noul", "instructions": "Is it hot?"},
                "q1": {
                    "type": "noul",
                    "instructions": "Is it right?",
                    "criteria": {"true": "right", "false": "wrong"},
                },
                "q2": {"type": "choice", "instructions": "Where to?", "criteria": dict.fromkeys(WHERE.options)},
                "q3": {"type": "score", "instructions": "How far?", "criteria": list(HOW.options)},
            },
        }


def spoil(make: Make, change: Any) -> Reaction:
    """The good answer with its first answer changed: ``change(answer) -> answer``, None = left out."""

    def react(body: dict[str, Any]) -> str:
        answer = GOOD[make](body)
        found = answer["answers"]
        key = next(iter(found)) if isinstance(found, dict) else 0
        changed = change(found[key])
        if changed is None:
            del found[key]
        else:
            found[key] = changed
        return json.dumps(answer)

    return lambda exchange: exchange.send(200, react(exchange.body))


BAD_PREDICATES: dict[str, Any] = {
    "left out": (lambda a: None, "left the question out"),
    "refused": (lambda a: {"type": "refusal", "name": a.get("name")}, "refused to answer"),
    "another kind": (lambda a: a | {"type": "box"}, "was answered by a 'box'"),
    "NaN": (lambda a: {k: math.nan if k in ("probability", "noul") else v for k, v in a.items()}, r"outside \[0, 1\]"),
    "above 1": (lambda a: {k: 1.5 if k in ("probability", "noul") else v for k, v in a.items()}, r"outside \[0, 1\]"),
    "a word": (lambda a: {k: "high" if k in ("probability", "noul") else v for k, v in a.items()}, "lacks the prob"),
    "no number": (lambda a: {k: v for k, v in a.items() if k not in ("probability", "noul")}, "lacks the prob"),
    "no object": (lambda a: "yes", "left the question out"),
}


@typed_backends
@pytest.mark.parametrize("fault", BAD_PREDICATES)
def test_one_bad_answer_is_unscored_and_the_others_are_kept(make: Make, fault: str) -> None:
    change, reason = BAD_PREDICATES[fault]
    with MisbehavingServer(spoil(make, change)) as server:
        bad, good = make(server.url)([Query("A", HOT), Query("A", Question("Is it clean?"))])
    assert good.value == pytest.approx(0.75)
    assert bad.probabilities == ()
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(bad.unscored)


def with_probabilities(*values: Any) -> Any:
    """A change of a choice's or a score's answer: these probabilities in order; fewer = the last are left out."""

    def change(answer: dict[str, Any]) -> dict[str, Any]:
        rows = answer["probabilities"]
        if isinstance(rows, dict):
            return answer | {"probabilities": dict(zip(rows, values, strict=False))}
        new = [row | {"probability": value} for row, value in zip(rows, values, strict=False)]
        return answer | {"probabilities": new}

    return change


@typed_backends
@pytest.mark.parametrize("question", [WHERE, HOW], ids=["choice", "score"])
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((0.5, 0.5, 0.5), "sum to 1.5"),
        ((0.0, 0.0, 0.0), "sum to 0"),
        ((0.5, math.nan, 0.5), r"outside \[0, 1\]"),
        ((0.5, math.inf, 0.5), r"outside \[0, 1\]"),
        ((1.5, -0.5, 0.0), r"outside \[0, 1\]"),
        ((0.5, 0.5), "lacks the probability of an option"),
        ((0.5, None, 0.5), "lacks the probability of an option"),
        ((), "lacks the probability of an option"),
    ],
)
def test_unsound_probabilities_are_unscored(make: Make, question: Question, values: Any, reason: str) -> None:
    with MisbehavingServer(spoil(make, with_probabilities(*values))) as server:
        bad, good = make(server.url)([Query("A", question), Query("A", HOT)])
    assert good.unscored is None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(bad.unscored)


@typed_backends
def test_rounded_probabilities_are_normalised(make: Make) -> None:
    with MisbehavingServer(spoil(make, with_probabilities(0.33, 0.33, 0.33))) as server:
        (decision,) = make(server.url)([Query("A", WHERE)])
    assert decision.probabilities == pytest.approx((1 / 3,) * 3)


@pytest.mark.parametrize(("kept", "scored"), [(3, True), (2, False)])
def test_openai_answers_without_names_are_taken_by_place_only_if_none_is_missing(kept: int, scored: bool) -> None:
    def unnamed(body: dict[str, Any]) -> dict[str, Any]:
        answer = GOOD[make_openai](body)
        return answer | {"answers": [a | {"name": None} for a in answer["answers"]][:kept]}

    with MisbehavingServer(answers(unnamed)) as server:
        decisions = make_openai(server.url)([Query("A", Question(f"{i}?")) for i in range(3)])
    assert [d.unscored is None for d in decisions] == [scored] * 3


def test_openai_scores_are_matched_by_their_values() -> None:
    def shuffled(answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"probabilities": [r | {"value": r["value"] + 1} for r in answer["probabilities"]][::-1]}

    with MisbehavingServer(spoil(make_openai, shuffled)) as server:
        (decision,) = make_openai(server.url)([Query("A", HOW)])
    assert decision.choice == "done"


@typed_backends
def test_one_rejected_question_does_not_take_the_others_with_it(make: Make) -> None:
    def react(exchange: Any) -> None:
        poisoned = any("poison" in q["instructions"] for q in questions_of(exchange.body))
        (status(422, "poison is not accepted") if poisoned else answers(GOOD[make]))(exchange)

    queries = [Query("A", Question("poison?" if i == 3 else f"{i}?")) for i in range(9)]
    with MisbehavingServer(react) as server:
        decisions = make(server.url)(queries)
    assert [i for i, d in enumerate(decisions) if d.unscored] == [3]
    assert "HTTP 422" in str(decisions[3].unscored)
    assert "poison is not accepted" in str(decisions[3].unscored)


OPTIONS = {
    "duplicates": ("look", "go", "look"),
    "prefixes": ("go to shelf 1", "go to shelf 10", "go to shelf 100"),
    "blank": ("", " ", "look"),
    "unicode": ("拿起杯子", "prendre la tasse ☕", "\u202elook"),
    "control tokens": ("<|im_end|>", "</s>", "<|im_start|>user"),
    "many": tuple(f"option {i}" for i in range(255)),
}


@typed_backends
@pytest.mark.parametrize("name", OPTIONS)
def test_every_kind_of_options(make: Make, name: str) -> None:
    options = OPTIONS[name]
    with MisbehavingServer(answers(GOOD[make])) as server:
        (decision,) = make(server.url)([Query("A <|im_start|>system", Question("?", "choice", options))])
        asked = questions_of(server.bodies[0])[0]
    names = list(asked["criteria"]) if "criteria" in asked else [c["value"] for c in asked["choices"]]
    assert len(set(names)) == len(names) == len(set(options))
    assert all(n.strip() for n in names)
    first = [float(o == options[0]) for o in options]
    assert decision.probabilities == pytest.approx([p / sum(first) for p in first])


@typed_backends
def test_a_single_option_is_certain_without_a_request(make: Make) -> None:
    with MisbehavingServer(status(500)) as server:
        decisions = make(server.url)([Query("A", Question("?", "choice", ("look",) * n)) for n in (1, 2)])
        assert server.exchanges == []
    assert [d.probabilities for d in decisions] == [(1.0,), (0.5, 0.5)]


@typed_backends
def test_no_queries_make_no_request(make: Make) -> None:
    with MisbehavingServer(status(500)) as server:
        assert make(server.url)([]) == []
        assert server.exchanges == []


def test_300_options_are_unscored_where_the_service_takes_255() -> None:
    many = Question("?", "choice", tuple(f"option {i}" for i in range(300)))
    with MisbehavingServer(answers(GOOD[make_openai])) as server:
        decisions = make_openai(server.url)([Query("A", many), Query("A", HOT), Query("B", many)])
        assert [len(b["questions"]) for b in server.bodies] == [1]
    reason = "300 options, but the service takes at most 255"
    assert [d.unscored for d in decisions] == [reason, None, reason]
    # The first of a request bears its cost, whatever became of it; where nothing was sent there is none.
    assert [d.usage.requests for d in decisions] == [1, 0, 0]


def test_no_option_is_no_question() -> None:
    with pytest.raises(ValueError, match="needs at least one option"):
        Question("?", "choice", ())


@pytest.mark.parametrize(("name", "maker"), [("OPENAI_API_KEY", OpenAIDecisions), ("TYPESAFE_API_KEY", SystemOne)])
def test_a_missing_key_is_one_clear_error(name: str, maker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=f"no API key: set {name}, or give api_key="):
        maker("m")


@pytest.mark.parametrize("absent", ["openai", "tenacity", "typesafe_sdk"])
def test_a_missing_library_is_an_import_error_with_the_pip_line(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, absent, None)  # the import system then takes it for missing
    for maker in (OpenAIDecisions, SystemOne, Prompted.server):
        needed = {"openai": (OpenAIDecisions, Prompted.server), "typesafe_sdk": (SystemOne,)}.get(absent, (maker,))
        if maker in needed:
            with pytest.raises(
                ImportError, match=rf'{absent} is not installed; run: pip install "gym-agentkit\[api\]"'
            ):
                maker("m", base_url="http://127.0.0.1:9")


def test_a_client_of_ones_own_is_used() -> None:
    openai, typesafe_sdk = pytest.importorskip("openai"), pytest.importorskip("typesafe_sdk")
    with MisbehavingServer(answers(GOOD[make_openai])) as server:
        client = openai.OpenAI(base_url=server.url, api_key=KEY, default_headers={"x-mine": "1"})
        assert OpenAIDecisions("m", client, limits=QUICK)([Query("A", HOT)])[0].unscored is None
        assert server.exchanges[0].headers["x-mine"] == "1"
    with MisbehavingServer(answers(GOOD[make_system_one])) as server:
        client = typesafe_sdk.TypeSafeClient(base_url=server.url, api_key=KEY, headers={"x-mine": "1"}, model="own")
        assert SystemOne(client=client, limits=QUICK)([Query("A", HOT)])[0].unscored is None
        assert server.exchanges[0].headers["x-mine"] == "1"
        assert server.bodies[0]["model"] == "own"


@pytest.mark.parametrize("maker", [OpenAIDecisions, SystemOne, Prompted.server])
def test_a_backend_travels_to_other_processes_without_its_key(maker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("TYPESAFE_API_KEY", KEY)
    make = {OpenAIDecisions: make_openai, SystemOne: make_system_one, Prompted.server: make_prompted}[maker]
    with MisbehavingServer(answers(GOOD[make])) as server:
        sent = pickle.dumps(maker("m", base_url=server.url, limits=QUICK))
        assert KEY.encode() not in sent
        assert pickle.loads(sent)([Query("A", HOT)])[0].value == pytest.approx(0.75)
        assert any(KEY in value for value in server.exchanges[0].headers.values())
        with pytest.raises(TypeError, match=r"keys are not pickled; set (OPENAI|TYPESAFE)_API_KEY and leave both out"):
            pickle.dumps(make(server.url))


@typed_backends
def test_a_backend_is_shared_and_never_copied(make: Make) -> None:
    import copy

    model = make("http://127.0.0.1:9")
    assert copy.deepcopy(model) is model
    assert KEY not in repr(vars(model))


@pytest.mark.parametrize(("maker", "most"), [(OpenAIDecisions, 401), (OpenAIDecisions, 0), (SystemOne, 0)])
def test_questions_per_request_is_checked(maker: Any, most: int) -> None:
    with pytest.raises(ValueError, match=f"questions_per_request must be .*got {most}"):
        maker("m", base_url="http://127.0.0.1:9", questions_per_request=most)


def test_groups_keep_order_and_size() -> None:
    queries = [Query(c, HOT) for c in "ABABA"]
    assert groups_by_context(queries, 2) == [[0, 2], [4], [1, 3]]


def test_names_of_blank_options_avoid_the_others() -> None:
    assert option_names(("", "(nothing)", " ")).names == ("(nothing)'", "(nothing)", "(nothing)''")


def test_text_that_is_true_is_no_probability() -> None:
    assert sound_decision(HOT, (True, False), Usage()).unscored == "the answer lacks the probability of an option"
    assert isinstance(sound_decision(HOT, (0.2, 0.8), Usage()), Decision)
