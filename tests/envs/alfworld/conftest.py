"""Games made on the spot, for tests that need no download."""

from pathlib import Path

import pytest

from agentkit.envs.alfworld.generate import make_games


@pytest.fixture(scope="session")
def made_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with 12 training games, two of each task type, and 6 unseen ones."""
    folder = tmp_path_factory.mktemp("alfworld")
    make_games(folder, 12, seed=0, split="train")
    make_games(folder, 6, seed=1, split="valid_unseen")
    return folder
