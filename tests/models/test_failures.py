"""Every backend behind a service, against a server that misbehaves on purpose."""

import logging
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from agentkit.decisions import Decision, DecisionModel, Query, Question
from agentkit.models import Limits, OpenAIDecisions, Prompted, SystemOne
from agentkit.models.failures import redact, retry_after
from tests.models.misbehaving_server import (
    MisbehavingServer,
    Reaction,
    answers,
    breaks_off,
    hangs,
    resets,
    status,
    text,
    trickles,
)

pytest.importorskip("openai")
pytest.importorskip("typesafe_sdk")

KEY = "sk-very-secret-0123456789"
QUICK = Limits(attempts=2, timeout=0.4, first_wait=0.01, longest_wait=1.5, deadline=10)
QUERIES = [Query("The mug is hot.", Question("Is it hot?")), Query("The mug is cold.", Question("Is it hot?"))]


def openai_answer(body: dict[str, Any]) -> dict[str, Any]:
    """0.75 to every predicate, the first option of every choice, the last level of every score."""
    found = []
    for question in body["questions"]:
        answer: dict[str, Any] = {"name": question["name"], "type": question["type"]}
        if question["type"] == "predicate":
            answer["probability"] = 0.75
        elif question["type"] == "choice":
            rows = [{"value": c["value"], "probability": 0.0} for c in question["choices"]]
            answer |= {
                "choice": rows[0]["value"],
                "confidence": 1.0,
                "probabilities": [rows[0] | {"probability": 1.0}, *rows[1:]],
            }
        else:
            rows = [{"label": c["label"], "value": i, "probability": 0.0} for i, c in enumerate(question["levels"])]
            answer |= {"score": 1.0, "confidence": 1.0, "probabilities": [*rows[:-1], rows[-1] | {"probability": 1.0}]}
        found.append(answer)
    return {"answers": found, "model": body["model"], "usage": {"input_tokens": 100, "output_tokens": 7}}


def system_one_answer(body: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, question in body["questions"].items():
        if question["type"] == "noul":
            found[name] = {"type": "noul", "noul": 0.75}
        else:
            options = list(question["criteria"]) if question["type"] == "choice" else range(len(question["criteria"]))
            chosen = 0 if question["type"] == "choice" else len(options) - 1
            probabilities = {str(option): float(i == chosen) for i, option in enumerate(options)}
            found[name] = {"type": question["type"], "confidence": 1.0, "probabilities": probabilities}
    return {"model": "m", "answers": found, "usage": {"input_tokens": 100, "output_tokens": 7}}


def chat_answer(body: dict[str, Any]) -> dict[str, Any]:
    top = [{"token": "yes", "logprob": -0.2876820724517809}, {"token": "no", "logprob": -1.3862943611198906}]
    return {
        "choices": [
            {
                "message": {"role": "assistant", "content": "yes"},
                "finish_reason": "stop",
                "logprobs": {"content": [{"token": "yes", "logprob": -0.29, "top_logprobs": top}]},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7},
    }


def make_openai(url: str, limits: Limits = QUICK) -> DecisionModel:
    return OpenAIDecisions("m", base_url=url, api_key=KEY, limits=limits)


def make_system_one(url: str, limits: Limits = QUICK) -> DecisionModel:
    return SystemOne("m", base_url=url, api_key=KEY, limits=limits)


def make_prompted(url: str, limits: Limits = QUICK) -> DecisionModel:
    return Prompted.server("m", base_url=url, api_key=KEY, limits=limits)


Make = Callable[..., DecisionModel]
GOOD = {make_openai: openai_answer, make_system_one: system_one_answer, make_prompted: chat_answer}
every_backend = pytest.mark.parametrize("make", list(GOOD), ids=["openai", "system-one", "prompted"])


def ask(make: Make, *reactions: Reaction, queries: list[Query] = QUERIES, limits: Limits = QUICK) -> list[Decision]:
    with MisbehavingServer(*reactions) as server:
        return list(make(server.url, limits)(queries))


@every_backend
def test_a_server_that_behaves_is_understood(make: Make) -> None:
    decisions = ask(make, answers(GOOD[make]))
    assert [d.value for d in decisions] == pytest.approx([0.75, 0.75])
    assert [(d.usage.input_tokens, d.usage.output_tokens, d.usage.requests) for d in decisions] == [(100, 7, 1)] * 2


PASSING: dict[str, Reaction] = {
    "500": status(500),
    "503": status(503),
    "429": status(429, retry_after="0"),
    "reset": resets,
    "broken off": breaks_off,
    "not JSON": text("{answers: oops"),
    "HTML": text("<html>502 upstream</html>", "text/html"),
    "JSON of another form": text('{"something": "else"}'),
    "null": text("null"),
    "a list": text("[]"),
    "time-out": hangs,
}


@every_backend
@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_retried(make: Make, fault: str) -> None:
    decisions = ask(make, PASSING[fault], answers(GOOD[make]), queries=QUERIES[:1])
    assert (decisions[0].unscored, decisions[0].probabilities[:1]) == (None, pytest.approx((0.75,)))


REASONS = {
    "500": "HTTP 500 Internal Server Error",
    "503": "HTTP 503 Service Unavailable",
    "429": "HTTP 429 Too Many Requests",
    "reset": "the connection failed",
    "broken off": "the connection failed",
    "time-out": "no complete answer within|timed out",
}


@every_backend
@pytest.mark.parametrize("fault", [*PASSING, "trickle"])
def test_a_fault_that_stays_leaves_everything_unscored_with_the_reason(make: Make, fault: str) -> None:
    begun = time.monotonic()
    decisions = ask(make, {**PASSING, "trickle": trickles}[fault])
    assert time.monotonic() - begun < 8  # attempts of 0.4 s each; without a limit the server would hang for 20 s
    for decision in decisions:
        assert decision.unscored is not None
        with pytest.raises(AssertionError, match=REASONS.get(fault, "the answer|no complete answer")):
            raise AssertionError(decision.unscored)


@every_backend
def test_credentials_that_are_refused_are_not_retried_and_not_shown(make: Make, caplog: Any) -> None:
    with MisbehavingServer(status(401, f"Incorrect API key provided: {KEY}")) as server:
        decisions = make(server.url)(QUERIES[:1])
        assert decisions[0].unscored == "the service refused the credentials (HTTP 401 Unauthorized)"
        assert len(server.exchanges) == 1


@every_backend
@pytest.mark.parametrize("fault", [status(400, f"bad key {KEY} in Bearer {KEY}"), status(500, KEY), resets, hangs])
def test_a_key_reaches_no_log_and_no_reason(make: Make, fault: Reaction, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx2", "httpcore2", "typesafe_sdk"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    try:
        with MisbehavingServer(fault) as server:
            decisions = make(server.url)(QUERIES[:1])
            assert any(KEY in value for value in server.exchanges[0].headers.values())  # it did reach the server
    finally:
        for name in ("openai", "httpx2", "httpcore2", "typesafe_sdk"):
            logging.getLogger(name).setLevel(logging.NOTSET)
    assert decisions[0].unscored
    assert KEY not in decisions[0].unscored
    assert caplog.records
    assert KEY not in caplog.text


def test_reasons_of_one_batch_are_counted_in_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    ask(make_openai, status(500))
    assert "2 of 2 decisions are unscored: 2 x the service answered HTTP 500 Internal Server Error" in caplog.text


@every_backend
def test_retry_after_is_honoured(make: Make) -> None:
    begun = time.monotonic()
    decisions = ask(make, status(429, retry_after="1"), answers(GOOD[make]), queries=QUERIES[:1])
    assert decisions[0].unscored is None
    assert time.monotonic() - begun >= 1.0


@every_backend
def test_a_server_that_asks_for_too_long_a_wait_is_not_waited_for(make: Make) -> None:
    begun = time.monotonic()
    with MisbehavingServer(status(429, retry_after="3600")) as server:
        decisions = make(server.url)(QUERIES)
        assert len(server.exchanges) == 2  # each of the two requests was sent once
    assert time.monotonic() - begun < 5
    assert all("HTTP 429" in str(d.unscored) for d in decisions)


@every_backend
def test_a_server_that_dies_half_way_keeps_the_answers_that_exist(make: Make) -> None:
    queries = [Query(f"State {i}.", Question("Is it hot?")) for i in range(6)]
    server = MisbehavingServer(answers(GOOD[make]))
    good = server.reactions[0]

    def react(exchange: Any) -> None:
        resets(exchange) if len(server.exchanges) > 3 else good(exchange)

    server.reactions = [react]
    one_at_a_time = Limits(concurrency=1, attempts=2, timeout=1, first_wait=0.01, deadline=10)
    with server:
        decisions = make(server.url, one_at_a_time)(queries)
    assert [d.unscored is None for d in decisions] == [True] * 3 + [False] * 3
    assert {d.unscored for d in decisions[3:]} == {"the connection failed"}


@every_backend
def test_nobody_listens(make: Make) -> None:
    with MisbehavingServer(resets) as server:
        url = server.url
    decisions = make(url)(QUERIES)
    assert [d.unscored for d in decisions] == ["the connection failed"] * 2


@every_backend
def test_the_deadline_of_a_batch_holds(make: Make) -> None:
    limits = Limits(concurrency=1, attempts=9, timeout=0.3, first_wait=0.01, deadline=0.8)
    begun = time.monotonic()
    decisions = ask(make, hangs, queries=[Query(str(i), Question("?")) for i in range(30)], limits=limits)
    assert time.monotonic() - begun < 4
    assert all(d.unscored for d in decisions)
    assert decisions[-1].unscored == "the batch was not finished within 0.8 s"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)}) == pytest.approx(30, abs=2)


def test_redaction_removes_given_secrets_and_what_looks_like_a_key() -> None:
    assert redact("my pass phrase; Bearer abc.def; sk-proj-abcdefgh", ("pass phrase",)) == (
        "my [redacted]; [redacted] [redacted]"
    )
    assert len(redact("x" * 1000)) == 201
