"""The Open Inference Protocol, by its text: paths, metadata, tensors in both forms, refusals."""

import json
import tracemalloc

import numpy as np
import pytest

import cynet as mx
from cynet.serving import Application
from tests.serving.asking import ask
from tests.serving.v2_cases import (
    DTYPES,
    LENGTH,
    WEIGHT,
    application,
    as_bytes,
    as_json,
    outputs_of,
    predictors,
    several,
    tensor,
    wanted_of_several,
)

INFER = "/v2/models/dense/infer"
X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.fixture(scope="module")
def app():
    return application(max_body=20_000)


def post(app, body, headers=(), path=INFER):
    more = {
        "HTTP_" + name.upper().replace("-", "_"): value for name, value in dict(headers).items()
    }
    return ask(app, "POST", path, body, **more)


def good(app, body, headers=(), path=INFER):
    status, headers, answer = post(app, body, headers, path)
    assert status == 200, answer
    kind = "application/octet-stream" if LENGTH in headers else "application/json"
    assert headers["Content-Type"] == kind
    return outputs_of(answer, headers)


def read(app, path):
    status, _, body = ask(app, "GET", path)
    return status, json.loads(body)


# --- paths ----------------------------------------------------------------------------------------
def test_the_server_and_its_models(app):
    status, found = read(app, "/v2")
    assert status == 200 and found["name"] == "cynet" and found["version"] == mx.__version__
    assert "binary_tensor_data" in found["extensions"]
    assert read(app, "/v2/health/live") == (200, {"live": True})
    assert read(app, "/v2/health/ready") == (200, {"ready": True})
    assert read(app, "/v2/models") == (200, {"models": ["dense", "several"]})
    index = json.loads(ask(app, "POST", "/v2/repository/index")[2])
    assert [(each["name"], each["version"], each["state"]) for each in index] == [
        ("dense", "1", "READY"),
        ("several", "1", "READY"),
        ("several", "2", "READY"),
    ]


@pytest.mark.parametrize("version", ["", "/versions/1", "/versions/2"])
def test_metadata(app, version):
    path = f"/v2/models/several{version}"
    assert read(app, f"{path}/ready") == (200, {"name": "several", "ready": True})
    assert read(app, path) == (
        200,
        {
            "name": "several",
            "versions": ["1", "2"],
            "platform": "cynet",
            "inputs": [
                {"name": "words", "datatype": "INT32", "shape": [-1, -1]},
                {"name": "scale", "datatype": "FP32", "shape": [-1, 1]},
            ],
            "outputs": [
                {"name": "scaled_output", "datatype": "FP32", "shape": [-1, 2]},
                {"name": "same_output", "datatype": "INT32", "shape": [-1, -1]},
            ],
        },
    )


def test_paths_and_methods(app):
    for path in (
        "/v2/",
        "/v2x",
        "/v2/models/",
        "/v2/models/nothing",
        "/v2/models/dense/versions/2",
        "/v2/models/dense/versions/1/",
        "/v2/models/dense/versions",
        "/v2/models/dense/x",
        "/v2/models/nothing/versions/1/infer",
        "/v2/models/dense/versions/1/ready/x",
        "/v2/models/\xff/ready",
        "/v2/models/\u20ac/ready",
        "/v2/health",
        "/v2/models/dense//infer",
        "/v2/repository/models/dense/load",
        "/v2/models/self/infer",
    ):
        for method in ("GET", "POST"):
            status, headers, body = ask(app, method, path, b"{}")
            assert status == 404 and json.loads(body)["error"], path
    for path, only in (("/v2", "GET"), (INFER, "POST"), ("/v2/models/dense", "GET")):
        for method in ("GET", "POST", "PUT"):
            status, headers, _ = ask(app, method, path, as_json(("data", X, "FP32"))[0])
            assert status == (200 if method == only else 405)
            assert status == 200 or headers["Allow"] == only


def test_names_and_versions_of_models():
    (dense, two) = predictors(warm_up=False).values()
    app = Application({"é": dense, "m-1.0+x": two})
    assert read(app, "/v2/models/Ã©/ready")[0] == 200  # how WSGI spells it
    assert read(app, "/v2/models/m-1.0+x/ready")[0] == 200
    assert app.predictor is dense and Application(dense).models.names == ["model"]
    for bad in ({}, [dense], {"m": {}}, {"m": None}, {"m": {"1": None}}, None, "m"):
        with pytest.raises(mx.errors.ArgumentTypeError, match="Predictor"):
            Application(bad)
    for bad in ("", "a/b", "a b", 'a"', "a\n", "-a", 1, None, ".."):
        with pytest.raises(mx.errors.ArgumentError, match="name of a model has letters"):
            Application({bad: dense})
        with pytest.raises(mx.errors.ArgumentError, match="a version of m has letters"):
            Application({"m": {bad: dense}})


def test_the_end_is_said_where_one_asks_whether_it_is_ready():
    app = application()
    app.closing = True
    for path in ("/v2/health/ready", "/v2/models/dense/ready"):
        assert read(app, path) == (503, {"error": "shutting down"})
    app.closing = False
    assert app.close(5) and read(app, "/v2/health/live")[0] == 200
    assert read(app, "/v2/health/ready")[0] == 503
    status, _, body = post(app, *as_json(("data", X, "FP32")))
    assert status == 503 and "closed" in json.loads(body)["error"]
    states = json.loads(ask(app, "POST", "/v2/repository/index")[2])
    assert {each["state"] for each in states} == {"UNAVAILABLE"}


def test_all_models_are_closed_in_one_time(monkeypatch):
    app, given = application(), []
    answers = iter([True, False, True])
    for each in app.models:
        monkeypatch.setattr(
            each.predictor, "close", lambda left: given.append(left) or next(answers)
        )
    assert app.close(7.0) is False  # one was not done
    assert len(given) == 3 and 6 < given[2] <= given[1] <= given[0] <= 7
    answers, given[:] = iter([True] * 3), []
    assert app.close() is True and given == [None] * 3


# --- tensors --------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", [as_json, as_bytes])
@pytest.mark.parametrize("kind", DTYPES)
def test_each_datatype_in_both_forms(app, form, kind):
    x = (X % 2 if kind == "BOOL" else X).astype(DTYPES[kind])
    head, found = good(app, *form(("data", x, kind)))
    np.testing.assert_array_equal(found["fc_output"], x.astype("float32") @ WEIGHT.T)
    assert head["model_name"] == "dense" and head["model_version"] == "1" and "id" not in head
    assert found["fc_output"].dtype == "float32"


def test_bfloat16_and_bytes_of_bools(app):
    x = np.array([[1.5, -2, 0.25]], "float32")
    bits = (x.view("u4") >> 16).astype("<u2").tobytes()  # exact in bfloat16
    each = tensor("data", x, "BF16", parameters={"binary_data_size": 6})
    head = json.dumps({"inputs": [each]}).encode()
    _, found = good(app, head + bits, {LENGTH: str(len(head))})
    np.testing.assert_array_equal(found["fc_output"], x @ WEIGHT.T)
    _, found = good(app, *as_json(("data", x, "BF16")))
    np.testing.assert_array_equal(found["fc_output"], x @ WEIGHT.T)
    each = tensor("data", x, "BOOL", parameters={"binary_data_size": 3})
    head = json.dumps({"inputs": [each]}).encode()
    _, found = good(app, head + b"\x00\x02\xff", {LENGTH: str(len(head))})
    np.testing.assert_array_equal(found["fc_output"], [[5, 11]])


@pytest.mark.parametrize("form", [as_json, as_bytes])
def test_several_inputs_outputs_and_versions(app, form, rng):
    for path, version in (("", "2"), ("/versions/1", "1"), ("/versions/2", "2")):
        tensors = several(6, 3, rng)  # more than a batch
        for order in (tensors, tensors[::-1]):
            head, found = good(app, *form(*order), path=f"/v2/models/several{path}/infer")
            assert head["model_version"] == version
            for name, wanted in wanted_of_several(tensors, version).items():
                np.testing.assert_array_equal(found[name], wanted)
                assert found[name].dtype == ("int32" if name == "same_output" else "float32")


def test_which_outputs_in_which_form_and_order(app, rng):
    tensors, path = several(2, 3, rng), "/v2/models/several/infer"
    wanted = wanted_of_several(tensors)
    for form in (as_json, as_bytes):
        for default in (None, False, True):
            for asked in ((), ("same_output",), ("same_output", "scaled_output")):
                for binary in (None, False, True):
                    of_it = {} if binary is None else {"parameters": {"binary_data": binary}}
                    more = {"outputs": [{"name": name, **of_it} for name in asked]} if asked else {}
                    if default is not None:
                        more["parameters"] = {"binary_data_output": default}
                    head, found = good(app, *form(*tensors, id="a-1", **more), path=path)
                    assert head["id"] == "a-1" and list(found) == list(asked or wanted)
                    for name in found:
                        np.testing.assert_array_equal(found[name], wanted[name])
                    is_binary = bool(default) if binary is None or not asked else binary
                    assert all(("data" not in each) == is_binary for each in head["outputs"])


def test_nested_data_and_one_tensor_of_each_form(app):
    each = tensor("data", X, data=X.tolist())
    _, found = good(app, json.dumps({"inputs": [each]}).encode())
    np.testing.assert_array_equal(found["fc_output"], X @ WEIGHT.T)
    words = tensor("words", np.ones((2, 3)), "INT32", data=[[1, 2, 3], [0, 0, 0]])
    scale = tensor("scale", np.ones((2, 1)), parameters={"binary_data_size": 8})
    head = json.dumps({"inputs": [words, scale]}).encode()
    body = head + np.ones((2, 1), "<f4").tobytes()
    _, found = good(app, body, {LENGTH: str(len(head))}, "/v2/models/several/infer")
    np.testing.assert_array_equal(found["scaled_output"], [[6, 6], [6, 6]])


def test_a_body_without_json(app):
    _, found = good(app, X.tobytes(), {LENGTH: "0"})
    np.testing.assert_array_equal(found["fc_output"], X @ WEIGHT.T)
    for body, path, text in (
        (X.tobytes()[:-1], INFER, "has 23 bytes, and a row of it 12"),
        (b"", INFER, "has 0 bytes"),
        (b"1234", "/v2/models/several/infer", "one input with a known shape"),
    ):
        status, _, answer = post(app, body, {LENGTH: "0"}, path)
        assert status == 400 and text in json.loads(answer)["error"]


def test_a_text_that_comes_again_has_other_bytes(app, rng):
    """What it says is kept, for the model that was asked, and not the arrays in it."""
    for _ in range(3):
        x = rng.normal(size=(2, 3)).astype("float32")
        for form in (as_json, as_bytes):
            _, found = good(app, *form(("data", x, "FP32")))
            np.testing.assert_allclose(found["fc_output"], x @ WEIGHT.T, rtol=1e-5)
    for version in ("1", "2"):
        tensors = several(2, 3, rng)
        _, found = good(
            app, *as_bytes(*tensors), path=f"/v2/models/several/versions/{version}/infer"
        )
        wanted = wanted_of_several(tensors, version)["scaled_output"]
        np.testing.assert_array_equal(found["scaled_output"], wanted)
    fresh = application()
    for i in range(600):
        good(fresh, *as_bytes(("data", X, "FP32"), id=str(i % 300)))
        good(fresh, *as_bytes(("data", X, "FP32"), id="x" * 2000))
        good(fresh, *as_json(("data", X, "FP32")))
    kept = fresh._protocol._plans
    assert 0 < len(kept) <= 256 and all(len(head) <= 1024 for _, head in kept)
    assert all(each.array is None for plan in kept.values() for each in plan.inputs)


def test_other_fields_are_left_alone(app):
    """Requests as the classes of KServe's and MLServer's packages write them."""
    more = {"parameters": {"content_type": "np", "headers": {}}}
    each = {**tensor("data", X, data=X.ravel().tolist()), **more}
    body = json.dumps({"id": "", "inputs": [each], **more, "raw": None}).encode()
    head, _ = good(app, body)
    assert head["id"] == ""
    null = dict.fromkeys(("id", "parameters", "outputs"))  # of MLServer, by pydantic
    of_it = {**tensor("data", X, data=X.tolist()), "parameters": None}
    head, found = good(app, json.dumps({**null, "inputs": [of_it]}).encode())
    assert "id" not in head and found["fc_output"].tolist() == (X @ WEIGHT.T).tolist()
    outputs = [{"name": "fc_output", "parameters": None}]
    of_it["parameters"] = {"content_type": "np", "binary_data_size": None}
    body = {**null, "parameters": {"binary_data_output": None}, "outputs": outputs}
    good(app, json.dumps({**body, "inputs": [of_it]}).encode())
    kserve = {
        "id": "1",
        "model_name": "dense",
        "inputs": [  # of KServe's InferRequest
            {"name": "data", "shape": [1, 3], "datatype": "FP32", "data": [1.0, 2.0, 3.0]}
        ],
    }
    head, found = good(app, json.dumps(kserve).encode())
    assert head["id"] == "1" and found["fc_output"].tolist() == [[14, 32]]


def test_a_time_of_the_client_bounds_the_wait(monkeypatch):
    app, seen = application(), []
    predictor = app.predictor
    monkeypatch.setattr(
        predictor, "predict", lambda inputs, *timeout: seen.append(timeout) or inputs["data"][:, :2]
    )
    for own, given in (
        (None, None),
        (2.0, None),
        (None, 500_000),
        (2.0, 500_000),
        (2.0, 9_000_000),
    ):
        predictor.timeout = own
        more = {} if given is None else {"parameters": {"timeout": given}}
        good(app, *as_json(("data", X, "FP32"), **more))
    assert seen == [(), (2.0,), (0.5,), (0.5,), (2.0,)]


# --- refusals -------------------------------------------------------------------------------------
def one(**changes):
    """A request of one tensor with some fields changed, or taken out (None)."""
    each = {**tensor("data", X, data=X.ravel().tolist()), **changes}
    return {"inputs": [{name: value for name, value in each.items() if value is not None}]}


BAD = {
    "no object": ([], "the body is an object"),
    "no inputs": ({}, "inputs is a list"),
    "inputs by name": ({"inputs": {"data": [1]}}, "inputs is a list"),
    "inputs of numbers": ({"inputs": [1]}, "inputs is a list of objects"),
    "an input is missing": ({"inputs": []}, "input 'data' is missing"),
    "an input twice": ({"inputs": one()["inputs"] * 2}, "'data' is given twice"),
    "no name": (one(name=None), "has no None"),
    "a name of ours": (one(name="self"), "has no 'self'"),
    "a time as a name": (one(name="timeout"), "has no 'timeout'"),
    "a list as a name": (one(name=["data"]), "inputs: the model has no"),
    "no shape": (one(shape=None), "a list of whole numbers as its shape"),
    "shape of a number": (one(shape=6), "a list of whole numbers as its shape"),
    "shape of fractions": (one(shape=[2.0, 3]), "a list of whole numbers as its shape"),
    "shape of bools": (one(shape=[True, 3]), "a list of whole numbers as its shape"),
    "shape below 0": (one(shape=[-2, 3]), "a list of whole numbers as its shape"),
    "another shape": (one(shape=[3, 2]), "has shape (3, 2), expected (rows, 3)"),
    "too few axes": (one(shape=[6]), "has shape (6,), expected (rows, 3)"),
    "many axes": (one(shape=[1] * 99), "expected (rows, 3)"),
    "no rows": (one(shape=[0, 3], data=[]), "'data' has no rows"),
    "a huge shape": (one(shape=[1 << 62, 3]), "its shape [4611686018427387904, 3] has"),
    "more than any int": (one(shape=[10**400, 3]), "has 6 values"),
    "no datatype": (one(datatype=None), "has the datatype None"),
    "text": (one(datatype="BYTES"), "has the datatype 'BYTES'"),
    "small letters": (one(datatype="fp32"), "has the datatype 'fp32'"),
    "a list as datatype": (one(datatype=["FP32"]), "has the datatype"),
    "null as data": ({"inputs": [{**one()["inputs"][0], "data": None}]}, "either"),
    "no data": (one(data=None), "either data or binary_data_size"),
    "data twice": (one(parameters={"binary_data_size": 24}), "either data or binary_data_size"),
    "data of text": (one(data="123456"), "a list as its data"),
    "too little data": (one(data=[1, 2, 3]), "has 3 values, its shape [2, 3] has 6"),
    "too much data": (one(data=[0] * 7), "has 7 values"),
    "nested otherwise": (one(data=[[1, 2], [3, 4], [5, 6]]), "not nested as its shape"),
    "nested deeper": (one(data=[[[1], [2], [3]], [[4], [5], [6]]]), "has the value [1]"),
    "half nested": (one(data=[[1, 2, 3], 4]), "not nested as its shape"),
    "an object among numbers": (one(data=[0, 0, 0, 0, 0, {}]), "has the value {}"),
    "text among numbers": (one(data=[0, 0, 0, 0, 0, "1"]), "has the value '1'"),
    "nothing among numbers": (one(data=[0, 0, 0, 0, 0, None]), "has the value None"),
    "a bool as a float": (one(data=[True] * 6), "has the value True"),
    "a float as an int": (one(datatype="INT32", data=[1.5] * 6), "has the value 1.5"),
    "a number as a bool": (one(datatype="BOOL"), "of datatype BOOL has the value"),
    "above its datatype": (one(datatype="UINT8", data=[256] * 6), "has the value 256"),
    "below its datatype": (one(datatype="UINT64", data=[-1] * 6), "has the value -1"),
    "too many digits": (one(data=[10**400] * 6), "too many digits"),
    "above the network's type": (one(data=[1e39] * 6), "takes float32, got 1e+39"),
    "parameters of a tensor": (one(parameters=[]), "parameters of input 'data' is an object"),
    "shared memory": (one(parameters={"shared_memory_region": "a"}), "shared_memory_region"),
    "an id of a number": ({**one(), "id": 7}, "id is a text"),
    "parameters": ({**one(), "parameters": 1}, "parameters is an object"),
    "binary": ({**one(), "parameters": {"binary_data_output": 1}}, "is true or false"),
    "a time": ({**one(), "parameters": {"timeout": -1}}, "number of microseconds"),
    "a fraction of a time": ({**one(), "parameters": {"timeout": 1.5}}, "microseconds"),
    "outputs by name": ({**one(), "outputs": {"a": 1}}, "outputs is a list"),
    "no such output": ({**one(), "outputs": [{"name": "x"}]}, "has no 'x', only ['fc_output']"),
    "an output twice": (
        {**one(), "outputs": [{"name": "fc_output"}] * 2},
        "'fc_output' is asked for twice",
    ),
    "form of an output": (
        {**one(), "outputs": [{"name": "fc_output", "parameters": {"binary_data": "yes"}}]},
        "binary_data is true or false",
    ),
    "classes": (
        {**one(), "outputs": [{"name": "fc_output", "parameters": {"classification": 3}}]},
        "no extension for classification",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_refusals_name_what_is_wrong(app, what):
    body, text = BAD[what]
    status, headers, answer = post(app, json.dumps(body).encode())
    assert (status, headers["Content-Type"]) == (400, "application/json")
    assert text in json.loads(answer)["error"] and list(json.loads(answer)) == ["error"]


def test_texts_that_are_no_json_or_too_long(app):
    for text in (b"", b"{", b"\xff", b"[" * 9000, b'{"inputs": [], "inputs": []}', b"NaN"):
        status, _, answer = post(app, text)
        assert status == 400 and json.loads(answer)["error"], text
    status, _, answer = post(app, as_json(("data", X, "FP32"))[0].replace(b"5.0", b"NaN"))
    assert status == 400 and "NaN is no number" in json.loads(answer)["error"]
    assert post(app, b" " * 20_001)[0] == 413
    many = json.dumps(one(data=[0] * 140_000)).encode()
    status, _, answer = post(application(max_body=1 << 20), many)
    assert status == 413 and "binary tensors may have more" in json.loads(answer)["error"]
    assert ask(app, "POST", INFER, b"{}", CONTENT_LENGTH="")[0] == 411
    assert ask(app, "POST", INFER, b"{}", HTTP_CONTENT_ENCODING="gzip")[0] == 415


def test_lengths_of_binary_tensors(app):
    body, headers = as_bytes(("data", X, "FP32"))
    for wrong, text in (
        (body[:-1], "has 24 bytes, 23 are left"),
        (body + b"0", "1 bytes are left behind"),
        (body.replace(b": 24", b": 25"), "has 24 bytes by its shape"),
        (body.replace(b": 24", b": -1"), "has 24 bytes by its shape"),
        (body.replace(b": 24", b": []"), "has 24 bytes by its shape"),
        (body.replace(b"FP32", b"FP64"), "has 48 bytes by its shape"),
    ):
        status, _, answer = post(app, wrong, headers)
        assert status == 400 and text in json.loads(answer)["error"]
    for length in ("", "-1", "1e2", "９", "x", str(len(body) + 1), "9" * 5000, "1", "00"):
        status, _, answer = post(app, body, {LENGTH: length})
        assert status == 400 and json.loads(answer)["error"]


def test_an_answer_that_json_has_not(app):
    body, headers = as_bytes(("data", X * np.float32("nan"), "FP32"))
    status, _, answer = post(app, body, headers)
    assert status == 400 and "as binary data it is sent" in json.loads(answer)["error"]
    more = {"parameters": {"binary_data_output": True}}
    _, found = good(app, *as_bytes(("data", X * np.float32("nan"), "FP32"), **more))
    assert np.isnan(found["fc_output"]).all()


def test_what_says_that_it_is_huge_takes_no_memory(app):
    """Also where lengths may vary, and nothing but the data limits them."""
    huge = 1 << 40
    tensors = [tensor("words", np.ones((1, 1)), "INT32"), tensor("scale", np.ones((1, 1)))]
    for shape in ([1, huge], [huge, 1], [huge, huge], [1, 0]):
        for form in (
            {"data": [1]},
            {"parameters": {"binary_data_size": 4}},
            {"parameters": {"binary_data_size": 4 * shape[0] * shape[1]}},
        ):
            inputs = [{**tensors[0], "shape": shape, **form}, {**tensors[1], "data": [1]}]
            head = json.dumps({"inputs": inputs}).encode()
            body, headers = (head + b"1234", {LENGTH: str(len(head))})
            if "data" in form:
                body, headers = head, {}
            tracemalloc.start()
            status, _, answer = post(app, body, headers, "/v2/models/several/infer")
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert status == 400 and "'words'" in json.loads(answer)["error"]
            assert most < 1 << 20
