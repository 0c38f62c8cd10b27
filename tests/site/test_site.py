"""The site in a browser: widths, pictures, the search; its notebooks run."""

import os
from pathlib import Path

import pytest

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BROKEN = """() => [...document.images].filter(
    (each) => !each.complete || each.naturalWidth === 0).map((each) => each.src)"""


def pages(folder):
    return sorted(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.html"))


@pytest.mark.timeout(1200)
def test_no_page_scrolls_sideways_and_pictures_load(page, site):
    folder, address = site
    names = pages(folder)
    assert len(names) > 100 and "tutorials/module.html" in names
    wide, broken, errors, pictures = {}, {}, [], 0
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in names:
        page.goto(f"{address}/{name}", wait_until="load")
        if (more := page.evaluate(WIDER)) > 0:
            wide[name] = more
        pictures += page.locator("img").count()
        if missing := page.evaluate(BROKEN):
            broken[name] = missing
    assert not (wide or broken or errors), (wide, broken, errors)
    assert pictures >= 10


@pytest.mark.parametrize(
    ("words", "target"),
    [("Convolution", "operators/"), ("deploy", "deployment.html"), ("Trainer", "gluon")],
)
def test_the_search_finds(page, site, words, target):
    _, address = site
    page.goto(f"{address}/search.html?q={words}")
    page.wait_for_selector("#search-results li a")
    links = page.locator("#search-results li a").evaluate_all("all => all.map((a) => a.href)")
    assert any(target in link for link in links), links[:20]


def test_a_result_of_the_search_leads_to_its_page(page, site):
    _, address = site
    page.goto(f"{address}/index.html")
    if not page.locator(".sidebar-search").is_visible():  # a phone has it behind a button
        page.locator("label[for=__navigation]").first.click()
    page.locator(".sidebar-search").fill("deployment")
    page.locator(".sidebar-search").press("Enter")
    page.locator("#search-results li a", has_text="Deployment").first.click()
    page.wait_for_selector("h1:has-text('Deployment')")


@pytest.mark.timeout(900)
def test_the_notebooks_run(site, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    folder, _ = site
    books = sorted(Path(folder).rglob("tutorials/*.ipynb"))
    assert len(books) == 7
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    for book in books:
        made = nbformat.read(book, as_version=4)
        nbformat.validate(made)
        home = tmp_path / book.stem
        home.mkdir()
        where = {"metadata": {"path": str(home)}}
        nbclient.NotebookClient(made, timeout=200, kernel_name="python3", resources=where).execute()
        ran = [cell for cell in made.cells if cell.cell_type == "code"]
        assert len(ran) > 3 and all(cell.execution_count for cell in ran), book
