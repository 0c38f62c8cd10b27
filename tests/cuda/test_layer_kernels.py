"""The kernels of layers in cynet/cuda/kernels/, run by the emulator, against the CPU operators."""

import numpy as np
import pytest

import cynet as mx
from cynet.operator.cuda.pooling import Window
from tests.cuda.running import DTYPES, INT, close, kernel, types_of


def wide(dtype):
    """What the CPU operator of a layer computes in: they take no float16."""
    return "float32" if dtype == "float16" else dtype


def operator(symbol, arrays, grad=None):
    """Output and input gradients of a symbol in training, on NumPy arrays of one dtype."""
    nd = {n: mx.nd.array(a, dtype=a.dtype.name) for n, a in arrays.items()}
    given = {n: a for n, a in nd.items() if n not in symbol.list_auxiliary_states()}
    aux = {n: a for n, a in nd.items() if n not in given}
    grads = {n: a.zeros_like() for n, a in given.items()}
    executor = symbol.bind(mx.cpu(), given, grads, "write", aux)
    out = executor.forward(is_train=True)[0].asnumpy()
    if grad is not None:
        executor.backward([mx.nd.array(grad, dtype=grad.dtype.name)])
    return out, {n: g.asnumpy() for n, g in grads.items()}


POOLS = [  # kernel, stride, pad, convention
    ((2, 2), (2, 2), (0, 0), "valid"),
    ((3, 2), (2, 1), (1, 0), "valid"),
    ((3, 3), (2, 2), (1, 1), "full"),
]


@pytest.mark.parametrize("size, stride, pad, convention", POOLS)
@pytest.mark.parametrize("kind", ["max", "avg", "sum", "avg without pad", "lp"])
def test_pooling(kind, size, stride, pad, convention, rng):
    include = kind != "avg without pad"
    for name in types_of("pooling", "pool"):
        dtype = DTYPES[name]
        x = rng.permutation(2 * 3 * 7 * 6).reshape(2, 3, 7, 6).astype(dtype) / 64
        x = x.astype(dtype)  # no two alike
        pool_type = kind.split()[0]
        symbol = mx.sym.Pooling(
            mx.sym.var("x"), kernel=size, stride=stride, pad=pad, pool_type=pool_type,
            pooling_convention=convention, count_include_pad=include, p_value=2,
        )  # fmt: skip
        shape = symbol.infer_shape(x=x.shape)[1][0]
        g = rng.standard_normal(shape).astype(dtype)
        want, grads = operator(symbol, {"x": x.astype(wide(dtype))}, g.astype(wide(dtype)))
        axes = [(7, 6), shape[2:], size, stride, pad, pad]
        fill = [1, 1, 1, 1, 0, 0]
        axes = [(INT * 3)(f, *a) for a, f in zip(axes, fill)]
        window = Window(6, ["max", "avg", "sum", "lp"].index(pool_type), 2, include, *axes)
        for add in (0, 1):
            out, dx = np.ones(shape, dtype), np.ones_like(x)
            kernel("pooling", f"pool<{name}>").launch([x, out, window, INT(add)], 2, 64)
            close(out, want + add, dtype)
            y, places = want.astype(dtype), np.full(shape, -7, "i")
            kernel("pooling", f"pool_places<{name}>").launch([x, places, window], 2, 64)
            run = kernel("pooling", f"pool_grad<{name}>")
            run.launch([g, x, y, places, dx, window, INT(add)], 3, 64, threads=2)
            close(dx, grads["x"] + add, dtype, 5e-3 if dtype == "float16" else None)
