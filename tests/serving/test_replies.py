"""Whole replies: status, headers and body of every kind of request, and of everything that is
refused before the network sees it."""

import io
import json

import numpy as np
import pytest

import cynet as mx
from cynet.serving import Application
from cynet.serving.bodies import (
    Images,
    read_json,
    read_npy,
    rows_to_array,
    single_input_name,
    write_json,
    write_npy,
)
from cynet.serving.requests import estimate_value_count, max_value_count
from tests.serving.asking import ask, npy

ROW = b"[[1, 2, 3]]"
JSON, NPY_TYPES = "application/json", "application/x-npy"


class Two(mx.gluon.Block):
    """Two outputs, the second one of integers; NaN in the one that the first number says."""

    def forward(self, x):
        rows = x.asnumpy()
        outs = [rows + 1, (rows[:, :2] * 2)]
        which = int(rows[0, 0])
        if which in (7, 8):
            outs[which - 7][0, 0] = np.nan if rows[0, 1] else np.inf
        second = outs[1] if which in (7, 8) else outs[1].astype("int32")
        return mx.nd.array(outs[0]), mx.nd.array(second, dtype=second.dtype)


@pytest.fixture(scope="module")
def app():
    return Application(mx.Predictor(mx.gluon.nn.Flatten(), shapes=(3,), warm_up=False), 1000)


@pytest.fixture(scope="module")
def two():
    predictor = mx.Predictor(Two(), shapes=(3,), warm_up=False)
    return Application(predictor, classes=["a", "b", "c"], top=2)


@pytest.fixture(scope="module")
def named():
    """An application of two inputs."""
    net = mx.sym.broadcast_add(mx.sym.var("x"), mx.sym.var("y"))
    return Application(mx.Predictor(net, {}, shapes={"x": (2,), "y": (1,)}, warm_up=False))


def reply(app, method="POST", path="/predict", body=ROW, kind=JSON, **more):
    status, headers, body = ask(app, method, path, body, kind, **more)
    headers.pop("Content-Length")
    text = headers.get("Content-Type") == JSON and body
    return status, headers, json.loads(body) if text else body


def refused(status, text, **headers):
    return status, {"Content-Type": JSON, **headers}, {"error": text}


def found(*outputs, **more):
    return 200, {"Content-Type": JSON}, {"outputs": list(outputs), **more}


def test_answers(app, two, named):
    assert reply(app) == found([[1.0, 2.0, 3.0]])
    for kind in (JSON, "", "Application/JSON", f" {JSON} ; charset=utf-8", f"{JSON};x"):
        assert reply(app, kind=kind) == found([[1.0, 2.0, 3.0]])
    assert reply(two)[2] == {
        "outputs": [[[2.0, 3.0, 4.0]], [[2, 4]]],
        "classes": [[{"class": "c", "value": 4.0}, {"class": "b", "value": 3.0}]],
    }
    body = b'{"y": [[1], [2]], "x": [[1, 2], [3, 4]]}'
    for text in (body, b'{"inputs": ' + body + b"}"):
        assert reply(named, body=text) == found([[2.0, 3.0], [5.0, 6.0]])
    for kind in (NPY_TYPES, "application/octet-stream", "Application/X-Npy; x"):
        status, headers, answer = reply(two, body=npy(np.float32([[1, 2, 3]])), kind=kind)
        assert (status, headers) == (200, {"Content-Type": NPY_TYPES})
        assert np.load(io.BytesIO(answer)).tolist() == [[2, 3, 4]]  # the first output
    for accept in (NPY_TYPES, f"text/html, {NPY_TYPES};q=0.5"):
        status, headers, answer = reply(two, HTTP_ACCEPT=accept)
        assert headers == {"Content-Type": NPY_TYPES} and answer[:6] == b"\x93NUMPY"
    assert reply(two, HTTP_ACCEPT="application/json")[1] == {"Content-Type": JSON}
    for coding in ("", "identity", " Identity "):
        assert reply(app, HTTP_CONTENT_ENCODING=coding)[0] == 200


def test_an_answer_that_is_not_finite(two):
    for output in (0, 1):
        for second in (0, 1):
            body = json.dumps([[7 + output, second, 0]]).encode()
            error = f"output {output} has NaN or infinity for this input, which JSON has not; with"
            assert reply(two, body=body) == refused(400, f"{error} Accept: {NPY_TYPES} it is sent")
            assert reply(two, body=body, HTTP_ACCEPT=NPY_TYPES)[0] == 200


def test_bodies_that_are_refused(app, named):
    rows = [
        (
            {"kind": "text/csv"},
            415,
            "a body of type 'text/csv'; send application/json, application/x-npy",
        ),
        (
            {"kind": "image/png"},
            415,
            "a body of type 'image/png'; send application/json, application/x-npy",
        ),
        ({"HTTP_CONTENT_ENCODING": "GZip"}, 415, "a body in the encoding 'gzip'; send it as it is"),
        ({"body": bytes(1001)}, 413, "a body of 1001 bytes, at most 1000 are taken"),
        ({"CONTENT_LENGTH": ""}, 411, "say Content-Length"),
        ({"CONTENT_LENGTH": "-1"}, 411, "say Content-Length"),
        ({"CONTENT_LENGTH": "+5"}, 411, "say Content-Length"),
        ({"CONTENT_LENGTH": "12"}, 400, "the body has 11 bytes, Content-Length said 12"),
        ({"CONTENT_LENGTH": "9" * 30}, 413, f"a body of {'9' * 20} bytes, at most 1000 are taken"),
        ({"body": b"[[1, 2]]"}, 400, "input 'data' has shape (1, 2), expected (rows, 3)"),
        ({"body": b'{"x": [[1]]}'}, 400, "no input is called 'x'; there are ['data']"),
        (
            {"body": b"3"},
            400,
            'the body must be {"inputs": {NAME: ROWS, ...}} or {"inputs": ROWS}, got 3',
        ),
    ]
    for more, status, text in rows:
        assert reply(app, **more) == refused(status, text)
    assert reply(app, CONTENT_LENGTH="10") == refused(
        400, "the body is not JSON: Expecting ',' delimiter: line 1 column 11 (char 10)"
    )
    assert reply(named) == refused(400, "the network has the inputs ['x', 'y']: name each")
    both = reply(named, body=npy(np.ones((1, 2))), kind=NPY_TYPES)
    assert both == refused(400, "the network has the inputs ['x', 'y']: name each")
    assert reply(named, body=b'{"x": [[1, 2]]}') == refused(400, "input 'y' is missing")


def test_pages(app):
    assert reply(app, "GET", "/health") == (200, {"Content-Type": JSON}, {"status": "ok"})
    for method in ("GET", "HEAD"):
        status, headers, body = reply(app, method, "/metrics")
        assert (status, headers) == (200, {"Content-Type": "text/plain; version=0.0.4"})
        assert bool(body) == (method == "GET")
    text = "there is no '/x', only /predict, /health, /metrics, /, /v2"
    assert reply(app, "GET", "/x") == refused(404, text)
    assert reply(app, "PUT", "/predict") == refused(
        405, "/predict takes POST, got 'PUT'", Allow="POST"
    )
    assert reply(app, "HEAD", "/predict")[:2] == (405, {"Content-Type": JSON, "Allow": "POST"})
    assert reply(app, "POST", "/health") == refused(
        405, "/health takes GET, got 'POST'", Allow="GET"
    )
    environ = {"REQUEST_METHOD": "GET"}  # WSGI may leave the path out
    said = []
    app(environ, lambda status, headers: said.append(status))
    assert said == ["200 OK"]  # it is "/", which says what the models are
    app.closing = True
    try:
        assert reply(app, "GET", "/health") == refused(503, "shutting down")
        assert reply(app)[0] == 200
    finally:
        app.closing = False


def test_the_length_that_is_said(app):
    """Of the body that is sent; of a HEAD what a GET would have."""
    for method in ("GET", "HEAD"):
        _, headers, body = ask(app, method, "/health")
        assert headers["Content-Length"] == "16" and len(body) == (16 if method == "GET" else 0)


# --- JSON -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"", 0),
        (b"1,2,3", 2),
        (b"[1]", 2),
        (b"[[1],[2]]", 7),
        (b'{"a":1}', 4),
        (b"{}[]", 4),
        (b'["a","b"]', 7),
    ],
)
def test_values_that_a_body_has(body, count):
    assert estimate_value_count(body) == count


def test_the_most_values_of_a_body():
    for size in (0, 1, 1 << 20, (1 << 20) + 7):
        assert max_value_count(size) == 1 << 17
    assert max_value_count((1 << 20) + 8) == (1 << 17) + 1
    app = Application(mx.Predictor(mx.gluon.nn.Flatten(), shapes=(-1,), warm_up=False), 1 << 20)
    most = b"[[" + b"1," * ((1 << 17) - 4) + b"1]]"
    assert estimate_value_count(most) == 1 << 17 and reply(app, body=most)[0] == 200
    text = f"a JSON body of some {(1 << 17) + 1} values, at most {1 << 17} are taken; an .npy file"
    assert reply(app, body=b"[[1," + most[2:]) == refused(413, f"{text} may have more")


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"inputs": [1]}', {"inputs": [1]}),  # of an input that is called so
        (b"[1]", {"inputs": [1]}),
        (b'{"inputs": {"inputs": [1]}}', {"inputs": [1]}),
        (b'{"data": [1], "inputs": [2]}', {"data": [1], "inputs": [2]}),
    ],
)
def test_names_that_mean_something(body, wanted):
    assert {k: v.tolist() for k, v in read_json(body, list(wanted)).items()} == wanted


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": ["x"], "b": [1]}',
        b'{"a": [1], "b": [[["x"]]]}',
        b'{"inputs": {"a": "x"}}',
        b'{"a": [1, [2, "x"]], "b": "y"}',
    ],
)
def test_text_wherever_it_is(body):
    with pytest.raises(mx.errors.ArgumentTypeError, match=r"input '[ab]' has the text '[xy]', not"):
        read_json(body, ["a", "b"])


def test_which_names_there_are():
    assert single_input_name(["a"]) == "a"
    with pytest.raises(mx.errors.ArgumentError, match=r"has the inputs \['a', 'b'\]: name each"):
        single_input_name(["a", "b"])


@pytest.mark.parametrize("rows", [True, 1, 2.5, [1, 2], np.float16(2), np.uint8([1]), [[True]]])
def test_rows_of_numbers(rows):
    np.testing.assert_array_equal(rows_to_array("a", rows), np.asarray(rows))


@pytest.mark.parametrize("rows", ["x", None, [None], 1j, np.datetime64("2020"), [b"x"], [{}]])
def test_rows_of_no_numbers(rows):
    with pytest.raises(mx.errors.ArgumentTypeError, match="input 'a' has elements of .*, not numb"):
        rows_to_array("a", rows)


def test_rows_that_are_no_array():
    with pytest.raises(mx.errors.ArgumentError, match="input 'a' is not an array of numbers: "):
        rows_to_array("a", [[1], [1, 2]])


def test_json_texts():
    assert write_json({"a": [1, 2.5, "ü", None, True]}) == (
        b'{"a": [1, 2.5, "\\u00fc", null, true]}'
    )
    for bad in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="JSON compliant"):
            write_json([bad])


# --- .npy -----------------------------------------------------------------------------------------
def of_header(text, data=b"", version=1):
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def header(shape, dtype="<f4", order="False"):
    return f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()


def test_lengths_of_no_elements():
    """Beyond 2^31 none is taken, since results would be too large."""
    assert read_npy(of_header(header((0, 1 << 31)))).shape == (0, 1 << 31)
    for shape in ((0, (1 << 31) + 1), ((1 << 31) + 1, 0)):
        with pytest.raises(mx.errors.FormatError, match="has 0 bytes for shape"):
            read_npy(of_header(header(shape)))


def test_headers_are_read_as_they_are_written():
    data = np.float32([[1, 2, 3], [4, 5, 6]])
    rows = [
        header((2, 3)),
        header((2, 3)).replace(b" ", b""),
        header("(2,3,)"),
        b"{'shape':(2, 3),'descr':'<f4','fortran_order':False}",
        b" " * 5 + header((2, 3)) + b" " * 9,
    ]
    for text in rows:
        for version in (1, 2):
            assert (read_npy(of_header(text, data.tobytes(), version)) == data).all()
    for dtype, want in ((">i2", np.int16), ("|u1", np.uint8), ("=f8", float), ("i4", np.int32)):
        array = data.astype(want).astype(np.dtype(dtype))
        found_ = read_npy(of_header(header((2, 3), dtype), array.tobytes()))
        assert (found_ == data).all() and found_.dtype == np.dtype(dtype)
    columns = of_header(header((2, 3), order="True"), np.asfortranarray(data).tobytes("F"))
    assert (read_npy(columns) == data).all() and read_npy(columns).shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (header((2, 3))[1:], "has the header"),
        (header((2, 3)).strip()[:-1], "has the header"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'descr': '<f4'}", "the head"),
        (b"{'descr': False, 'fortran_order': '<f4', 'shape': (2, 3)}", "has the header"),
        (b"{'descr': '<f4', 'fortran_order': (2, 3), 'shape': (2, 3)}", "has the header"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3,)}", "has the header"),
        (header((2, 3), "<x9"), "has the header"),
        (header((2, 3), "|O"), "elements of object"),
        (header((2, 3), "|S4"), "has elements of"),
        (header((2, 3), "<m8"), "has elements of"),
        (header((2, 3)).replace(b"}", b"x}"), "which no array of numbers has"),
    ],
)
def test_headers_of_no_array(text, says):
    with pytest.raises(mx.errors.FormatError, match=f"the .npy file .*{says}"):
        read_npy(of_header(text, bytes(24)))


@pytest.mark.parametrize("dtype", ["float32", ">f4", "int64", "bool", "float16"])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 1, 3)])
def test_written_files(dtype, shape):
    array = np.asarray(np.arange(int(np.prod(shape))).reshape(shape)).astype(dtype)
    for each in (array, array.T, np.asfortranarray(array)):
        back = np.load(io.BytesIO(write_npy(each)))
        assert back.dtype == each.dtype and back.shape == each.shape and (back == each).all()


# --- images ---------------------------------------------------------------------------------------
def pixels_of(rng, height, width, channels):
    shape = (height, width) if channels == 1 else (height, width, channels)
    return rng.integers(0, 256, shape).astype("uint8")


@pytest.mark.parametrize(
    ("shape", "size", "first", "color"),
    [
        ((3, 4, 6), (4, 6), True, True),
        ((1, 4, 6), (4, 6), True, False),
        ((4, 6, 3), (4, 6), False, True),
        ((4, 6, 1), (4, 6), False, False),
        ((3, 5, 1), (5, 1), True, True),
        ((1, 5, 3), (5, 3), True, False),
    ],
)
def test_rows_that_are_images(shape, size, first, color):
    made = Images.for_rows(shape, scale=2.0, mean=1, std=3, maximum=7)
    assert made == Images(size, first, color, 2.0, 1, 3, 7)
    assert Images.for_rows(shape) == Images(size, first, color, 1 / 255, 0.0, 1.0, 1 << 25)


@pytest.mark.parametrize(
    "shape",
    [(), (3,), (3, 4), (3, 4, 6, 1), (2, 4, 6), (4, 6, 4), (3, -1, 4), (-1, 4, 3), (4, 3, 4)],
)
def test_rows_that_are_no_images(shape):
    with pytest.raises(mx.errors.ArgumentError, match=r"rows of shape \(.*\) are not images"):
        Images.for_rows(shape)


@pytest.mark.parametrize("shape", [(3, 4, 6), (1, 4, 6), (4, 6, 3), (4, 6, 1), (3, 6, 4)])
@pytest.mark.parametrize("given", [1, 3])
def test_images_as_rows(shape, given, rng):
    """Scaled so that the shorter side is as long as the longer one of the input, then cut."""
    cv2 = pytest.importorskip("cv2")
    pixels = pixels_of(rng, 6, 6, given)
    body = cv2.imencode(".png", pixels)[1].tobytes()
    images = Images.for_rows(shape, scale=0.5, mean=3.0, std=2.0)
    flag = cv2.IMREAD_COLOR if images.color else cv2.IMREAD_GRAYSCALE
    wanted = cv2.imdecode(np.frombuffer(body, "uint8"), flag)
    wanted = wanted[:, :, ::-1] if images.color else wanted[:, :, None]
    height, width = images.size
    wanted = wanted[(6 - height) // 2 :][:height, (6 - width) // 2 :][:, :width]
    wanted = (wanted * 0.5 - 3.0) / 2.0
    wanted = (wanted.transpose(2, 0, 1) if images.first else wanted)[None]
    row = images.read(body)
    assert row.dtype == np.float32 and row.shape == (1, *shape)
    np.testing.assert_allclose(row, wanted, atol=1e-5)


def test_images_of_another_size_are_scaled(rng):
    cv2 = pytest.importorskip("cv2")
    body = cv2.imencode(".png", np.full((12, 20, 3), 90, "uint8"))[1].tobytes()
    row = Images.for_rows((3, 4, 6), scale=1.0).read(body)
    assert row.shape == (1, 3, 4, 6) and (row == 90).all()


def test_the_most_pixels():
    cv2 = pytest.importorskip("cv2")
    body = cv2.imencode(".png", np.zeros((4, 6, 3), "uint8"))[1].tobytes()
    assert Images.for_rows((3, 2, 2), maximum=24).read(body).shape == (1, 3, 2, 2)
    with pytest.raises(mx.errors.FormatError, match="6 x 4 pixels, expected 1 to 23"):
        Images.for_rows((3, 2, 2), maximum=23).read(body)


def test_images_over_http(rng):
    cv2 = pytest.importorskip("cv2")
    predictor = mx.Predictor(mx.gluon.nn.Flatten(), shapes=(1, 1, 2), warm_up=False)
    app = Application(predictor, images=Images.for_rows((1, 1, 2), scale=1.0))
    body = cv2.imencode(".png", np.uint8([[7, 9], [7, 9]]))[1].tobytes()
    for kind in ("image/png", "IMAGE/anything; x"):
        assert reply(app, body=body, kind=kind) == found([[7.0, 9.0]])
    assert reply(app, body=body, kind="text/csv") == refused(
        415, "a body of type 'text/csv'; send application/json, application/x-npy or an image"
    )
    assert reply(app, body=b"GIF89a", kind="image/gif") == refused(
        400,
        "expected an image as the body: its first bytes are not those of a JPEG, PNG, WebP or"
        " BMP file",
    )
