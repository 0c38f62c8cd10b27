"""The first pages of the documents are programs that run with the installed package alone.

run.sh puts them, and the program that runs pages, beside this file. Without the packages of extras
(serve, viz) the page, or the block, that says it needs them is left out.
"""

import importlib.util
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pages = pytest.importorskip("pages", reason="run.sh puts pages.py here")
NEEDS = {"first_network.md": "matplotlib", "serve.md": "waitress"}


def test_they_are_three():
    assert {page.name for page in (HERE / "start").glob("*.md")} == {"install.md", *NEEDS}


@pytest.mark.parametrize("page", ["install.md", "first_network.md", "serve.md"])
def test_a_page_runs_in_a_fresh_folder(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy = tmp_path / page
    text = (HERE / "start" / page).read_text()
    needs = NEEDS.get(page)
    if needs and importlib.util.find_spec(needs) is None:
        if needs == "waitress":
            pytest.skip("waitress is not installed")
        text = re.sub(r"^```python\nimport matplotlib.*?^```\n", "", text, flags=re.M | re.S)
        text = re.sub(r"^!\[.*\n", "", text, flags=re.M)
    copy.write_text(text)
    pages.run(copy)
