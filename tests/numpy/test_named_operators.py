"""Graphs with the operators of MXNet's NumPy face: those that MXNet 1.9.1 wrote give its values."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import CynetError, NotFoundError
from cynet.operator.numpy.named import find_operator
from cynet.operator.numpy.named_rows import ROWS as NAMED

FIXTURES = Path(__file__).parents[1] / "fixtures" / "numpy"
ROWS = json.loads((FIXTURES / "symbols.json").read_text())


@pytest.fixture(autouse=True)
def semantics():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def array_of(said):
    return np.array(said["values"], said["dtype"]).reshape(said["shape"])


def bound(symbol, row):
    given = {
        name: mx.np.array(array_of(said), dtype=said["dtype"]).as_nd_ndarray()
        for name, said in row["inputs"].items()
    }
    return symbol.bind(mx.cpu(), given).forward()[0]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_graph_of_mxnet(row):
    symbol, expected = mx.sym.load_json(row["graph"]), array_of(row["out"])
    for each in (symbol, mx.sym.load_json(symbol.tojson())):
        found = bound(each, row)
        assert found.shape == expected.shape
        np.testing.assert_allclose(
            found.asnumpy().astype("float64"), expected.astype("float64"), 2e-5, 1e-6
        )
    shapes = {name: tuple(said["shape"]) for name, said in row["inputs"].items()}
    assert symbol.infer_shape(**shapes)[1] == [expected.shape]
    assert (
        found.dtype
        == symbol.infer_type(**{name: said["dtype"] for name, said in row["inputs"].items()})[1][0]
    )


NAMES = (FIXTURES / "operators.txt").read_text().split()
# Nodes of gradients, which no file has; readers of images and what writes at places.
MISSING = {
    "_npi_backward_ediff1d",
    "_npi_backward_nan_to_num",
    "_npi_backward_polyval",
    "_npi_hsplit_backward",
    "_npi_cvimdecode",
    "_npi_cvimread",
    "_npi_cvimresize",
    "_npi_scatter_set_nd",
}


def test_which_names_load():
    missing = set()
    for name in NAMES:
        try:
            find_operator(name)
        except NotFoundError:
            missing.add(name)
    assert missing == MISSING and len(NAMES) == 287


def test_every_name_is_one_of_mxnet():
    assert set(NAMED) - {"_np_call"} <= set(NAMES)


def json_of(operator, params, count):
    nodes = [{"op": "null", "name": f"x{i}", "inputs": []} for i in range(count)]
    last = {"op": operator, "name": "y", "inputs": [[i, 0, 0] for i in range(count)]}
    nodes.append({**last, "attrs": params})
    return json.dumps(
        {
            "nodes": nodes,
            "arg_nodes": [*range(count)],
            "heads": [[count, 0, 0]],
            "attrs": {"mxnet_version": ["int", 10901]},
        }
    )


X = np.arange(12, dtype="float32").reshape(3, 4)
MORE = [
    ("_npi_delete", {"int_ind": "1", "axis": "1"}, [X], np.delete(X, 1, 1)),
    ("_npi_delete", {"start": "0", "stop": "4", "step": "2", "axis": "1"}, [X], X[:, 1::2]),
    ("_npi_delete", {"int_ind": "5", "axis": "None"}, [X], np.delete(X, 5)),
    (
        "_npi_insert_slice",
        {"start": "0", "stop": "2", "val": "9.0", "axis": "0"},
        [X],
        np.insert(X, slice(0, 2), 9, 0),
    ),
    (
        "_npi_insert_scalar",
        {"int_ind": "-1", "val": "9.0", "axis": "None"},
        [X],
        np.insert(X, -1, 9),
    ),
    ("_npi_diag_indices_from", {}, [X[:, :3]], np.stack(np.diag_indices(3))),
    (
        "_npi_boolean_mask_assign_scalar",
        {"value": "7.0"},
        [X, X[:, 0] > 3],
        np.where((X[:, :1] > 3), 7, X),
    ),
    (
        "_npi_pad",
        {"pad_width": "((1, 2), (0, 1))", "mode": "maximum"},
        [X],
        np.pad(X, ((1, 2), (0, 1)), "maximum"),
    ),
    (
        "_npi_pad",
        {"pad_width": "((2, 2), (3, 1))", "mode": "symmetric"},
        [X],
        np.pad(X, ((2, 2), (3, 1)), "symmetric"),
    ),
    (
        "_npi_pad",
        {"pad_width": "((1, 0), (0, 1))", "mode": "constant", "constant_values": "2.5"},
        [X],
        np.pad(X, ((1, 0), (0, 1)), constant_values=2.5),
    ),
    ("_npi_rnn_param_concat", {"dim": "0", "num_args": "2"}, [X[0], X[1]], X[:2].ravel()),
    (
        "_npi_dsplit",
        {"indices": "[0, 1]", "sections": "0"},
        [X.reshape(1, 3, 4)],
        X.reshape(1, 3, 4)[:, :, :1],
    ),
    ("_npi_shuffle", {}, [X[:1]], X[:1]),
]


@pytest.mark.parametrize("case", MORE, ids=lambda case: case[0])
def test_more_operators(case):
    name, params, inputs, expected = case
    symbol = mx.sym.load_json(json_of(name, params, len(inputs)))
    given = [mx.np.array(each, dtype=each.dtype).as_nd_ndarray() for each in inputs]
    found = symbol.bind(mx.cpu(), given).forward()[0].asnumpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected)


def test_gradients_go_through():
    symbol = mx.sym.load_json(json_of("_npi_tensordot_int_axes", {"axes": "1"}, 2))
    a, b = mx.nd.array(X), mx.nd.array(X.T)
    grads = [mx.nd.zeros(a.shape), mx.nd.zeros(b.shape)]
    executor = symbol.bind(mx.cpu(), [a, b], grads)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 3)))
    np.testing.assert_allclose(grads[0].asnumpy(), np.ones((3, 3)) @ X)
    np.testing.assert_allclose(grads[1].asnumpy(), X.T @ np.ones((3, 3)))


@pytest.mark.parametrize("name", ["_npi_normal", "_npi_uniform", "_npi_gumbel"])
def test_random_numbers_are_new_each_time(name):
    executor = mx.sym.load_json(json_of(name, {"size": "(100,)"}, 0)).bind(mx.cpu(), [])
    first = executor.forward()[0].asnumpy()
    assert first.shape == (100,) and first.std() > 0.1
    assert (executor.forward()[0].asnumpy() != first).any()


def test_what_needs_values_says_so():
    symbol = mx.sym.load_json(json_of("_npi_unique", {}, 1))
    with pytest.raises(CynetError, match="_npi_unique"):
        symbol.bind(mx.cpu(), [mx.nd.ones(3)])
    with pytest.raises(CynetError, match="node 1 .*_npi_uniqe"):
        mx.sym.load_json(json_of("_npi_uniqe", {}, 1))
