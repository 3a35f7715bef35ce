"""One question, four backends: a local readout, a chat model, System One's protocol, and a cache with a meter.

Starts ``transformers serve`` with SmolLM2 on loopback, so it needs no key, no network and no GPU; point `SystemOne`,
`Prompted.server` or `OpenAIDecisions` at another ``base_url`` to ask a real service.
It needs ``pip install "gym-agentkit[models,api]" "transformers[serving]"``.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from agentkit import Question
from agentkit.decisions import Query
from agentkit.models import Cached, ConstrainedReadout, Limits, Prompted, SystemOne, UsageMeter, smollm2
from agentkit.models.packaged import cache_folder
from agentkit.models.prices import DEFAULT_PRICES, Price

STATE = "Goal: cool the mug and put it in the cabinet.\nYou are at the fridge. You hold a hot mug."
QUERIES = [
    Query(STATE, Question("Is the mug hot?")),
    Query(
        STATE, Question("What is the next action?", "choice", ("cool mug 1 with fridge 1", "go to cabinet 1", "look"))
    ),
    Query(STATE, Question("How much of the goal is done?", "score", ("nothing", "half", "all"))),
]


@contextlib.contextmanager
def serve(checkpoint: Path, seconds: float = 120) -> Iterator[str]:
    """``transformers serve`` on a free port of loopback; gives its address and stops it afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("transformers")
    command = [str(program), "serve", str(checkpoint), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive"}
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_until_up(server, f"{address}/health", time.monotonic() + seconds)
            yield address
        except RuntimeError as error:
            log.seek(0)
            raise RuntimeError(f"{error}\n{log.read().decode(errors='replace')[-2000:]}") from error
        finally:
            server.terminate()
            server.wait(20)


def _wait_until_up(server: subprocess.Popen[bytes], url: str, ends: float) -> None:
    while time.monotonic() < ends:
        if server.poll() is not None:
            raise RuntimeError(f"transformers serve ended with {server.returncode}")
        with contextlib.suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    raise RuntimeError("transformers serve did not start in time")


def show(name: str, model) -> None:
    """Ask a backend and print its answers."""
    begun = time.perf_counter()
    decisions = model(QUERIES)
    print(f"{name} ({time.perf_counter() - begun:.2f} s)")
    for query, decision in zip(QUERIES, decisions, strict=True):
        if decision.unscored is not None:
            answer = f"unscored: {decision.unscored}"
        else:
            shares = zip(query.question.options, decision.probabilities, strict=True)
            answer = ", ".join(f"{option} {probability:.2f}" for option, probability in shares)
        print(f"  {query.question.text:32} {answer}")


def main() -> None:
    """Ask each backend the same three questions."""
    model, tokenizer = smollm2()
    checkpoint = cache_folder() / "smollm2-135m-instruct"
    show("ConstrainedReadout", ConstrainedReadout(model, tokenizer))

    limits = Limits(concurrency=2, timeout=60)
    meter = UsageMeter({**DEFAULT_PRICES, "SmolLM2": Price(0.01, 0.02)})
    with serve(checkpoint) as address, tempfile.TemporaryDirectory() as folder:
        system_one = SystemOne(str(checkpoint), base_url=address, limits=limits)
        show("SystemOne", meter.metered(system_one, role="judge", model="SmolLM2"))

        chat = Prompted.server(str(checkpoint), base_url=f"{address}/v1", limits=limits, samples=4)
        show("Prompted, shares of 4 samples", meter.metered(chat, role="actor", model="SmolLM2"))

        cached = meter.metered(Cached(system_one, folder), role="cached judge", model="SmolLM2")
        show("SystemOne, cached: first time", cached)
        show("SystemOne, cached: again", cached)

    for account in meter.accounts():
        scores = account.scored or float("nan")
        print(
            f"{account.role:12} {account.usage.requests:3} requests, {account.usage.input_tokens:5} tokens in, "
            f"{account.usage.output_tokens:4} out, ${1e6 * meter.dollars(account.role) / scores:.2f} per million scores"
        )


if __name__ == "__main__":
    main()
