"""Fixtures that find real benchmark data, or skip with the reason."""

import os
import subprocess
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"


@pytest.fixture(scope="session")
def alfworld_data() -> Path:
    """A folder laid out as ALFWORLD_DATA with the real games."""
    if os.environ.get("ALFWORLD_DATA"):
        return Path(os.environ["ALFWORLD_DATA"])
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
