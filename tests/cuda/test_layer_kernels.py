"""The kernels of layers in cynet/cuda/kernels/, run by the emulator, against the CPU operators."""

import ctypes

import numpy as np
import pytest
from cynet.operator.cuda.pooling import Window

import cynet as mx
from tests.cuda.running import DOUBLE, DTYPES, INT, LONG, close, kernel, types_of


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
            run = kernel("pooling", f"pool_grad<{name}>")
            y = want.astype(dtype)
            run.launch([g, x, y, dx, window, INT(add)], 3, 64, threads=2)
            close(dx, grads["x"] + add, dtype, 5e-3 if dtype == "float16" else None)


@pytest.mark.parametrize("shape", [(6, 5), (4, 3, 5, 5)])
@pytest.mark.parametrize("block", [32, 128])
def test_batch_norm(shape, block, rng):
    channels, inner = shape[1], int(np.prod(shape[2:]))
    for name in types_of("normalization", "channel_moments"):
        dtype, inside = DTYPES[name], wide(DTYPES[name])
        x, g = ((2 * rng.standard_normal(shape) + 1).astype(dtype) for _ in range(2))
        gamma, beta = rng.uniform(0.5, 2, (2, channels)).astype(inside)
        symbol = mx.sym.BatchNorm(mx.sym.var("x"), fix_gamma=False, eps=1e-3, name="bn")
        arrays = {"x": x.astype(inside), "bn_gamma": gamma, "bn_beta": beta,
                  "bn_moving_mean": 0 * gamma, "bn_moving_var": 0 * gamma + 1}  # fmt: skip
        want, grads = operator(symbol, arrays, g.astype(inside))
        mean, variance, dgamma, dbeta = np.zeros((4, channels), inside)
        sizes = [LONG(shape[0]), LONG(channels), LONG(inner)]
        kernel("normalization", f"channel_moments<{name}>").launch(
            [x, mean, variance, *sizes], 2, block
        )
        axes = (0, *range(2, len(shape)))
        close(mean, x.astype("d").mean(axes), inside)
        close(variance, x.astype("d").var(axes), inside)
        for add in (0, 1):
            out, dx = np.ones(shape, dtype), np.ones(shape, dtype)
            kernel("normalization", f"channel_normalize<{name}>").launch(
                [x, mean, variance, gamma, beta, out, LONG(x.size), *sizes[1:], DOUBLE(1e-3),
                 INT(add)], 2, block,
            )  # fmt: skip
            close(out, want + add, dtype, 1e-2 if dtype == "float16" else 1e-4)
            kernel("normalization", f"channel_normalize_grad<{name}>").launch(
                [g, x, mean, variance, gamma, dx, dgamma, dbeta, *sizes, DOUBLE(1e-3), INT(add)],
                2, block,
            )  # fmt: skip
            close(dx, grads["x"] + add, dtype, 1e-2 if dtype == "float16" else 1e-4)
        close(dgamma, grads["bn_gamma"], inside, 1e-4)
        close(dbeta, grads["bn_beta"], inside, 1e-4)


class Patches(ctypes.Structure):
    names = ("height", "width", "out_height", "out_width", "kernel_h", "kernel_w", "stride_h",
             "stride_w", "pad_h", "pad_w", "dilate_h", "dilate_w")  # fmt: skip
    _fields_ = [("channels", LONG), *((name, INT) for name in names)]


@pytest.mark.parametrize("size, stride, pad, dilate", [
    ((3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 2), (2, 1), (0, 1), (1, 2)),
    ((1, 1), (2, 2), (0, 0), (1, 1)),
])  # fmt: skip
def test_convolution(size, stride, pad, dilate, rng):
    """The two kernels with a matrix product between them are Convolution and its gradients."""
    for name in types_of("convolution", "image_to_columns"):
        dtype, inside = DTYPES[name], wide(DTYPES[name])
        x = rng.standard_normal((1, 3, 8, 7)).astype(dtype)
        weight = rng.standard_normal((4, 3, *size)).astype(dtype)
        symbol = mx.sym.Convolution(
            mx.sym.var("x"), mx.sym.var("w"), kernel=size, stride=stride, pad=pad, dilate=dilate,
            num_filter=4, no_bias=True,
        )  # fmt: skip
        shape = symbol.infer_shape(x=x.shape)[1][0]
        g = rng.standard_normal(shape).astype(dtype)
        arrays = {"x": x.astype(inside), "w": weight.astype(inside)}
        want, grads = operator(symbol, arrays, g.astype(inside))
        patches = Patches(3, 8, 7, *shape[2:], *size, *stride, *pad, *dilate)
        columns = np.ones((3 * size[0] * size[1], shape[2] * shape[3]), dtype)
        kernel("convolution", f"image_to_columns<{name}>").launch([x, columns, patches], 3, 64)
        matrix, errors = weight.reshape(4, -1).astype("d"), g.reshape(4, -1).astype("d")
        close(matrix @ columns, want.reshape(4, -1), dtype)
        close(errors @ columns.T.astype("d"), grads["w"].reshape(4, -1), dtype)
        back = (matrix.T @ errors).astype(dtype)
        for add in (0, 1):
            dx = np.ones_like(x)
            run = kernel("convolution", f"columns_to_image<{name}>")
            run.launch([back, dx, patches, INT(add)], 2, 64)
            close(dx, grads["x"] + add, dtype, 1e-2 if dtype == "float16" else 1e-4)
