"""docs/operators.md and docs/api_status.md are what the script makes, and say enough is there."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import make_status_pages
    finally:
        sys.path.pop(0)
    return {name: make() for name, make in make_status_pages.PAGES.items()}


@pytest.mark.parametrize("name", ["operators.md", "api_status.md"])
def test_a_page_is_what_the_script_makes(pages, name):
    found = (ROOT / "docs" / name).read_text()
    assert found == pages[name], "run scripts/make_status_pages.py"


def test_enough_is_there(pages):
    counted, same = map(
        int, re.search(r"Of (\d+) names .*?, (\d+) the same", pages["operators.md"]).groups()
    )
    assert same >= 0.97 * counted
    counted, there = map(
        int, re.search(r"Of (\d+) names (\d+) are", pages["api_status.md"]).groups()
    )
    assert there >= 0.92 * counted
