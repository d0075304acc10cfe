"""What do the tests of day one share?"""

import shutil
from pathlib import Path

import pytest

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the seed's node files."""
    made = tmp_path / "nodes"
    made.mkdir()
    for path in SEED.glob("*.yml"):
        shutil.copy(path, made)
    return made
