"""Shops for the tests: the made-up one, and the real one with its recordings where they are."""

import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkit.envs.webshop import WebShopEnv


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Built shops go to a folder of the test run, so that no test depends on an earlier run."""
    patch = pytest.MonkeyPatch()
    patch.setenv("AGENTKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def recorded(webshop_data: Path) -> Callable[[str], Any]:
    """Reads a recording of the original by its file name, or skips with the reason."""

    def read(name: str) -> Any:
        path = webshop_data / "reference" / name
        if not path.exists():
            pytest.skip(f"no recordings of the original WebShop: {path} is missing")
        with lzma.open(path) if path.suffix == ".xz" else open(path, "rb") as file:
            return json.load(file)

    return read


@pytest.fixture
def shop() -> WebShopEnv:
    """An environment of the made-up shop."""
    return WebShopEnv("generated", nouns="rules")
