"""How a saved model is to be read out: a small file beside its weights."""

import json
import os
from pathlib import Path
from typing import Any

from agentkit.trajectory import write_atomically

SETTINGS_FILE = "agentkit_readout.json"
KEYS = ("scoring", "temperature", "labels")


def write_settings(folder: str | os.PathLike[str], *, scoring: str, temperature: float, labels: str) -> Path:
    """Write the arguments of `ConstrainedReadout` that a model was trained with beside its weights."""
    settings = {"scoring": scoring, "temperature": temperature, "labels": labels}
    return write_atomically(Path(folder) / SETTINGS_FILE, json.dumps(settings, indent=2) + "\n")


def read_settings(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments that `write_settings` wrote; none for other checkpoints and for names of a model hub.

    Raises:
        ValueError: the file is damaged.
    """
    path = Path(folder) / SETTINGS_FILE
    if not path.is_file():
        return {}
    try:
        settings = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON ({error}); delete it to read the model out with the defaults") from error
    if not isinstance(settings, dict) or set(settings) - set(KEYS):
        raise ValueError(f"{path} must hold an object with the keys {', '.join(KEYS)}, got {settings!r}")
    return settings
