"""A face of a test's own: an array class, NumPy's promotion, masks of bool, the shape ()."""

import numpy as np
import pytest
from cynet._core.face import Face, legacy_face
from cynet.ndarray._arithmetic import OpSlot, set_operators
from cynet.ndarray._call import invoke
from cynet.ndarray._indexing import from_host

import cynet as mx
from cynet._ndarray import with_face
from cynet.base.dtype import dtype_flag
from cynet.operator import get_operator
from cynet.operator.functions.numpy_rows import BINARIES, operators_of

TOY = Face("toy")


class ToyArray(mx.nd.NDArray):
    """An array of the toy face."""

    __slots__ = ()

    def sum(self, axis=None):
        return invoke(get_operator("_np_sum"), (self,), {} if axis is None else {"axis": axis})

    def mean(self, axis=None):
        return invoke(get_operator("_npi_mean"), (self,), {} if axis is None else {"axis": axis})


TOY.set_array_class(ToyArray)
NAMES = {"true_divide": "divide", "mod": "modulo", "less": "lesser", "less_equal": "lesser_equal"}
set_operators(
    TOY,
    {NAMES.get(name, name): OpSlot(TOY, name, *operators_of(name)) for name, *_ in BINARIES},
    {"negative": "negative", "abs": "abs"},
)


def toy(values, dtype=None):
    values = np.asarray(values, dtype)
    return from_host(values, dtype_flag(values.dtype), 1, 0, TOY)


DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")
# NumPy's, with float32 for float64 where that comes of integers, and without int16
EXACT = {"float64": ("float32", "float64", "float16"), "int16": ("int32",)}


def same(found, expected):
    assert type(found) is ToyArray and found.shape == expected.shape
    allowed = (expected.dtype.name, *EXACT.get(expected.dtype.name, ()))
    if expected.dtype == np.float32:
        allowed += ("float16",)
    assert np.dtype(found.dtype).name in allowed
    rtol = 2e-3 if found.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(
        found.asnumpy().astype("float64"), expected.astype("float64"), rtol, rtol
    )


@pytest.mark.parametrize("sign", ["+", "*", "/", "<", ">=", "==", "!="])
@pytest.mark.parametrize("left", DTYPES)
def test_two_dtypes(sign, left, rng):
    run = eval(f"lambda a, b: a {sign} b")
    for right in DTYPES:
        for shapes in (((3, 4), (3, 4)), ((3, 1), (4,)), ((), (5,)), ((1500,), (1500,))):
            a, b = (
                np.asarray(rng.integers(0, 4, s)).astype(t) for s, t in zip(shapes, (left, right))
            )
            b = np.asarray(b + b.dtype.type(1)).astype(right)
            same(run(toy(a), toy(b)), np.asarray(run(a, b)))


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_python_numbers_are_weak(dtype):
    a = np.array([1, 2, 3], dtype)
    same(toy(a) + 2, a + 2)
    same(2 - toy(a), np.asarray(2 - a.astype("int64")).astype(dtype))
    same(toy(a) * 1.5, np.asarray(a * 1.5))
    same(1.5 / toy(a), np.asarray(1.5 / a))
    same(toy(a) > 1.5, a > 1.5)
    same(toy(a) <= 2, a <= 2)


def test_reductions_are_wider_and_have_no_axes():
    for dtype in ("int8", "uint8", "bool", "int32", "float32"):
        a = np.array([[100, 27], [1, 100]]).astype(dtype)
        same(toy(a).sum(), np.asarray(a.sum(dtype="int64" if dtype != "float32" else None)))
        same(toy(a).mean(1), a.mean(1))
    assert toy([1.0]).sum().shape == ()


def test_masks_and_items():
    a = np.arange(6.0, dtype="float32").reshape(2, 3)
    x = toy(a)
    for found, expected in (
        (x[x > 2], a[a > 2]),
        (x[0], a[0]),
        (x[0, 1], a[0, 1]),
        (x[:, 1], a[:, 1]),
    ):
        same(found, np.asarray(expected))
    x[x > 2] = 7
    assert x.asnumpy().max() == 7
    assert mx.nd.array(a)[0, 1].shape == (1,)


def test_gradients_are_of_the_face():
    x, w = toy([[1.0, 2.0], [3.0, 4.0]], "float32"), toy([2.0, 3.0], "float64")
    for each in (x, w):
        each.attach_grad()
    with mx.autograd.record():
        y = ((x * w + x[0]) / 2).mean() + x[x > 2].sum()
    y.backward()
    assert type(x.grad) is ToyArray and type(w.grad) is ToyArray
    assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(x.grad.asnumpy(), [[0.5, 0.625], [1.25, 1.375]])
    np.testing.assert_allclose(w.grad.asnumpy(), [0.5, 0.75])
    grads = mx.autograd.grad
    with mx.autograd.record():
        y = (x * x * x).sum()
        (first,) = grads(y, [x], create_graph=True)
        z = first.sum()
    z.backward()
    assert type(first) is ToyArray
    np.testing.assert_allclose(x.grad.asnumpy(), 6 * x.asnumpy(), rtol=1e-6)


def test_a_hybridized_block_gives_arrays_of_the_face():
    class Scaled(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.tanh(x) * 2 + x

    net = Scaled()
    x = toy([[1.0, 2.0]], "float32")
    plain = net(x)
    net.hybridize()
    found = net(x)
    assert type(plain) is type(found) is ToyArray
    np.testing.assert_allclose(found.asnumpy(), plain.asnumpy(), rtol=1e-6)


def test_faces_do_not_mix():
    x, y = toy([1.0, 2.0]), mx.nd.array([1, 2])
    for run in (lambda: x + y, lambda: y + x, lambda: x > y):
        with pytest.raises(TypeError, match="as_nd_ndarray"):
            run()
    shared = with_face(y, TOY)
    shared += 1
    assert y.asnumpy().tolist() == [2, 3] and type(with_face(x, legacy_face)) is mx.nd.NDArray


def test_what_is_no_class_is_refused():
    with pytest.raises(TypeError, match="is a class"):
        Face("none").set_array_class("ToyArray")
    assert repr(TOY) == "<Face toy>" and TOY.no_axes == () and legacy_face.no_axes == (1,)
