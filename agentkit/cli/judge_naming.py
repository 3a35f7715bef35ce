"""Judges and local models by the names that the command line takes."""

import difflib
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from agentkit.verdicts import Judge

FORMS = "smollm2, a checkpoint folder, oracle, noisy-oracle:0.3, or module:attribute"


def make_judge(name: str, *, device: str = "cpu", dtype: str = "float32", seed: int = 0) -> Judge:
    """The judge of that name; a local model becomes a `StepJudge` on a `ConstrainedReadout`.

    Args:
        name: one of `FORMS`; ``module:attribute`` is looked for in the current folder, too.
        device: of a local model.
        dtype: of its weights.
        seed: of the noisy oracle.

    Raises:
        ValueError: there is no judge of that name.
        ImportError: it needs an extra, or a module, that is missing.
    """
    kind, _, rest = name.partition(":")
    if kind == "oracle" and not rest:
        from agentkit.judges import OracleJudge

        return OracleJudge()
    if kind == "noisy-oracle":
        from agentkit.judges.oracle import NoisyOracle

        return NoisyOracle(noise=_share(rest or "0.3", name), seed=seed)
    if name == "smollm2" or Path(name).is_dir():
        from agentkit.judges import StepJudge

        return StepJudge(make_readout(name, device=device, dtype=dtype))
    if rest:
        return import_judge(kind, rest)
    close = difflib.get_close_matches(name, ("smollm2", "oracle", "noisy-oracle"), n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"no judge {name!r}{hint}; give {FORMS}")


def make_readout(name: str, *, device: str = "cpu", dtype: str = "float32", **settings: Any) -> Any:
    """The `ConstrainedReadout` of SmolLM2 ("smollm2") or of a checkpoint folder, on a device, with its settings."""
    from agentkit.models import ConstrainedReadout, smollm2

    if name != "smollm2":
        return ConstrainedReadout.from_pretrained(name, dtype=dtype, device=device, **settings)
    model, tokenizer = smollm2(dtype=dtype)
    return ConstrainedReadout(model.to(device), tokenizer, **settings)


def import_judge(module: str, attribute: str) -> Judge:
    """``attribute`` of ``module``, a callable.

    Raises:
        ImportError: there is no such module.
        ValueError: it has no such attribute, or that is not callable.
    """
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found: Any = getattr(importlib.import_module(module), attribute, None)
    if not callable(found):
        raise ValueError(f"no judge {module}:{attribute}: {module} has no callable {attribute!r}")
    judge: Any = found() if isinstance(found, type) else found
    return judge


def _share(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"no judge {name!r}: what follows noisy-oracle: is a number, such as 0.3") from error
