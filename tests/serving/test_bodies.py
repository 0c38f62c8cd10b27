"""Bodies that are damaged, huge or strange: one sentence each, and no cost beyond their limit."""

import gzip
import io
import json
import re
import struct
import time
import tracemalloc
import zlib

import numpy as np
import pytest

import cynet as mx
from cynet.serving import Application
from cynet.serving.bodies import Images, read_json, read_npy, write_npy
from cynet.serving.image_size import read_image_size
from cynet.serving.requests import estimate_value_count, max_value_count
from tests.serving.asking import ask, npy

LIMIT = 1 << 20


@pytest.fixture(scope="module")
def app():
    net = mx.gluon.nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.Constant(2))
    return Application(mx.Predictor(net, shapes=(3,), max_batch=4), max_body=LIMIT)


@pytest.fixture(scope="module")
def image_app():
    pytest.importorskip("cv2")
    predictor = mx.Predictor(mx.gluon.nn.Flatten(), shapes=(3, 4, 6), max_batch=2)
    return Application(predictor, images=Images.for_rows((3, 4, 6), maximum=10_000), max_body=LIMIT)


def with_header(text, data=b"", version=1):
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def header(shape, descr="'<f4'", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()


ROW = np.float32([1, 2, 3]).tobytes()
NPY_TYPES = {
    "a huge length": (header(f"({2**62}, 3)"), ROW, "bytes for shape"),
    "a huge length of nothing": (header(f"({2**62}, 0)"), b"", "bytes for shape"),
    "lengths that overflow to the right size": (header(f"({2**62 + 1}, 4, 3)"), ROW, "bytes for"),
    "a length beyond int64": (header(f"({2**64 + 1}, 3)"), ROW, "bytes for shape"),
    "a length of 900 digits": (header(f"({'9' * 900},)"), ROW, "bytes for shape"),
    "66 axes": (header((1,) * 65 + (3,)), ROW, "66 axes"),
    "33 axes": (header((1,) * 32 + (3,)), ROW, "33 axes"),
    "a negative length": (header("(-1, 3)"), ROW, "header"),
    "a length that is a word": (header("(1, 'x')"), ROW, "header"),
    "a length with a point": (header("(1.0, 3)"), ROW, "header"),
    "a list as shape": (header("[1, 3]"), ROW, "header"),
    "nested brackets": (b"(" * 900, ROW, "header"),
    "nested lists": (header("(" + "[" * 400 + "]" * 400 + ")"), ROW, "header"),
    "an expression": (header("(1, 1+2)"), ROW, "header"),
    "a call": (header("(__import__('os').getpid(),)"), ROW, "header"),
    "no dict": (b"'descr'", ROW, "header"),
    "nothing": (b"", ROW, "header"),
    "an empty dict": (b"{}", ROW, "header"),
    "one that lacks its shape": (b"{'descr': '<f4', 'fortran_order': False, }", ROW, "header"),
    "one with two shapes": (header((1, 3))[:-3] + b"'shape': (3, 1)}", ROW, "header"),
    "one with more": (header((1, 3))[:-3] + b"'more': (3, 1)}", ROW, "header"),
    "exchanged values": (b"{'descr': (1, 3), 'fortran_order': '<f4', 'shape': False}", ROW, "head"),
    "a dtype that is none": (header((1, 3), "'<q9'"), ROW, "header"),
    "a dtype of words": (header((1, 3), "'float32'"), ROW, "header"),
    "text": (header((1, 3), "'<U1'"), ROW, "elements of <U1"),
    "huge text": (header((1, 3), "'<U99999999'"), ROW, "header|elements"),
    "objects": (header((1, 3), "'|O'"), ROW, "elements of object"),
    "records": (header((1, 3), "[('a', '<f4')]"), ROW, "header"),
    "dates": (header((1, 3), "'<M8'"), ROW, "elements of datetime64"),
    "complex numbers": (header((1, 3), "'<c8'"), 2 * ROW, "elements of complex64"),
    "a byte less": (header((1, 3)), ROW[:-1], "11 bytes for shape"),
    "a byte more": (header((1, 3)), ROW + b"0", "13 bytes for shape"),
    "no rows": (header((0, 3)), b"", "no rows"),
    "no axes": (header("()"), ROW[:4], r"shape \(\)"),
}


@pytest.mark.parametrize("what", NPY_TYPES)
def test_damaged_npy(app, what):
    text, data, message = NPY_TYPES[what]
    for version in (1, 2):
        body = with_header(text, data, version)
        status, _, answer = ask(app, "POST", "/predict", body, "application/x-npy")
        assert status == 400
        assert re.search(message, json.loads(answer)["error"]), answer


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "expected a .npy file"),
        (b"\x93NUMP", "expected a .npy file"),
        (b"PK\x03\x04 an archive", "expected a .npy file"),
        (b"\x93NUMPY\x03\x00" + bytes(100), "version 1.0 or 2.0"),
        (b"\x93NUMPY\x01\x00\xff\xff", "header of 65535 bytes"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header of 4294967295 bytes"),
        (b"\x93NUMPY\x01\x00", "header"),
        (with_header(b" " * 1025, ROW), "header of 1025 bytes"),
        (gzip.compress(npy(np.ones((1, 3))), mtime=0), "compressed by gzip"),
    ],
)
def test_what_is_no_npy(app, body, message):
    status, _, answer = ask(app, "POST", "/predict", body, "application/x-npy")
    assert status == 400 and message in json.loads(answer)["error"]


def test_npy_in_every_form_that_numpy_writes(rng):
    for dtype in ("?", "i1", "u2", "<i4", ">u8", "<f2", ">f4", "f8"):
        for shape in ((), (3,), (2, 3), (0, 4), (1,) * 32):
            for order in "CF":
                array = np.asarray(rng.integers(0, 2, shape)).astype(dtype, order=order)
                found = read_npy(npy(array))
                assert found.dtype == array.dtype and found.shape == array.shape
                assert (found == array).all()
                if array.dtype.byteorder != ">":
                    np.testing.assert_array_equal(np.load(io.BytesIO(write_npy(array))), array)
    largest = with_header(header((1, 3))[:-1].ljust(1024), ROW)
    assert read_npy(largest).tolist() == [[1, 2, 3]]  # a header of the longest that is taken


def test_bytes_that_are_no_truth_values():
    body = npy(np.zeros((1, 3), bool))[:-3] + b"\x00\x02\xff"
    assert read_npy(body).tolist() == [[False, True, True]]


JSON = {
    "NaN": (b"[[NaN, 0, 0]]", "NaN is no number of JSON"),
    "infinity": (b"[[0, -Infinity, 0]]", "-Infinity is no number of JSON"),
    "1e999": (b"[[1e999, 0, 0]]", "'data'.*1e999"),
    "-1e999": (b'{"inputs": {"data": [[0, 0, -1e999]]}}', "'data'.*1e999"),
    "beyond float32": (b"[[1e300, 0, 0]]", "'data' takes float32, got 1e[+]?300"),
    "an int beyond float64": (b"[[1" + b"0" * 400 + b", 0, 0]]", "'data' .* no float64 holds"),
    "an int beyond float32": (
        b"[[1" + b"0" * 40 + b", 0, 0]]",
        "'data' takes float32, got 1e[+]?40",
    ),
    "an int of 5,000 digits": (b"[[" + b"1" * 5000 + b", 0, 0]]", "an integer of more than 4300"),
    "deep": (b"[" * 50_000 + b"]" * 50_000, "nested too deep"),
    "deep objects": (b'{"a":' * 10_000, "nested too deep"),
    "deep inputs": (b'{"inputs": ' + b"[" * 60 + b"1" + b"]" * 60 + b"}", "'data'"),
    "a name twice": (b'{"data": [[1, 2, 3]], "data": [[1, 2, 3]]}', "'data' is given twice"),
    "inputs twice": (b'{"inputs": [[1, 2, 3]], "inputs": [[1, 2, 3]]}', "given twice"),
    "text among numbers": (b'[["1", 2, 3]]', "'data' has the text '1'"),
    "text as rows": (b'{"data": "abc"}', "'data'"),
    "an object among numbers": (b'[[{"a": 1}, 2, 3]]', "'data'"),
    "null": (b"[[null, 2, 3]]", "'data'"),
    "nothing but null": (b"null", "must be"),
    "an empty list": (b"[]", r"'data' has shape \(0,\)"),
    "empty rows": (b"[[], []]", r"'data' has shape \(2, 0\)"),
    "a number": (b'{"inputs": 1}', "must be"),
    "two texts": (b"[[1, 2, 3]] [[1, 2, 3]]", "not JSON"),
    "a lone surrogate": (rb'{"\ud800": [[1, 2, 3]]}', "no input is called"),
    "half a character": (b'{"\xe2\x82": 1}', "not JSON"),
    "gzip": (gzip.compress(b"[[1, 2, 3]]", mtime=0), "compressed by gzip, send it as it is"),
    "zeros": (bytes(1000), "not JSON"),
}


@pytest.mark.parametrize("what", JSON)
def test_strange_json(app, what):
    body, message = JSON[what]
    status, _, answer = ask(app, "POST", "/predict", body)
    assert status == 400, answer
    assert re.search(message, json.loads(answer)["error"]), answer


def test_encodings(app):
    body = gzip.compress(b"[[1, 2, 3]]", mtime=0)
    for coding in ("gzip", "GZIP", "deflate", "br", "identity, gzip"):
        status, _, answer = ask(app, "POST", "/predict", body, HTTP_CONTENT_ENCODING=coding)
        assert status == 415
        assert f"encoding '{coding.lower()}'; send it as it is" in json.loads(answer)["error"]
    assert ask(app, "POST", "/predict", b"[[1, 2, 3]]", HTTP_CONTENT_ENCODING="identity")[0] == 200


def test_an_answer_that_json_has_not(app):
    """The product overflows: no 500, and the client learns how to get it."""
    status, _, answer = ask(app, "POST", "/predict", b"[[3e38, 3e38, 3e38]]")
    assert status == 400 and "Accept: application/x-npy" in json.loads(answer)["error"]
    status, _, answer = ask(
        app, "POST", "/predict", b"[[3e38, 3e38, 3e38]]", HTTP_ACCEPT="application/x-npy"
    )
    assert status == 200 and np.isinf(np.load(io.BytesIO(answer))).all()
    status, _, answer = ask(
        app, "POST", "/predict", npy(np.full((1, 3), np.nan)), "application/x-npy"
    )
    assert status == 200 and np.isnan(np.load(io.BytesIO(answer))).all()
    status, _, answer = ask(
        app, "POST", "/predict", npy(np.full((1, 3), 1e300)), "application/x-npy"
    )
    assert status == 400 and "takes float32" in json.loads(answer)["error"]


# --- the largest that is taken, and one more ------------------------------------------------------
def test_the_longest_body(app):
    body = b"[[1, 2, 3]]".ljust(LIMIT)
    assert ask(app, "POST", "/predict", body)[0] == 200
    status, _, answer = ask(app, "POST", "/predict", body + b" ")
    assert status == 413 and f"{LIMIT + 1} bytes, at most {LIMIT}" in json.loads(answer)["error"]
    for length in ("9" * 19, "9" * 21, "9" * 5000):
        assert ask(app, "POST", "/predict", b"", CONTENT_LENGTH=length)[0] == 413
    assert ask(app, "POST", "/predict", b"", CONTENT_LENGTH="١")[0] == 411


def test_the_most_values(app):
    most = max_value_count(LIMIT)
    assert most == max_value_count(0) == 1 << 17 and max_value_count(16 << 20) == 2 << 20
    body = b"[[1,2,3]" + b",[1,2,3]" * (most // 5 - 1) + b"]"
    assert most - 5 <= estimate_value_count(body) <= most and len(body) < LIMIT
    assert ask(app, "POST", "/predict", body)[0] == 200
    status, _, answer = ask(app, "POST", "/predict", body[:-1] + b",[1,2,3]]")
    assert status == 413 and f"at most {most} are taken" in json.loads(answer)["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 40_000 + b"[]]",
        b"[" + b"{}," * 40_000 + b"{}]",
        b"[" + b'"a",' * 40_000 + b'"' + b"b" * 500_000 + b'"]',
        b"[" + b"1.5," * 120_000 + b"1]",
        b'{"data": ["' + b"a" * 500_000 + b'"' + b", 1" * 100_000 + b"]}",
        b"{" + b",".join(b'"%d":1' % i for i in range(40_000)) + b"}",
        b"[" * 65_000,
        b"[1" + b"0" * 1_000_000 + b"]",
        b"[0." + b"1" * 1_000_000 + b"]",
        b'["' + rb"\u0100" * 170_000 + b'"]',
        with_header(header((1 << 20,), "'|b1'"), bytes((1 << 20) - 200)),
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_a_body_costs(app, body):
    """Memory of some multiple of the limit, and no time: texts would make an array of 80 GB."""
    assert len(body) <= LIMIT
    kind = "application/x-npy" if body[:1] == b"\x93" else "application/json"
    ask(app, "POST", "/predict", b"[[1, 2, 3]]")
    tracemalloc.start()
    begin = time.process_time()
    status = ask(app, "POST", "/predict", body, kind)[0]
    spent, (_, peak) = time.process_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert status in (400, 413)
    assert peak < 16 * LIMIT and spent < 5  # tracing is slow


def test_many_names_are_refused_quickly():
    body = b"{" + b",".join(b'"a%d":1' % i for i in range(100_000)) + b',"a99999":1}'
    begin = time.process_time()
    with pytest.raises(mx.errors.FormatError, match="'a99999' is given twice"):
        read_json(body, ["data"])
    assert time.process_time() - begin < 5


def test_a_request_of_many_batches_ends_in_time():
    class Slow(mx.gluon.Block):
        def forward(self, x):
            time.sleep(0.02)
            return x

    predictor = mx.Predictor(Slow(), shapes=(1,), max_batch=1, timeout=0.2, warm_up=False)
    with pytest.raises(mx.serving.errors.WaitedError, match="of 1000 rows within 0.2 s"):
        predictor(np.zeros((1000, 1)))
    assert predictor(np.zeros((3, 1))).shape == (3, 1)


# --- images ---------------------------------------------------------------------------------------
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height):
    """A PNG that says it has this size, and has nothing."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(100))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def resized_jpeg(width, height):
    """A JPEG whose frame says it has this size."""
    cv2 = pytest.importorskip("cv2")
    body = bytearray(cv2.imencode(".jpg", np.zeros((8, 8, 3), "uint8"))[1].tobytes())
    at = body.index(b"\xff\xc0")
    body[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(body)


@pytest.mark.parametrize("kind", [".jpg", ".png", ".webp", ".bmp"])
@pytest.mark.parametrize("settings", [(), "progressive", "gray"])
def test_sizes_are_those_that_opencv_reads(kind, settings, rng):
    cv2 = pytest.importorskip("cv2")
    more = []
    if settings == "progressive":
        more = {".jpg": [cv2.IMWRITE_JPEG_PROGRESSIVE, 1], ".webp": [cv2.IMWRITE_WEBP_QUALITY, 101]}
        more = more.get(kind, [])
    for height, width in ((1, 1), (3, 500), (300, 7), (64, 64)):
        shape = (height, width) if settings == "gray" else (height, width, 3)
        pixels = rng.integers(0, 256, shape).astype("uint8")
        body = cv2.imencode(kind, pixels, more)[1].tobytes()
        assert (
            read_image_size(body) == (height, width) == cv2.imdecode(read_body(body), 1).shape[:2]
        )
        for end in range(0, min(len(body), 40), 3):
            with pytest.raises(mx.errors.FormatError, match="JPEG|WebP|ends|first bytes"):
                read_image_size(body[:end] if end < 18 else body[:16])


def read_body(data):
    return np.frombuffer(data, "uint8")


def test_sizes_of_other_forms():
    whole = b"RIFF" + bytes(4) + b"WEBPVP8X" + bytes(8)
    assert read_image_size(whole + (999).to_bytes(3, "little") + (1999).to_bytes(3, "little")) == (
        2000,
        1000,
    )
    down = b"BM" + bytes(12) + struct.pack("<Iii", 40, 7, -5)
    assert read_image_size(down) == (5, 7)
    for other in (b"GIF89a" + bytes(40), b"II*\x00" + bytes(40), b"<svg>", b""):
        with pytest.raises(mx.errors.FormatError, match="first bytes"):
            read_image_size(other)


@pytest.mark.parametrize(
    "make", [png, resized_jpeg, lambda w, h: b"BM" + bytes(12) + struct.pack("<Iii", 40, w, h)]
)
def test_huge_images_are_refused_before_they_are_decoded(image_app, make, monkeypatch):
    def decoded(*args, **settings):
        raise AssertionError("it was decoded")

    monkeypatch.setattr(mx.image, "imdecode", decoded)
    for width, height in ((30_000, 30_000), (65_535, 65_535), (101, 100), (65_000, 1)):
        status, _, answer = ask(image_app, "POST", "/predict", make(width, height), "image/png")
        message = json.loads(answer)["error"]
        assert status == 400 and f"{width} x {height} pixels, expected 1 to 10000" in message
    assert ask(image_app, "POST", "/predict", make(100, 100), "image/png")[0] == 500  # not refused


def test_images_that_are_damaged(image_app):
    scans = resized_jpeg(8, 8).replace(b"\xff\xd9", b"\xff\xda\x00\x02" * 100 + b"\xff\xd9")
    bodies = {
        "101 scans, at most 100": scans,
        "0 x 5 pixels": png(0, 5),
        "expected an image": png(50, 50)[:60],
        "does not say how large": b"\xff\xd8" + b"\xff" * 1000,
        "JPEG that does": b"\xff\xd8\xff\xe0\x00\x00" * 100,
    }
    for message, body in bodies.items():
        status, _, answer = ask(image_app, "POST", "/predict", body, "image/jpeg")
        assert status == 400 and message in json.loads(answer)["error"], answer


def test_images_without_opencv(image_app, monkeypatch):
    def missing():
        raise mx.errors.CynetError("reading images needs the package cv2: pip install it")

    monkeypatch.setattr("cynet.serving.web.cv", missing)
    status, _, answer = ask(image_app, "POST", "/predict", png(4, 4), "image/png")
    assert status == 415 and "pip install" in json.loads(answer)["error"]


# --- what the network does ------------------------------------------------------------------------
def test_an_error_of_the_network_is_told_and_logged(caplog):
    class Broken(mx.gluon.Block):
        def forward(self, x):
            raise KeyError("a table")

    app = Application(mx.Predictor(Broken(), shapes=(1,), warm_up=False))
    status, _, answer = ask(app, "POST", "/predict", b"[[1]]")
    assert status == 500 and "a table" in json.loads(answer)["error"]
    assert "POST /predict" in caplog.text and "Traceback" in caplog.text
