"""Tokens and dollars by role, against sums by hand, and the price table as a file."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models import Cached, UsageMeter
from agentkit.models.chat_service import ChatReply, ChatRequest
from agentkit.models.failures import ServiceError
from agentkit.models.prices import DEFAULT_PRICES, Price, read_prices, write_prices
from tests.models.scripted_chat import ScriptedChat

HOT = Question("Is it hot?")


class Costly:
    """Scores all but queries about nothing; 2,000 tokens in and 100 out each."""

    identity = "costly"

    def __call__(self, queries: Sequence[Query]) -> list[Decision]:
        usage = Usage(2000, 100, 1)
        return [
            Decision(q.question, (1.0, 0.0), usage=usage)
            if q.context
            else Decision(q.question, usage=usage, unscored="nothing to see")
            for q in queries
        ]


def test_the_default_prices_are_table_9() -> None:
    assert {name: (p.input, p.output) for name, p in DEFAULT_PRICES.items()} == {
        "Qwen3-8B": (0.117, 0.455),
        "Qwen3.6-35B-A3B": (0.050, 0.700),
        "DeepSeek-V4-Flash": (0.068, 0.168),
        "Llama-3.1-8B-Instruct": (0.020, 0.040),
    }


def test_dollars_by_role_per_100_tasks_and_per_score() -> None:
    meter = UsageMeter({"actor-model": Price(1.0, 10.0), "judge-model": Price(0.5, 0.0)})
    actor = meter.metered(Costly(), role="actor", model="actor-model")
    judge = meter.metered(Costly(), role="judge", model="judge-model")
    actor([Query("a", HOT)] * 4)
    decisions = judge([Query("a", HOT), Query("", HOT), Query("b", HOT)])
    assert [d.unscored is None for d in decisions] == [True, False, True]
    assert meter.usage("actor") == Usage(8000, 400, 4)
    assert meter.usage() == Usage(14000, 700, 7)
    assert meter.dollars("actor") == pytest.approx(4 * (2000 * 1.0 + 100 * 10.0) / 1e6)
    assert meter.dollars("judge") == pytest.approx(3 * 2000 * 0.5 / 1e6)
    assert meter.dollars() == pytest.approx(0.012 + 0.003)
    assert meter.dollars_per_100_tasks(2) == pytest.approx(0.75)
    assert meter.dollars_per_100_tasks(2, "judge") == pytest.approx(0.15)
    assert meter.dollars_per_score() == pytest.approx(0.0015)  # two scores pay for three questions
    assert [(a.role, a.model, a.scored, a.unscored) for a in meter.accounts()] == [
        ("actor", "actor-model", 4, 0),
        ("judge", "judge-model", 2, 1),
    ]


def test_a_model_in_two_roles_has_two_accounts() -> None:
    meter = UsageMeter()
    for role in ("actor", "comparator"):
        meter.metered(Costly(), role=role, model="Qwen3-8B")([Query("a", HOT)])
    assert meter.dollars("comparator") == meter.dollars("actor") == pytest.approx((2000 * 0.117 + 100 * 0.455) / 1e6)


def test_chats_are_metered_too() -> None:
    meter = UsageMeter()
    chat = ScriptedChat([ChatReply("yes", usage=Usage(7, 1, 1)), ServiceError("no")])
    replies = meter.metered_chat(chat, role="actor", model="Qwen3-8B")([ChatRequest(())] * 2)
    assert isinstance(replies[1], ServiceError)
    assert [(a.usage, a.scored, a.unscored) for a in meter.accounts("actor")] == [(Usage(7, 1, 1), 1, 1)]


def test_what_comes_from_the_cache_costs_nothing(tmp_path: Path) -> None:
    meter = UsageMeter()
    model = meter.metered(Cached(Costly(), tmp_path), role="judge", model="Qwen3-8B")
    model([Query("a", HOT)])
    model([Query("a", HOT)])
    assert meter.usage("judge").requests == 1
    assert meter.accounts("judge")[0].scored == 2
    assert Cached(meter.metered(Costly(), role="judge", model="Qwen3-8B"), tmp_path).identity == "costly"


def test_a_model_without_a_price_is_one_clear_error() -> None:
    meter = UsageMeter()
    meter.metered(Costly(), role="judge", model="mine")([Query("a", HOT)])
    assert meter.usage().requests == 1
    with pytest.raises(ValueError, match=r"no price for 'mine'; known: Qwen3-8B, .* 'mine': Price\(input, output\)"):
        meter.dollars()


def test_questions_without_an_answer_are_clear_errors() -> None:
    meter = UsageMeter()
    assert meter.dollars() == 0.0
    with pytest.raises(ValueError, match="tasks must be at least 1, got 0"):
        meter.dollars_per_100_tasks(0)
    with pytest.raises(ValueError, match="the role 'judge' has given no score"):
        meter.dollars_per_score()


def test_counting_is_safe_for_threads() -> None:
    meter = UsageMeter()
    model = meter.metered(Costly(), role="judge", model="Qwen3-8B")
    threads = [threading.Thread(target=lambda: [model([Query("a", HOT)]) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.usage() == Usage(1_600_000, 80_000, 800)


def test_the_price_table_can_be_written_edited_and_read(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    write_prices(path)
    assert read_prices(path) == dict(DEFAULT_PRICES)
    path.write_text(path.read_text() + '"mine, own",0.1,0.2\n')
    assert read_prices(path)["mine, own"] == Price(0.1, 0.2)
    assert [p.name for p in tmp_path.iterdir()] == ["prices.csv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,input\nm,1\n", "the first line must name the columns model,input,output"),
        ("", "the first line must name the columns"),
        ("model,input,output\nm,1,2\nn,1,dear\n", "line 3: prices must be numbers of at least 0"),
        ("model,input,output\nm,-1,2\n", "line 2: prices must be numbers of at least 0"),
        ("model,input,output\nm,1\n", "line 2: prices must be numbers of at least 0"),
        ("model,input,output\nm,nan,1\n", "line 2: prices must be numbers of at least 0"),
    ],
)
def test_a_bad_price_table_names_the_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "prices.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_prices(tmp_path / "prices.csv")
