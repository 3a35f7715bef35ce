"""Where agentkit keeps what it made once and reads again: converted checkpoints, built shops."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$AGENTKIT_CACHE``, else ``agentkit`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if os.environ.get("AGENTKIT_CACHE"):
        return Path(os.environ["AGENTKIT_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentkit"
