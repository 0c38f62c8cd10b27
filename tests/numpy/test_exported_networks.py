"""Networks that MXNet 1.9.1 exported under set_np run here, and so do ours when they come back."""

import importlib.util

import numpy as np
import pytest

import cynet as mx
from tests.numpy.test_named_operators import FIXTURES

_spec = importlib.util.spec_from_file_location("make_networks", FIXTURES / "make_networks.py")
MADE = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(MADE)
HELD = np.load(FIXTURES / "networks.npz")
SHAPES = {name: shape for name, (_, shape) in MADE.blocks_of(mx).items()}


@pytest.fixture(autouse=True)
def semantics():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def listed(out):
    return list(out) if isinstance(out, (list, tuple)) else [out]


def files_of(name, folder):
    paths = [folder / f"{name}-{end}" for end in ("symbol.json", "0000.params")]
    for path in paths:
        path.write_bytes(HELD[f"{name} {path.name.partition('-')[2]}"].tobytes())
    return [str(path) for path in paths]


def compare(found, name):
    expected = [HELD[key] for key in sorted(HELD) if key.startswith(f"{name} output")]
    for a, b in zip(listed(found)[: len(expected)], expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.asnumpy(), b, 2e-5, 2e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_a_network_of_mxnet(name, tmp_path):
    symbols, params = files_of(name, tmp_path)
    x = mx.np.array(MADE.input_of(name, SHAPES[name]))
    given, names = [x], ["data"]
    if name == "recurrent":  # MXNet's export has the states, too
        given += [mx.np.zeros((2, 2, 4)), mx.np.zeros((2, 2, 4))]
        names = ["data0", "data1", "data2"]
    net = mx.gluon.SymbolBlock.imports(symbols, names, params)
    out = net(*given)
    assert {type(each) for each in listed(out)} == {mx.np.ndarray}
    compare(out, name)
    for each in net.collect_params().values():
        assert type(each.data()) is mx.np.ndarray
    with mx.autograd.record():
        total = sum((each * each).sum() for each in listed(net(*given)))
    total.backward()
    grads = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
    assert any(abs(grad).sum() > 0 for grad in grads)


@pytest.mark.parametrize("name", ["mixed", "heads", "convolutions"])  # whose first axes are batches
def test_a_network_of_mxnet_is_served(name, tmp_path):
    files_of(name, tmp_path)
    x = MADE.input_of(name, SHAPES[name])
    with mx.Predictor(str(tmp_path / name), shapes={"data": SHAPES[name][1:]}) as predictor:
        compare([mx.np.array(each) for each in listed(predictor(x))], name)


@pytest.mark.parametrize("name", ["mixed", "convolutions"])
def test_a_network_of_mxnet_is_bound(name, tmp_path):
    """As Module and C programs of MXNet's predict API do."""
    symbols, params = files_of(name, tmp_path)
    symbol, arrays = mx.sym.load(symbols), mx.nd.load(params)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=SHAPES[name])
    args = {key[4:]: value for key, value in arrays.items() if key.startswith("arg:")}
    states = {key[4:]: value for key, value in arrays.items() if key.startswith("aux:")}
    executor.copy_params_from(args, states)
    x = mx.nd.array(MADE.input_of(name, SHAPES[name]))
    compare(executor.forward(data=x), name)


@pytest.mark.parametrize("name", SHAPES)
def test_what_the_files_hold_is_what_our_block_takes(name, tmp_path):
    """The same Block here, with MXNet's parameters; its export comes back."""
    _, params = files_of(name, tmp_path)
    net, shape = MADE.blocks_of(mx)[name]
    x = mx.np.array(MADE.input_of(name, shape))
    net.initialize()
    net(x)
    net.load_parameters(params)
    compare(net(x), name)
    net.hybridize()
    compare(net(x), name)
    net.export(str(tmp_path / "ours"))
    paths = [str(tmp_path / f"ours-{end}") for end in ("symbol.json", "0000.params")]
    again = mx.gluon.SymbolBlock.imports(paths[0], ["data"], paths[1])
    compare(again(x), name)
