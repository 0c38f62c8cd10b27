"""Graphs of mx.sym.np as ONNX files: onnxruntime gives the values of MXNet 1.9.1."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import UndefinedError
from tests.numpy.test_exported_networks import HELD, MADE, SHAPES, files_of
from tests.numpy.test_named_operators import ROWS, array_of

runtime = pytest.importorskip("onnxruntime")


@pytest.fixture(autouse=True)
def semantics():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def run(path, inputs):
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = {each.name for each in session.get_inputs()}
    return session.run(None, {k: v for k, v in inputs.items() if k in names})


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "recurrent"])
def test_a_network_of_mxnet(name, tmp_path):
    symbols, params = files_of(name, tmp_path)
    path = str(tmp_path / "net.onnx")
    mx.onnx.export_model(symbols, params, [SHAPES[name]], np.float32, path)
    found = run(path, {"data": MADE.input_of(name, SHAPES[name])})
    expected = [HELD[key] for key in sorted(HELD) if key.startswith(f"{name} output")]
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


REFUSED = {
    "cumsum",
    "sort",
    "around",
    "inv",
    "det",
    "slogdet",
    "cholesky",
    "eigvalsh",
    "mod",
    "hypot",
    "arctan2",
    "ldexp",
    "copysign",
    "bitwise_and",
    "lcm",
    "logical_not",
    "any",
    "all",
    "gammaln",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_graph(row, tmp_path):
    path, inputs = str(tmp_path / "net.onnx"), {}
    for name, said in row["inputs"].items():
        inputs[name] = array_of(said)
    symbol = mx.sym.load_json(row["graph"])
    order = [name for name in symbol.list_arguments() if name in inputs]
    shapes, kinds = [inputs[n].shape for n in order], [inputs[n].dtype for n in order]
    if row["name"] in REFUSED:
        with pytest.raises(UndefinedError, match="has no form in ONNX here"):
            mx.onnx.export_model(symbol, {}, shapes, kinds, path)
        return
    mx.onnx.export_model(symbol, {}, shapes, kinds, path)
    (found,), expected = run(path, inputs), array_of(row["out"])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.astype("f8"), expected.astype("f8"), 1e-4, 1e-5)


PAIRS = ["add", "subtract", "multiply", "true_divide", "maximum", "greater", "equal"]


@pytest.mark.parametrize("name", PAIRS)
def test_operands_of_two_dtypes(name, tmp_path):
    """Both in what NumPy promotes them to, whichever comes first."""
    x, y = np.array([[1, -2, 3]], "int32"), np.array([[0.5], [-2]], "float32")
    for a, b in ((x, y), (y, x), (x, x), (y, y)):
        symbol = getattr(mx.sym.np, name)(
            mx.sym.var("a").as_np_ndarray(), mx.sym.var("b").as_np_ndarray()
        )
        path = str(tmp_path / "net.onnx")
        mx.onnx.export_model(symbol, {}, [a.shape, b.shape], [a.dtype, b.dtype], path)
        (found,) = run(path, {"a": a, "b": b})
        np.testing.assert_allclose(np.float64(found), np.float64(getattr(np, name)(a, b)), 1e-6)
        if name in ("greater", "equal"):
            assert found.dtype == bool
