"""Predictors by name and version, and the sentences of the protocol's readers, whole."""

import itertools
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, CynetError
from cynet.serving import models as file
from cynet.serving import signature, tensors, v2
from cynet.serving.errors import Refused
from cynet.serving.models import Model, Models


class Fake(mx.Predictor):
    """A Predictor that computes nothing."""

    def __init__(self, closes=True, **more):
        self.closes, self.asked = closes, []
        vars(self).update(more)

    def close(self, timeout=None):
        self.asked.append(timeout)
        return self.closes


def test_names_versions_and_order():
    one, two, three = Fake(), Fake(), Fake()
    found = Models({"b": one, "a": {"2": two, "1": three}})
    assert list(found) == [Model("b", "1", one), Model("a", "2", two), Model("a", "1", three)]
    assert found.names == ["b", "a"] and found.versions("a") == ["2", "1"]
    assert found.find("a") == Model("a", "1", three)  # the last one
    assert found.find("a", "2") == Model("a", "2", two) and found.find("b").predictor is one
    assert list(Models(one)) == [Model("model", "1", one)]
    for name, version, text in (
        ("c", None, "there is no model 'c', only b, a"),
        ("", "1", "there is no model '', only b, a"),
        ("a", "3", "model 'a' has no version '3', only 2, 1"),
        ("b", "2", "model 'b' has no version '2', only 1"),
    ):
        with pytest.raises(Refused, match=f"^{re.escape(text)}$") as caught:
            found.find(name, version)
        assert (caught.value.status, caught.value.headers) == (404, {})


NO_MODELS = {
    "Application takes a Predictor, or a dict of names to them, got {}": {},
    "Application takes a Predictor, or a dict of names to them, got [": [1],
    "Application: 'm' is a Predictor, or a dict of versions to them, got {}": {"m": {}},
    "Application: 'm' is a Predictor, or a dict of versions to them, got 3": {"m": 3},
    "Application: version '2' of 'm' is a Predictor, got None": {"m": {"1": Fake(), "2": None}},
    "Application: the name of a model has letters, digits and . _ + -, got 'a b'": {"a b": Fake()},
    "Application: the name of a model has letters, digits and . _ + -, got 3": {3: Fake()},
    "Application: the name of a model has letters, digits and . _ + -, got '.a'": {".a": Fake()},
    "Application: a version of m has letters, digits and . _ + -, got 1": {"m": {1: Fake()}},
    "Application: a version of m has letters, digits and . _ + -, got ''": {"m": {"": Fake()}},
}


@pytest.mark.parametrize("text", NO_MODELS)
def test_what_are_no_models(text):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=f"^{re.escape(text)}"):
        Models(NO_MODELS[text])
    assert Models({"a1._+-": Fake(), "_": Fake(), "ä": Fake()}).names == ["a1._+-", "_", "ä"]


@pytest.mark.parametrize("closes", [(True, True, True), (False, True, True), (True, True, False)])
def test_all_are_closed_in_one_time(closes, monkeypatch):
    clock = [10.0]
    monkeypatch.setattr(file, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    class Slow(Fake):
        def close(self, timeout=None):
            clock[0] += 2
            return super().close(timeout)

    made = [Slow(each) for each in closes]
    found = Models({"a": made[0], "b": {"1": made[1], "2": made[2]}})
    assert found.close(3.0) is all(closes)
    assert [each.asked for each in made] == [[3.0], [1.0], [0.0]]
    assert found.close(None) is all(closes)
    assert [each.asked[1:] for each in made] == [[None]] * 3


# --- signatures -----------------------------------------------------------------------------------
def test_a_network_that_takes_no_length():
    """The last error is raised; where one length is taken, that is enough."""
    tried = []

    def run(arrays, takes=()):
        tried.append(arrays[0].shape)
        if arrays[0].shape[1] not in takes:
            raise ValueError(f"no length {arrays[0].shape[1]}")
        return [arrays[0]]

    with pytest.raises(ValueError, match="^no length 33$"):
        signature.find_signature({"x": (-1,)}, {"x": "f4"}, ["a"], run)
    assert tried == [(1, 1), (1, 33)]
    tried.clear()
    with pytest.raises(ValueError, match="^no length 3$"):
        signature.find_signature({"x": (3,)}, {"x": "f4"}, ["a"], run)
    assert tried == [(1, 3)]  # nothing varies
    tried.clear()
    found = signature.find_signature(
        {"y": (2,), "x": (-1,)}, {"x": "f4", "y": "f4"}, ["a"], lambda a: run(a[1:], (33,))
    )
    assert tried == [(1, 1), (1, 33)] and found.outputs == [("a", np.float32, (-1, -1))]
    assert found.inputs == [("y", "f4", (-1, 2)), ("x", "f4", (-1, -1))]


# --- tensors --------------------------------------------------------------------------------------
class Asked(Fake):
    """As far as readers ask it: one input of three numbers, one output."""

    def __init__(self, **shapes):
        super().__init__(shapes=shapes or {"data": (3,)})

    def signature(self):
        inputs = [signature.Tensor(name, "float32", (-1, *s)) for name, s in self.shapes.items()]
        return signature.Signature(inputs, [signature.Tensor("out", "float32", (-1,))])

    def check_shape(self, name, shape):
        pass


ROW = {"name": "data", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}
KINDS = "BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, FP16, FP32, FP64, BF16"
NO_REQUEST = {
    "the body is an object of JSON, got [1]": [1],
    "id is a text, got 7": {"id": 7, "inputs": [ROW]},
    "parameters is an object of JSON, got [1]": {"parameters": [1]},
    "timeout is a positive number of microseconds, got 0": {"parameters": {"timeout": 0}},
    "timeout is a positive number of microseconds, got True": {"parameters": {"timeout": True}},
    "timeout is a positive number of microseconds, got '1'": {"parameters": {"timeout": "1"}},
    "inputs is a list of objects, got None": {},
    "inputs is a list of objects, got [1]": {"inputs": [1]},
    "inputs: the model has no 'x', only ['data']": {"inputs": [{**ROW, "name": "x"}]},
    "inputs: the model has no 3, only ['data']": {"inputs": [{**ROW, "name": 3}]},
    "input 'data' is given twice": {"inputs": [ROW, ROW]},
    "input 'data' has no rows": {"inputs": [{**ROW, "shape": [0, 3], "data": []}]},
    f"input 'data' has the datatype 'FP8', expected one of {KINDS}": {
        "inputs": [{**ROW, "datatype": "FP8"}]
    },
    f"input 'data' has the datatype 3, expected one of {KINDS}": {
        "inputs": [{**ROW, "datatype": 3}]
    },
    "input 'data' has either data or binary_data_size": {
        "inputs": [{**ROW, "parameters": {"binary_data_size": 12}}]
    },
    "input 'data' has 12 bytes by its shape, binary_data_size is 11": {
        "inputs": [
            {k: v for k, v in ROW.items() if k != "data"} | {"parameters": {"binary_data_size": 11}}
        ]
    },
    "input 'data' has 12 bytes by its shape, binary_data_size is 12.0": {
        "inputs": [
            {k: v for k, v in ROW.items() if k != "data"}
            | {"parameters": {"binary_data_size": 12.0}}
        ]
    },
    "input 'data' has 12 bytes, 0 are left of the body": {
        "inputs": [
            {k: v for k, v in ROW.items() if k != "data"} | {"parameters": {"binary_data_size": 12}}
        ]
    },
    "input 'data' has a list as its data, got 3": {"inputs": [{**ROW, "data": 3}]},
    "input 'data' has 2 values, its shape [1, 3] has 3": {"inputs": [{**ROW, "data": [1, 2]}]},
    "input 'data' is not nested as its shape [1, 3] says, at axis 1": {
        "inputs": [{**ROW, "data": [[1, 2]]}]
    },
    "input 'data' is not nested as its shape [1, 3, 2] says, at axis 2": {
        "inputs": [{**ROW, "shape": [1, 3, 2], "data": [[[1, 2], [3, 4], [5]]]}]
    },
    "input 'data' has a list of whole numbers as its shape, got [1, -1]": {
        "inputs": [{**ROW, "shape": [1, -1]}]
    },
    "input 'data' of datatype FP32 has the value 'x'": {"inputs": [{**ROW, "data": [1, "x", 2]}]},
    "input 'data' of datatype UINT8 has the value 256": {
        "inputs": [{**ROW, "datatype": "UINT8", "data": [0, 256, 1]}]
    },
    "input 'data' of datatype INT8 has the value -129": {
        "inputs": [{**ROW, "datatype": "INT8", "data": [0, -129, 127]}]
    },
    "input 'data' of datatype FP32 has a number of too many digits": {
        "inputs": [{**ROW, "data": [0, 10**400, 1]}]
    },
    "the parameters of input 'data' is an object of JSON, got 3": {
        "inputs": [{**ROW, "parameters": 3}]
    },
    "input 'data': this server has no extension for shared_memory_region": {
        "inputs": [{**ROW, "parameters": {"shared_memory_region": "a"}}]
    },
    "input 'data': this server has no extension for classification": {
        "inputs": [{**ROW, "parameters": {"classification": 1}}]
    },
    "binary_data_output is true or false, got 1": {
        "inputs": [ROW],
        "parameters": {"binary_data_output": 1},
    },
    "outputs is a list of objects, got 3": {"inputs": [ROW], "outputs": 3},
    "outputs: the model has no 'x', only ['out']": {"inputs": [ROW], "outputs": [{"name": "x"}]},
    "output 'out' is asked for twice": {"inputs": [ROW], "outputs": [{"name": "out"}] * 2},
    "binary_data is true or false, got 0": {
        "inputs": [ROW],
        "outputs": [{"name": "out", "parameters": {"binary_data": 0}}],
    },
    "output 'out': this server has no extension for classification": {
        "inputs": [ROW],
        "outputs": [{"name": "out", "parameters": {"classification": 1}}],
    },
}


def request_of(value, rest=b""):
    """The request of a JSON value and the bytes behind it."""
    return tensors.fill_in_tensors(
        tensors.read_plan(json.dumps(value).encode(), Asked()), memoryview(rest)
    )


@pytest.mark.parametrize("text", NO_REQUEST)
def test_what_is_no_request(text):
    with pytest.raises(CynetError, match=f"^{re.escape(text)}$"):
        request_of(NO_REQUEST[text])


def read(row, rest=b"", **more):
    return request_of({"inputs": [row], **more}, rest)


@pytest.mark.parametrize("kind", KINDS.split(", "))
def test_the_least_and_the_largest_number_of_each_datatype(kind):
    dtype = np.dtype(tensors._DTYPES[kind])
    if kind == "BOOL":
        ends = [False, True]
    elif kind[0] in "UI":
        ends = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    else:
        ends = [-(2.0**120), 65504.0]  # the network's type limits them
    row = {**ROW, "datatype": kind, "shape": [1, 2], "data": ends}
    assert read(row).inputs["data"].tolist() == [ends]
    values = np.array([[1, 0]], "f4")
    if kind == "BF16":
        part = (values.view("u4") >> 16).astype("<u2").tobytes()
    else:
        part = values.astype(dtype).tobytes()
    row.pop("data")
    row["parameters"] = {"binary_data_size": len(part)}
    found = read(row, part)
    np.testing.assert_array_equal(found.inputs["data"], values)
    with pytest.raises(CynetError, match="^1 bytes are left behind the tensors$"):
        read(row, part + b"x")
    if kind not in ("BF16", "FP16"):
        assert tensors.datatype(dtype) == tensors.datatype(dtype.newbyteorder(">")) == kind


def test_settings_of_a_request():
    row = {"name": "out"}
    for more, wanted in (
        ({}, ({}, False, None, None)),
        ({"id": ""}, ({}, False, "", None)),
        ({"parameters": {"timeout": 1}}, ({}, False, None, 1e-6)),
        ({"parameters": {"timeout": 2_500_000, "binary_data_output": True}}, ({}, True, None, 2.5)),
        ({"outputs": [row]}, ({"out": False}, False, None, None)),
        (
            {"outputs": [row], "parameters": {"binary_data_output": True}},
            ({"out": True}, True, None, None),
        ),
        (
            {"outputs": [{**row, "parameters": {"binary_data": True}}]},
            ({"out": True}, False, None, None),
        ),
        (
            {
                "outputs": [{**row, "parameters": {"binary_data": False}}],
                "parameters": {"binary_data_output": True},
            },
            ({"out": False}, True, None, None),
        ),
    ):
        assert read(ROW, **more)[1:] == wanted


@pytest.mark.parametrize("shape", [(3,), (2, 2), ()])
def test_bodies_without_json(shape):
    size = 4 * int(np.prod(shape))
    for rows in (1, 3):
        found = tensors.read_raw_request(memoryview(bytes(rows * size)), Asked(data=shape))
        assert found.inputs["data"].shape == (rows, *shape) and found[1:] == ({}, True, None, None)
    for length in (0, size - 1, size + 1):
        text = f"input 'data' has {length} bytes, and a row of it {size}"
        with pytest.raises(CynetError, match=f"^{text}$"):
            tensors.read_raw_request(memoryview(bytes(length)), Asked(data=shape))
    text = "^a body without JSON needs a network of one input with a known shape$"
    for shapes in ({"a": (3,), "b": (3,)}, {"data": (-1,)}, {"data": (3, -1)}):
        with pytest.raises(ArgumentError, match=text):
            tensors.read_raw_request(memoryview(bytes(12)), Asked(**shapes))


def test_whole_answers():
    arrays = {"a": np.array([[1, 2]], "<i4"), "b": np.array([0.5], ">f8")}
    head = {"model_name": "m", "model_version": "3"}
    model = SimpleNamespace(name="m", version="3")
    tensor_a = {"name": "a", "datatype": "INT32", "shape": [1, 2]}
    tensor_b = {"name": "b", "datatype": "FP64", "shape": [1]}
    in_bytes = {"parameters": {"binary_data_size": 8}}
    b = np.array([0.5], "<f8").tobytes()
    for request, rows, rest in (
        (({}, False, None), [tensor_a | {"data": [1, 2]}, tensor_b | {"data": [0.5]}], b""),
        (({"b": False}, True, "x"), [tensor_b | {"data": [0.5]}], b""),
        (
            ({"b": True, "a": False}, False, None),
            [tensor_b | in_bytes, tensor_a | {"data": [1, 2]}],
            b,
        ),
        (({}, True, None), [tensor_a | in_bytes, tensor_b | in_bytes], arrays["a"].tobytes() + b),
        (
            ({}, True, 'a "b"'),
            [tensor_a | in_bytes, tensor_b | in_bytes],
            arrays["a"].tobytes() + b,
        ),
    ):
        asked = tensors.Request({}, *request, None)
        body, length = tensors.write_answer(model, asked, arrays)
        wanted = {**head, "outputs": rows, **({"id": request[2]} if request[2] else {})}
        text = json.dumps(wanted).encode()
        assert body == text + rest and length == (len(text) if rest else None)
    bad = {"c": np.array([1, np.nan], "f4")}
    text = (
        "^output 'c' has NaN or infinity for this input, which JSON has not; as binary data it is"
    )
    with pytest.raises(ArgumentError, match=text):
        tensors.write_answer(model, tensors.Request({}, {}, False, None, None), bad)
    other = {name: each + 1 for name, each in arrays.items()}  # a text that is kept, other bytes
    other["b"] = np.zeros((2, 3), "f4")
    for given in (arrays, other):
        body, length = tensors.write_answer(model, tensors.Request({}, {}, True, None, None), given)
        shapes = [each["shape"] for each in json.loads(body[:length])["outputs"]]
        assert shapes == [list(each.shape) for each in given.values()]
        little = [each.astype(each.dtype.newbyteorder("<")) for each in given.values()]
        assert body[length:] == b"".join(each.tobytes() for each in little)


# --- paths ----------------------------------------------------------------------------------------
WORDS = (
    "models",
    "several",
    "dense",
    "versions",
    "1",
    "2",
    "ready",
    "infer",
    "health",
    "live",
    "repository",
    "index",
    "x",
    "",
)


def wanted(parts):
    """The method of a path below /v2, by the protocol's text; None where there is no such page,
    and the text of what is not there."""
    pages = {
        (): "GET",
        ("health", "live"): "GET",
        ("health", "ready"): "GET",
        ("models",): "GET",
        ("repository", "index"): "POST",
    }
    if parts in pages:
        return pages[parts]
    if parts[:1] != ("models",) or len(parts) < 2:
        return None
    name, rest = parts[1], parts[2:]
    version = None
    if rest[:1] == ("versions",) and len(rest) > 1:
        version, rest = rest[1], rest[2:]
    method = {(): "GET", ("ready",): "GET", ("infer",): "POST"}.get(rest)
    if method is None:
        return None
    known = {"several": ("1", "2"), "dense": ("1",)}
    if name not in known:
        return f"there is no model '{name}', only dense, several"
    if version is not None and version not in known[name]:
        return f"model '{name}' has no version '{version}', only {', '.join(known[name])}"
    return method


def test_every_path_of_up_to_five_words():
    app = SimpleNamespace(models=Models({"dense": Fake(), "several": {"1": Fake(), "2": Fake()}}))
    protocol = v2.Protocol(app)
    for count in range(4):
        for parts in itertools.product(WORDS, repeat=count):
            _same(protocol, parts)
    for parts in itertools.product(("several", "x"), ("versions", "x", "ready"), WORDS, WORDS):
        _same(protocol, ("models", *parts))
    for path in ("", "/", "/v1", "/v2x", "v2/", "/V2", "/predict", "//v2"):
        assert protocol.find_handler(path) is None
    assert protocol.find_handler("v2")[0] == "GET"


def _same(protocol, parts):
    path, method = "/".join(["/v2", *parts]), wanted(parts)
    if method is None:
        assert protocol.find_handler(path) is None, path
    elif method in ("GET", "POST"):
        assert protocol.find_handler(path)[0] == method, path
    else:
        with pytest.raises(Refused, match=f"^{re.escape(method)}$"):
            protocol.find_handler(path)


@pytest.mark.parametrize("text, length", [("0", 0), ("12", 12), ("012", 12), (None, None)])
def test_lengths_of_json_texts(text, length):
    environ = {} if text is None else {"HTTP_INFERENCE_HEADER_CONTENT_LENGTH": text}
    assert v2._json_text_length(environ, 12) == length


@pytest.mark.parametrize("text", ["13", "-1", "", "1.0", "１", "9" * 30, " 1"])
def test_lengths_that_a_body_has_not(text):
    says = f"Inference-Header-Content-Length is a number of the body's 12 bytes, got {text!r}"
    with pytest.raises(CynetError, match=f"^{re.escape(says)}$"):
        v2._json_text_length({"HTTP_INFERENCE_HEADER_CONTENT_LENGTH": text}, 12)


@pytest.mark.parametrize(
    "own, given, used",
    [(None, None, []), (3, None, [3]), (None, 2, [2]), (3, 2, [2]), (1, 2, [1]), (0, 2, [0])],
)
def test_the_shorter_time_counts(own, given, used):
    request = tensors.Request({}, {}, False, None, given)
    assert v2._request_timeout(request, SimpleNamespace(timeout=own)) == used


def test_words_of_paths():
    """As WSGI gives them: the bytes of UTF-8 as latin-1."""
    assert v2._decode_path("Ã©") == "é" and v2._decode_path("a") == "a"
    assert v2._decode_path("\xff") == "\xff" and v2._decode_path("€") == "€"
