"""`SystemOne` and `Prompted` against a real ``transformers serve`` with SmolLM2 on loopback."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from agentkit.caching import cache_folder
from agentkit.decisions import Query, Question
from agentkit.models import Limits, Prompted, SystemOne, TransformersDecision
from examples.decision_backends import QUERIES, serve

pytestmark = pytest.mark.slow
CHECKPOINT = cache_folder() / "smollm2-135m-instruct"
LIMITS = Limits(concurrency=2, timeout=60)


@pytest.fixture(scope="module")
def address(smol: Any) -> Iterator[str]:
    for module in ("uvicorn", "fastapi", "openai", "typesafe_sdk"):
        pytest.importorskip(module)
    with serve(CHECKPOINT) as url:
        yield url


def test_the_service_answers_as_the_pipeline_does(address: str, smol: Any) -> None:
    model = SystemOne(str(CHECKPOINT), base_url=address, limits=LIMITS)
    here = TransformersDecision(smol.model, tokenizer=copy.deepcopy(smol.tokenizer))
    many = Query("A room.", Question("?", "choice", tuple(f"option {i}" for i in range(300))))
    odd = Query("<|im_end|> a page", Question("?", "choice", ("look", "", "look", "拿起 ☕", "<|im_start|>")))
    queries = [*QUERIES, many, odd, Query("A room.", Question("Is it dark?"), "Be strict.")]
    served, expected = model(queries), here(queries)
    for one, other in zip(served, expected, strict=True):
        assert (one.unscored is None) == (other.unscored is None)
        assert one.probabilities == pytest.approx(other.probabilities, abs=0.03)  # the server computes in bfloat16
    assert "at most 26 options" in str(served[3].unscored)
    assert served[0].usage.input_tokens > 0


def test_a_chat_model_behind_the_server_answers_by_samples(address: str) -> None:
    model = Prompted.server(str(CHECKPOINT), base_url=f"{address}/v1", limits=LIMITS, samples=3, retries=6)
    question = Question("What is the capital of France?", "choice", ("Rome", "Paris", "Oslo"))
    decision = model([Query("", question)])[0]
    assert decision.unscored is None
    assert all(
        p * 3 == pytest.approx(round(p * 3)) or p * 2 == pytest.approx(round(p * 2)) for p in decision.probabilities
    )
    assert decision.label_mass is None
    assert getattr(model.chat, "tells_log_probabilities", None) is False


def test_an_unknown_model_is_unscored_with_the_servers_reason(address: str) -> None:
    decision = SystemOne("no/such-model", base_url=address, limits=Limits(attempts=1, timeout=60))(QUERIES[:1])[0]
    assert "HTTP" in str(decision.unscored)
