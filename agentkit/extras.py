"""Import a module of an optional extra, or say which pip line brings it."""

import importlib
from types import ModuleType


def require(module: str, extra: str) -> ModuleType:
    """Import and return ``module``, which the extra ``gym-agentkit[extra]`` installs.

    Raises:
        ImportError: the module is not installed; the message holds the pip line that mends it.

    >>> require("json", "models").dumps([1])
    '[1]'
    >>> require("no_such_module", "models")
    Traceback (most recent call last):
    ...
    ImportError: no_such_module is not installed; run: pip install "gym-agentkit[models]"
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Only the asked-for package being absent is ours to explain; a broken package keeps its own error.
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        line = f'{module} is not installed; run: pip install "gym-agentkit[{extra}]"'
        raise ImportError(line) from error
