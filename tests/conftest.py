"""Fixtures that find real benchmark data, or skip with the reason."""

import os
import subprocess
from pathlib import Path

import hypothesis
import pytest

# A busy machine is no failure: how long an example takes is measured by the benchmarks, not judged by the tests.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

# Read before any test runs: importing alfworld sets ALFWORLD_DATA to a folder of its own.
ALFWORLD_DATA = os.environ.get("ALFWORLD_DATA")
SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def _keep_alfworld_data():
    """Undo what importing alfworld in a test does to ALFWORLD_DATA, which later tests and commands would read."""
    yield
    if ALFWORLD_DATA is None:
        os.environ.pop("ALFWORLD_DATA", None)
    else:
        os.environ["ALFWORLD_DATA"] = ALFWORLD_DATA


@pytest.fixture(scope="session")
def alfworld_data() -> Path:
    """A folder laid out as ALFWORLD_DATA with the real games."""
    if ALFWORLD_DATA:
        return Path(ALFWORLD_DATA)
    script = SHARED / "unpack_alfworld"
    if not script.exists():
        pytest.skip("no real ALFWorld games: set ALFWORLD_DATA")
    return Path(subprocess.run([script], check=True, capture_output=True, text=True).stdout.strip())


@pytest.fixture(scope="session")
def webshop_data() -> Path:
    """A folder with the real WebShop files."""
    folder = Path(os.environ.get("WEBSHOP_DATA", SHARED / "webshop"))
    if not (folder / "items_shuffle_1000.json").exists():
        pytest.skip("no real WebShop data: set WEBSHOP_DATA")
    return folder


@pytest.fixture(scope="session")
def smol():
    """SmolLM2-135M-Instruct and its tokenizer; skips, with the reason, when its package is missing."""
    pytest.importorskip("torch")
    from agentkit.models import smollm2

    try:
        return smollm2()
    except ImportError as error:
        pytest.skip(str(error))


@pytest.fixture
def tiny(smol):
    """A new random two-layer model with SmolLM2's tokenizer: fast, and the same on every call."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=smol.model.config.vocab_size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
        eos_token_id=smol.tokenizer.eos_token_id,
        bos_token_id=smol.tokenizer.bos_token_id,
        pad_token_id=smol.tokenizer.pad_token_id,
    )
    return type(smol)(LlamaForCausalLM(config).eval(), smol.tokenizer)
