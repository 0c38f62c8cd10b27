"""docs/guide/servers.md: its services answer, with the packages' names stood in for where they are
called; the real servers were tried by hand."""

import asyncio
import json
import re
import sys
import types
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "servers.md"
FILES = dict(re.findall(r"^```py (\w+\.py)\n(.*?)^```", PAGE.read_text(), re.M | re.S))
ROWS = np.array([[1, 2, 3, 4], [0, 0, 0, 1]], "float32")


@pytest.fixture
def service(tmp_path, monkeypatch):
    """``service(file, package=module)``: the names of a file, beside a checkpoint whose network
    sums each row twice."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (1, 4))], for_training=False)
    module.init_params(mx.init.Zero(), {"fc_weight": mx.nd.ones((2, 4))}, allow_missing=True)
    monkeypatch.chdir(tmp_path)
    module.save_checkpoint("model", 0)

    def load(file, **packages):
        for name, attributes in packages.items():
            package = types.ModuleType(name)
            vars(package).update(attributes)
            monkeypatch.setitem(sys.modules, name, package)
        names = {"__name__": "service"}
        exec(compile(FILES[file], file, "exec"), names)
        return names

    return load


def kept(*args, **settings):
    """A decorator that keeps a class or function as it is, with or without settings."""
    return args[0] if args else lambda each: each


def test_every_service_is_tried():
    tried = {"bento_service.py", "kserve_model.py", "ray_service.py", "wsgi.py"}
    assert set(FILES) == tried
    page = PAGE.read_text()
    for file in FILES:
        stem = file.removesuffix(".py")
        assert re.search(rf"^(bentoml|python|serve|OMP_NUM).*\b{stem}\b", page, re.M), file


def test_bentoml(service):
    network = service("bento_service.py", bentoml={"service": kept, "api": kept})["Network"]()
    np.testing.assert_array_equal(network.predict(ROWS.astype("int64")), [[10, 10], [1, 1]])
    with pytest.raises(mx.errors.CynetError, match="data"):
        network.predict(np.ones((2, 5)))
    network.predictor.close()


class Output:
    def __init__(self, name, shape, datatype):
        self.name, self.shape, self.datatype = name, shape, datatype

    def set_data_from_numpy(self, values, binary_data):
        assert values.dtype == np.float32 and binary_data is False
        self.data = values.ravel().tolist()


class Model:
    def __init__(self, name):
        self.name, self.ready = name, False


def test_kserve(service):
    response = types.SimpleNamespace
    given = {
        "InferOutput": Output,
        "InferResponse": lambda id, name, outputs: response(id=id, name=name, outputs=outputs),
        "Model": Model,
        "ModelServer": None,
    }
    network = service("kserve_model.py", kserve=given)["Network"]("net", "model")
    assert network.ready and network.name == "net"
    for id in ("a", None):
        tensor = types.SimpleNamespace(as_numpy=lambda: ROWS)
        found = network.predict(types.SimpleNamespace(id=id, inputs=[tensor]))
        (output,) = found.outputs
        assert (output.name, output.shape, output.data) == ("output0", [2, 2], [10, 10, 1, 1])
        assert found.name == "net" and (found.id == id or (id is None and len(found.id) == 36))
    network.predictor.close()


class Deployment:
    """What ``serve.deployment`` makes of a class."""

    def __init__(self, kind):
        self.kind = kind

    def bind(self, *args):
        return self.kind(*args)


def test_ray_serve_puts_requests_together(service):
    serve = types.SimpleNamespace(deployment=lambda **settings: Deployment)
    network = service("ray_service.py", ray={"serve": serve})["app"]

    class Request:
        async def json(self):
            return {"inputs": ROWS.tolist()}

    async def ask():
        return await asyncio.gather(*(network(Request()) for _ in range(20)))

    assert asyncio.run(ask()) == [{"outputs": [[10, 10], [1, 1]]}] * 20
    stats = network.predictor.stats()
    assert stats["rows"] == 40
    network.predictor.close()


def test_wsgi(service):
    app = service("wsgi.py")["app"]
    body, said = json.dumps({"inputs": ROWS.tolist()}).encode(), []
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/predict",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
    }
    answer = b"".join(app(environ, lambda status, headers: said.append(status)))
    assert said == ["200 OK"] and json.loads(answer) == {"outputs": [[[10, 10], [1, 1]]]}
    app.close()
