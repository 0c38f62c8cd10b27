"""Cards of models: what stands in them, what a server shows, files that are none."""

import json
from datetime import datetime, timezone

import numpy as np
import pytest

import cynet as mx
from cynet.serving import Application
from cynet.tools import serve
from tests.serving.asking import ask


@pytest.fixture
def trained(tmp_path):
    """(module, history, prefix) of a network of two inputs."""
    left, right = mx.sym.var("left"), mx.sym.var("right")
    both = mx.sym.concat(mx.sym.BatchNorm(left, name="norm"), right, dim=1)
    net = mx.sym.FullyConnected(both, num_hidden=2, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), ["left", "right"])
    data = {"left": np.ones((8, 3), "float32"), "right": np.zeros((8, 2), "float32")}
    batches = mx.io.NDArrayIter(data, np.zeros(8), 4)
    history = module.fit(batches, batches, num_epoch=2, verbose=False)
    prefix = str(tmp_path / "net")
    module.save_checkpoint(prefix, 2)
    return module, history, prefix


def test_a_card_says_what_the_network_is(trained):
    module, history, prefix = trained
    before = datetime.now(timezone.utc).replace(microsecond=0)
    card = mx.model.save_card(prefix, module, history, version="2", note="of ones & zeros")
    assert mx.model.load_card(prefix) == card
    assert before <= datetime.fromisoformat(card["made"]) <= datetime.now(timezone.utc)
    shapes = {each["name"]: each["shape"] for each in card["inputs"]}
    assert shapes == {"left": [3], "right": [2]} and card["name"] == "net"
    assert card["outputs"] == [{"name": "softmax_output", "dtype": "float32", "shape": [2]}]
    assert card["parameters"] == 2 * 5 + 2 + 4 * 3
    last = {name: values[-1] for name, values in history.metrics.items()}
    assert card["metrics"] == last and len(last) == 2


def served(*arguments):
    return serve.application(serve.parser().parse_args([*map(str, arguments)]))


def test_a_server_shows_it_and_needs_no_shape(trained):
    module, _, prefix = trained
    note = "<b>ones</b>"
    card = mx.model.save_card(prefix, module, {"accuracy": 0.75}, note=note)
    app = served(prefix, "--name", "net")
    try:
        rows = {"left": [[1, 1, 1]], "right": [[0, 0]]}
        assert ask(app, "POST", "/predict", json.dumps({"inputs": rows}).encode())[0] == 200
        status, headers, body = ask(app, "GET", "/")
        assert status == 200 and headers["Content-Type"] == "application/json"
        (model,) = json.loads(body)["models"]
        assert model["card"] == card and model["name"] == "net"
        assert [each["shape"] for each in model["inputs"]] == [[-1, 3], [-1, 2]]
        html = ask(app, "GET", "/", HTTP_ACCEPT="text/html,*/*")
        assert html[1]["Content-Type"] == "text/html; charset=utf-8"
        text = html[2].decode()
        assert "&lt;b&gt;ones" in text and note not in text
        assert "accuracy" in text and "0.75" in text and "/metrics" in text
        assert ask(app, "POST", "/")[0] == 405
    finally:
        app.close()


def test_without_a_card_the_page_has_the_models(trained):
    _, _, prefix = trained
    with pytest.raises(ValueError, match="--shape: no input of 'model' has one"):
        served(prefix)
    app = served(prefix, "--shape", "left=3", "--shape", "right=2")
    (model,) = json.loads(ask(app, "GET", "/")[2])["models"]
    assert "card" not in model and model["outputs"][0]["shape"] == [-1, 2]
    app.close()


def test_what_is_no_card(trained, tmp_path):
    module, _, prefix = trained
    card = mx.model.save_card(prefix, module)
    path = tmp_path / "net-card.json"
    bad = [{**card, name: None} for name in card] + [{**card, "form": "cynet card 9"}, [], 3]
    bad += [{**card, "inputs": [each]} for each in ({}, 3, {**card["inputs"][0], "shape": ["3"]})]
    for each in bad:
        path.write_text(json.dumps(each))
        with pytest.raises(mx.MXNetError, match="is no card of a model"):
            mx.model.load_card(prefix)
        with pytest.raises(mx.MXNetError, match="is no card of a model"):
            served(prefix)
    path.write_text("{")
    with pytest.raises(mx.MXNetError, match="is no card of a model"):
        mx.model.load_card(prefix)
    path.unlink()
    with pytest.raises(OSError, match="net-card.json"):
        mx.model.load_card(prefix)


def test_what_is_refused(trained, tmp_path):
    module, _, prefix = trained
    for metrics, what in (({"a": "b"}, "'a': 'b'"), ({3: 1.0}, "3: 1.0")):
        with pytest.raises(TypeError, match=f"metrics are numbers by name, got {what}"):
            mx.model.save_card(prefix, module, metrics)
    with pytest.raises(ValueError, match="metric 'loss' is nan"):
        mx.model.save_card(prefix, module, {"loss": float("nan")})
    with pytest.raises(TypeError, match="version is a str, got 3"):
        mx.model.save_card(prefix, module, version=3)
    with pytest.raises(mx.MXNetError, match="call init_params first"):
        mx.model.save_card(prefix, mx.mod.Module(mx.sym.var("data"), label_names=None))
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.initialize()
    predictor = mx.Predictor(net, shapes=(2,))
    with pytest.raises(ValueError, match="a card of 'other', which is no model"):
        Application(predictor, cards={"other": {}})
    predictor.close()
