"""examples/cuda_kernel: its layers against NumPy, its training, its README."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests import scripts

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "examples" / "cuda_kernel"


@pytest.fixture(scope="module")
def layers():
    spec = importlib.util.spec_from_file_location("layers", FOLDER / "layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(layer, shapes, values, grad, checked, monkeypatch):
    """Outputs and input gradients of a layer bound alone."""
    monkeypatch.setenv("CYNET_CHECK_KERNELS", str(int(checked)))
    symbol = layer(**{n: mx.sym.var(n) for n in shapes}, name="layer")
    executor = symbol.simple_bind(mx.cpu(), grad_req="write", **shapes)
    for name, value in values.items():
        executor.arg_dict[name][:] = value
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward(mx.nd.array(grad))
    return out, {n: g.asnumpy() for n, g in executor.grad_dict.items()}


@pytest.mark.parametrize("checked", [False, True])
def test_softmax(layers, rng, checked, monkeypatch):
    x, label = rng.standard_normal((150, 7)).astype("f"), rng.integers(0, 7, 150)
    shapes, values = {"data": x.shape, "label": (150,)}, {"data": x, "label": label}
    out, grads = run(layers.Softmax(), shapes, values, 0 * x, checked, monkeypatch)
    want = np.exp(x - x.max(1, keepdims=True))
    want /= want.sum(1, keepdims=True)
    np.testing.assert_allclose(out, want, rtol=1e-5)
    np.testing.assert_allclose(grads["data"], want - np.eye(7)[label], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("stride, shape", [(2, (3, 5, 8, 6)), (3, (2, 1, 6, 9))])
def test_reorganise(layers, rng, stride, shape, checked, monkeypatch):
    x = rng.standard_normal(shape).astype("f")
    n, c, h, w = shape
    squares = x.reshape(n, c, h // stride, stride, w // stride, stride)
    want = squares.transpose(0, 1, 3, 5, 2, 4).reshape(n, -1, h // stride, w // stride)
    grad = rng.standard_normal(want.shape).astype("f")
    out, grads = run(
        layers.Reorganise(stride), {"data": shape}, {"data": x}, grad, checked, monkeypatch
    )
    np.testing.assert_array_equal(out, want)
    back = grad.reshape(n, c, stride, stride, h // stride, w // stride)
    np.testing.assert_array_equal(grads["data"], back.transpose(0, 1, 4, 2, 5, 3).reshape(shape))


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("shape", [(4, 3, 5, 5), (10, 6)])
def test_bias_swish(layers, rng, shape, checked, monkeypatch):
    x, bias = rng.standard_normal(shape), rng.standard_normal(shape[1])
    grad = rng.standard_normal(shape)
    out, grads = run(
        layers.BiasSwish(),
        {"data": shape, "bias": (shape[1],)},
        {"data": x, "bias": bias},
        grad,
        checked,
        monkeypatch,
    )
    z = x + bias.reshape(-1, *(1,) * (len(shape) - 2))
    s = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(out, z * s, rtol=1e-4, atol=1e-6)
    dx = grad * (s + z * s * (1 - s))
    np.testing.assert_allclose(grads["data"], dx, rtol=1e-4, atol=1e-5)
    axes = tuple(i for i in range(len(shape)) if i != 1)
    np.testing.assert_allclose(grads["bias"], dx.sum(axes), rtol=1e-4, atol=1e-4)


def script(tmp_path, *args, fails=False):
    done = scripts.run(
        FOLDER / "train.py",
        "--dataset",
        "digits",
        *args,
        cwd=tmp_path,
        CYNET_DATA_DIR=str(tmp_path),
    )
    assert (done.returncode != 0) == fails, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.mark.parametrize("softmax", ["kernel", "built-in"])
def test_training(tmp_path, softmax):
    output = script(
        tmp_path, "--num-epochs", 3, "--batch-size", 50, "--disp-batches", 10, "--softmax", softmax
    )
    assert re.search(r"Speed: [\d.]+ samples/sec", output)
    assert "predicted (359, 10), rows add up to 1.0000" in output
    assert float(re.search(r"validation accuracy: ([\d.]+) %", output)[1]) > 85


def test_without_a_gpu(tmp_path):
    output = script(tmp_path, "--gpus", 0, fails=True)
    assert "mx.gpu() needs" in output.strip().splitlines()[-1]


def test_readme(tmp_path):
    code = re.search(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.S)[1]
    (tmp_path / "of_readme.py").write_text(
        f"import warnings\nwarnings.simplefilter('error')\n{code}"
    )
    done = scripts.run(tmp_path / "of_readme.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[-0.1  2.  -0.3]" in done.stdout and "[ 4.  -0.5  6. ]" in done.stdout
