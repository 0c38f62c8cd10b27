"""Downloads: all of it or an error in one line, tried again, from the first URL that fits."""

import pytest

from cynet.base.errors import FileError
from cynet.io.fetch import fetch_bytes, fetch_first_valid
from tests.web import serving


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_all_of_it():
    content = bytes(range(256)) * 9000  # of more than one piece
    with serving({"/a": [content]}) as (url, _):
        assert fetch_bytes(f"{url}/a") == content


@pytest.mark.parametrize("sent", [b"", b"abc"])
def test_cut_off(sent):
    with (
        serving({"/a": [(200, sent, 10)]}) as (url, _),
        pytest.raises(FileError, match=rf"/a: cut off after {len(sent)} of 10 bytes"),
    ):
        fetch_bytes(f"{url}/a")


def test_one_line():
    with serving({"/a": [(500, b"", 0)]}) as (url, _):
        for path, says in (("/a", "Internal Server Error"), ("/b", "Not Found")):
            with pytest.raises(OSError, match=rf"{path}: {says}"):
                fetch_bytes(url + path)
    for name in (
        f"{url}/a",
        "nowhere",
        "http://",
        "ftp:",
        "http://[",
        "http://127.0.0.1:99999999/",
    ):
        with pytest.raises(
            FileError,
            match="Connection refused|Invalid IPv6 URL|no host given|unknown url type: 'nowhere'",
        ) as caught:
            fetch_bytes(name)
        assert "\n" not in str(caught.value) and str(caught.value).startswith(name)


def test_the_first_that_fits():
    answers = {
        "/a": [(500, b"", 0), b"wrong"],
        "/b": [(200, b"rig", 5), b"right"],
        "/c": [b"right"],
    }
    with serving(answers) as (url, asked):
        urls = [url + path for path in ("/a", "/b", "/c")]
        assert fetch_first_valid(urls, lambda content: content == b"right") == b"right"
        assert asked == ["/a", "/a", "/b", "/b"]
        with pytest.raises(FileError, match="/c: wrong checksum"):
            fetch_first_valid(urls[2:], lambda content: False)
