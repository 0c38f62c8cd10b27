"""The application over a Predictor: bodies, answers, refusals. No sockets here."""

import io
import json

import numpy as np
import pytest

import cynet as mx
from cynet.serving import Application
from cynet.serving.bodies import Images
from cynet.serving.counters import BUCKET_SECONDS
from tests.serving.asking import ask, npy


@pytest.fixture(scope="module")
def app():
    net = mx.gluon.nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.Constant(2))
    return Application(mx.Predictor(net, shapes=(3,), max_batch=4), max_body=10_000)


@pytest.mark.parametrize(
    "body", [[[1, 2, 3]], {"inputs": [[1, 2, 3]]}, {"inputs": {"data": [[1, 2, 3]]}}]
)
def test_json(app, body):
    status, headers, answer = ask(app, "POST", "/predict", json.dumps(body).encode())
    assert status == 200 and headers["Content-Type"] == "application/json"
    assert json.loads(answer) == {"outputs": [[[12.0, 12.0]]]}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i2", "|b1"])
def test_npy(app, order, dtype):
    rows = np.array([[1, 0, 1], [1, 1, 1]]).astype(dtype, order=order)
    status, headers, answer = ask(app, "POST", "/predict", npy(rows), "application/x-npy")
    assert status == 200 and headers["Content-Type"] == "application/x-npy"
    assert np.load(io.BytesIO(answer)).tolist() == [[4, 4], [6, 6]]


def test_npy_on_request(app):
    status, _, answer = ask(
        app, "POST", "/predict", b"[[1, 2, 3]]", HTTP_ACCEPT="application/x-npy"
    )
    assert status == 200 and np.load(io.BytesIO(answer)).tolist() == [[12, 12]]


REFUSED = {
    "nothing": (b"", "application/json", 400, "not JSON"),
    "half": (b'{"inputs": [[1,', "application/json", 400, "not JSON"),
    "bytes": (b"\xff\xfe\x00", "application/json", 400, "not JSON"),
    "deep": (b"[" * 9000, "application/json", 400, "JSON"),
    "number": (b"7", "application/json", 400, "must be"),
    "empty": (b"{}", "application/json", 400, "must be"),
    "name": (b'{"x": [[1, 2, 3]]}', "application/json", 400, "'x'"),
    "text": (b'[["a", "b", "c"]]', "application/json", 400, "'data'"),
    "shape": (b"[[1, 2]]", "application/json", 400, "'data' has shape"),
    "ragged": (b"[[1, 2, 3], [1]]", "application/json", 400, "'data'"),
    "huge number": (b"[[1e999, 1" + b"0" * 400 + b", 1]]", "application/json", 400, "'data'"),
    "no npy": (b"12345678", "application/x-npy", 400, "expected a .npy file"),
    "pickle": (
        npy(np.array([None]), allow_pickle=True),
        "application/x-npy",
        400,
        "elements of object",
    ),
    "short npy": (npy(np.zeros((2, 3)))[:-1], "application/x-npy", 400, "bytes for shape"),
    "too long npy": (npy(np.zeros((2, 3))) + b"0", "application/x-npy", 400, "bytes for shape"),
    "lying npy": (
        npy(np.zeros((2, 3))).replace(b"(2, 3), }  ", b"(2, 999)}  "),
        "application/x-npy",
        400,
        "",
    ),
    "type": (b"a,b", "text/csv", 415, "text/csv"),
    "no image here": (b"x", "image/png", 415, "image/png"),
    "long": (b" " * 10_001, "application/json", 413, "10001 bytes"),
    "not finite": (b"[[NaN, 0, 0]]", "application/json", 400, "NaN is no number of JSON"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_name_what_is_wrong(app, what, caplog):
    body, kind, status, text = REFUSED[what]
    found, headers, answer = ask(app, "POST", "/predict", body, kind)
    assert found == status and headers["Content-Type"] == "application/json"
    assert text in json.loads(answer)["error"]
    assert ask(app, "POST", "/predict", b"[[1, 2, 3]]")[0] == 200  # it goes on


def test_paths_methods_and_lengths(app):
    assert ask(app, "GET", "/nowhere")[0] == 404
    status, headers, _ = ask(app, "GET", "/predict")
    assert status == 405 and headers["Allow"] == "POST"
    assert ask(app, "DELETE", "/health")[0] == 405
    assert ask(app, "HEAD", "/health")[::2] == (200, b"")
    for length in ("", "-1", "1e3"):
        assert ask(app, "POST", "/predict", b"[]", CONTENT_LENGTH=length)[0] == 411
    assert ask(app, "POST", "/predict", b"[]", CONTENT_LENGTH="5")[0] == 400


def test_metrics_are_what_prometheus_reads(app):
    before = app.predictor.stats()
    ask(app, "POST", "/predict", b"[[1, 2, 3], [1, 2, 3]]")
    ask(app, "POST", "/predict", b"[[1, 2]]")
    status, headers, body = ask(app, "GET", "/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in body.decode().splitlines() if line[0] != "#"]
    values = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
    m = 'model="model",version="1"'
    assert values[f"cynet_rows_total{{{m}}}"] == before["rows"] + 2
    count = before["requests"] + 1
    assert values[f"cynet_request_seconds_count{{{m}}}"] == count
    assert values[f'cynet_request_seconds_bucket{{{m},le="+Inf"}}'] == count
    buckets = [
        values[f'cynet_request_seconds_bucket{{{m},le="{bound}"}}'] for bound in BUCKET_SECONDS
    ]
    assert buckets == sorted(buckets)
    assert values[f'cynet_failed_requests_total{{{m},kind="ShapeError"}}'] >= 1


def test_metrics_of_several_models_by_prometheus_own_reader(app):
    parser = pytest.importorskip("prometheus_client.parser")
    both = Application({"a": app.predictor, "b-1.0": {"7": app.predictor}})
    ask(both, "POST", "/predict", b"[[1, 2, 3], [1, 2, 3]]")
    ask(both, "POST", "/predict", b"[[1, 2]]")
    text = ask(both, "GET", "/metrics")[2].decode()
    families = {each.name: each for each in parser.text_string_to_metric_families(text)}
    assert {name: each.type for name, each in families.items()} == {
        "cynet_request_seconds": "histogram",
        "cynet_rows": "counter",
        "cynet_batches": "counter",
        "cynet_failed_requests": "counter",
        "cynet_waiting_rows": "gauge",
    }
    stats = app.predictor.stats()
    rows = {
        (s.labels["model"], s.labels["version"]): s.value for s in families["cynet_rows"].samples
    }
    assert rows == {("a", "1"): stats["rows"], ("b-1.0", "7"): stats["rows"]}


def test_closed_it_says_so():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    app = Application(mx.Predictor(net, shapes=(3,), warm_up=False))
    assert ask(app, "GET", "/health")[0] == 200
    app.predictor.close()
    assert ask(app, "GET", "/health")[0] == 503
    status, _, body = ask(app, "POST", "/predict", b"[[1, 2, 3]]")
    assert status == 503 and "closed" in json.loads(body)["error"]


@pytest.mark.parametrize("first", [True, False])
def test_images_become_rows_and_classes_have_names(first, rng):
    cv2 = pytest.importorskip("cv2")
    shape = (3, 4, 6) if first else (4, 6, 3)
    net = mx.gluon.nn.Flatten()
    mean, std = [0.1, 0.2, 0.3], [0.5, 0.5, 0.25]
    images = Images.for_rows(shape, mean=mean, std=std)
    names = [f"class {i}" for i in range(72)]
    predictor = mx.Predictor(net, shapes=shape, max_batch=2)
    app = Application(predictor, images=images, classes=names, top=2)
    pixels = rng.integers(0, 256, (6, 6, 3)).astype("uint8")
    body = cv2.imencode(".png", pixels)[1].tobytes()
    status, _, answer = ask(app, "POST", "/predict", body, "image/png")
    assert status == 200
    answer = json.loads(answer)
    expected = (pixels[1:5, :, ::-1] / 255 - mean) / std  # RGB, the middle
    expected = (expected.transpose(2, 0, 1) if first else expected).ravel()
    np.testing.assert_allclose(answer["outputs"][0][0], expected, rtol=1e-5, atol=1e-5)
    best = np.argsort(expected)[::-1][:2]
    assert [each["class"] for each in answer["classes"][0]] == [f"class {i}" for i in best]
    for damaged in (body[:40], b"", b"no image"):
        status, _, answer = ask(app, "POST", "/predict", damaged, "image/png")
        assert status == 400 and "expected an image" in json.loads(answer)["error"]
