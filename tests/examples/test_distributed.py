"""examples/distributed: each script by itself; tests/launch runs scripts by several ranks."""

import re
from pathlib import Path

import pytest

from tests import scripts

FOLDER = Path(__file__).parent.parent.parent / "examples" / "distributed"


@pytest.mark.parametrize("name", ["train_module", "train_gluon"])
def test_trains(name):
    done = scripts.run(FOLDER / f"{name}.py", "--epochs", 4)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"1 ranks: validation accuracy ([\d.]+)", done.stdout)[1]) > 0.95


def test_readme_names_what_is_there():
    text = (FOLDER / "README.md").read_text()
    named = set(re.findall(r"examples/distributed/(\w+\.py)", text))
    assert named == {path.name for path in FOLDER.glob("train_*.py")}
