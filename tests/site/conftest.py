"""Headless Chromium for the tests of pages. ``make site`` runs them on the built documents.

CYNET_SITE is the folder of the site; without it, or without playwright and Chromium, the tests that
need them are skipped. Nothing is fetched from other hosts.
"""

import functools
import http.server
import os
import shutil
import threading

import pytest

SIZES = {"desktop": (1400, 900), "phone": (390, 844)}
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=SIZES)
def page(request, chromium):
    """A page of a desktop's width, and of a phone's; it loads from this machine alone."""
    width, height = SIZES[request.param]
    phone = request.param == "phone"
    context = chromium.new_context(
        viewport={"width": width, "height": height}, is_mobile=phone, has_touch=phone
    )

    def here(route):
        known = ("http://127.0.0.1:", "blob:", "data:")
        route.continue_() if route.request.url.startswith(known) else route.abort()

    context.route("**/*", here)
    found = context.new_page()
    found.set_default_timeout(20000)
    yield found
    context.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def site():
    """(its folder, its address) of the documents that ``make docs`` has built."""
    folder = os.environ.get("CYNET_SITE")
    if not folder:
        pytest.skip("CYNET_SITE is not set")
    assert os.path.isfile(os.path.join(folder, "index.html")), folder
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
