"""examples/serving/page.py in a browser: an image is dropped, its classes are read."""

import base64
import http.client
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DROP = """({data, name, kind}) => {
  const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
  const moved = new DataTransfer();
  moved.items.add(new File([bytes], name, {type: kind}));
  for (const what of ["dragenter", "dragover", "drop"])
    document.getElementById("drop").dispatchEvent(
      new DragEvent(what, {dataTransfer: moved, bubbles: true, cancelable: true}));
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(the folder with images, the port) of the page of a network that it has trained."""
    pytest.importorskip("waitress")
    pytest.importorskip("cv2")
    folder = tmp_path_factory.mktemp("page")
    command = [sys.executable, str(ROOT / "examples" / "serving" / "page.py"), "--port", "0"]
    pipes = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--out", str(folder)], cwd=folder, **pipes) as process:
        try:
            lines = [process.stdout.readline(), process.stdout.readline()]
            found = re.search(r":(\d+)$", lines[1])
            assert found, (lines, process.stderr.read())
            yield folder, int(found[1])
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
            assert process.returncode == 0
        finally:
            process.kill()  # what is left of it is a warning in another file's tests


def drop(page, path, kind="image/png"):
    data = base64.b64encode(path.read_bytes()).decode()
    page.evaluate(DROP, {"data": data, "name": path.name, "kind": kind})


def test_the_page_is_served_beside_the_network(served):
    connection = http.client.HTTPConnection("127.0.0.1", served[1], timeout=30)
    for method, path, status, kind in (
        ("GET", "/", 200, "text/html; charset=utf-8"),
        ("POST", "/", 405, None),
        ("GET", "/health", 200, "application/json"),
        ("GET", "/nothing", 404, "application/json"),
    ):
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        assert (answer.status, answer.getheader("Content-Type")) == (status, kind)
        assert path != "/" or method != "GET" or b"Drop an image" in body
    connection.close()


def test_a_dropped_image_shows_its_classes(page, served):
    folder, port = served
    page.goto(f"http://127.0.0.1:{port}/")
    right = 0
    for digit in range(10):
        drop(page, folder / f"digit-{digit}.png")
        page.wait_for_selector(f"img[alt='digit-{digit}.png']")
        page.wait_for_selector("#classes tr")
        rows = page.locator("#classes tr").evaluate_all(
            "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        assert len(rows) == 3
        shares = [float(row[1].removesuffix(" %")) for row in rows]
        assert shares == sorted(shares, reverse=True) and 33 < shares[0] <= 100
        right += rows[0][0] == str(digit)
    assert right >= 9
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wider) <= 0


def test_an_image_may_be_chosen_instead(page, served):
    folder, port = served
    page.goto(f"http://127.0.0.1:{port}/")
    page.locator("#file").set_input_files(str(folder / "digit-7.png"))
    page.wait_for_selector("#classes tr")
    assert page.locator("#classes td").first.text_content() == "7"


def test_what_is_not_an_image_is_refused_with_a_sentence(page, served, tmp_path):
    _, port = served
    page.goto(f"http://127.0.0.1:{port}/")
    text = tmp_path / "notes.txt"
    text.write_text("no picture")
    drop(page, text, "text/plain")
    page.wait_for_function("document.getElementById('error').textContent")
    assert "text/plain" in page.locator("#error").text_content()
    drop(page, text, "image/png")
    page.wait_for_function("document.getElementById('error').textContent.includes('image')")
    assert page.locator("#classes tr").count() == 0
    drop(page, served[0] / "digit-3.png")  # and the next one is read as ever
    page.wait_for_selector("#classes tr")
    assert page.locator("#error").text_content() == ""
