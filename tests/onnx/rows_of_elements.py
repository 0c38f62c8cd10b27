"""Nodes whose results are elements of the inputs, or functions of them: rows of the walk over
importers."""

from itertools import product

import numpy as np

from tests.onnx.import_row import K, M, Row, ints, one, rng, whole
from tests.onnx.test_import_values import T3, X, f, helper, i


def elementwise():
    """Old versions: inputs of one dtype; the second one's axes stand at `axis` of the first."""
    for word, make in (
        ("Add", np.add),
        ("Sub", np.subtract),
        ("Mul", np.multiply),
        ("Div", np.divide),
    ):
        for axis, b in (
            (0, f(1, 2)),
            (1, f(1, 2, 3)),
            (-1, f(1, 2, 3, 4)),
            (None, f(1, 2, 3, 4)),
            (1, M),
            (None, M),
            (0, T3[:, :, 0].copy()),
        ):
            at = 3 - b.ndim if axis is None else axis % 3
            wide = b.reshape(*b.shape, *[1] * (3 - at - b.ndim))
            more = {} if axis is None else {"axis": axis}
            yield Row(word, T3, b, opset=6, broadcast=1, want=[make(T3, wide)], **more)
        yield Row(word, T3, T3, opset=1, consumed_inputs=[0, 0], want=[make(T3, T3)])
        plain = {"Add": "_plus_scalar", "Sub": "_minus_scalar"}.get(word, f"_{word.lower()}_scalar")
        for scalar in (one(3.0), K(3.0), K(np.array([[3.0]], "float32"))):
            yield Row(word, M, scalar, has=plain)
        reflected = {
            "Add": "_plus_scalar",
            "Sub": "_rminus_scalar",
            "Mul": "_mul_scalar",
            "Div": "_rdiv_scalar",
        }[word]
        yield Row(word, one(3.0), M, has=reflected)
        yield Row(word, K(3.0), M, has=reflected)
        yield Row(word, K(np.array([[[3.0]]], "float32")), M)
        yield Row(word, whole(3, 4), one(3, "int32"))
    yield Row("Add", M, M, has="elemwise_add", opset=14)
    yield Row(
        "Greater",
        T3,
        f(1, 0, 1),
        opset=6,
        broadcast=1,
        axis=1,
        want=[np.greater(T3, f(1, 0, 1)[:, None])],
    )
    yield Row(
        "Pow",
        np.abs(T3),
        f(1, 0, 2),
        opset=6,
        broadcast=1,
        axis=1,
        want=[np.abs(T3) ** f(1, 0, 2)[:, None]],
    )
    base = rng(5, low=0.5, high=3)
    for a, b in product(("float32", "float64", "int32", "int64"), repeat=2):
        yield Row("Pow", (base * 3).astype(a), (base[::-1]).astype(b))
        yield Row("Pow", (base * 3).astype(a), one(2, b))
    for a, b in (
        ("float16", "float32"),
        ("float32", "float16"),
        ("float16", "float64"),
        ("float16", "int64"),
        ("float16", "float16"),
    ):
        x, y = base.astype(a), i(3, 2, 1, 0, 2).astype(b)
        yield Row("Pow", x, y, rtol=1e-3, want=[np.power(x.astype("f8"), y.astype("f8")).astype(a)])
    big = i(3, 94906265, 7)
    yield Row("Pow", big, f(3, 2, 1), want=[i(27, 94906265**2, 7)])
    yield Row("Pow", big, i(3, 1, 2), want=[i(27, 94906265, 49)], rtol=1e-12)
    yield Row("Mod", f(5, -5, 5.5, np.inf, 3), f(0, 3, np.inf, 2, -2), fmod=1)
    yield Row("Mod", f(5, -5, 5.5, 3), f(3, 3, -3, -np.inf), want=[f(2, 1, -0.5, -np.inf)])
    yield Row("Mod", T3, f(0.3, -0.7, 0, 1), fmod=1)
    yield Row("Mod", f(0.3, -0.7, 0, 1), np.abs(T3), fmod=1)
    odd = f(np.nan, np.inf, -np.inf, 1, 0)
    for above, below in product((None, 0, 1), repeat=2):
        told = {"detect_positive": above, "detect_negative": below}
        yield Row("IsInf", odd, **{k: v for k, v in told.items() if v is not None})
    yield Row("IsNaN", odd)
    yield Row("Not", np.array([True, False]))
    for word, make in (("Max", np.maximum), ("Min", np.minimum), ("Sum", np.add), ("Mean", np.add)):
        for inputs in ([T3], [T3, M], [M, T3, f(1, -1, 0, 2)], [T3, K(1.0), T3[:1]]):
            yield Row(word, *inputs)
        scale = 2 if word == "Mean" else 1
        yield Row(
            word,
            T3,
            T3[::-1].copy(),
            opset=1,
            consumed_inputs=[0, 0],
            want=[make(T3, T3[::-1]) / np.float32(scale)],
        )
        if word in ("Max", "Min"):
            yield Row(word, whole(3), whole(3, seed=1))


def functions():
    """With what is left out, and with another value."""
    for word in ("Elu", "LeakyRelu", "ThresholdedRelu", "Celu"):
        yield Row(word, X)
        yield Row(word, X, alpha=0.7)
    yield Row("Softplus", X)
    yield Row("HardSigmoid", X * 3)
    yield Row("HardSigmoid", X * 3, alpha=0.4, beta=0.3)
    yield Row(
        "HardSigmoid", X * 3, opset=1, consumed_inputs=[0], want=[np.clip(X * 3 * 0.2 + 0.5, 0, 1)]
    )
    yield Row("HardSwish", X * 3, opset=14)
    for opset, alpha, gamma in ((13, 1.673263192, 1.050701022), (1, 1.6732, 1.0507)):
        y = X.astype("float64")
        wanted = gamma * np.where(y > 0, y, alpha * np.expm1(y))
        yield Row("Selu", X, opset=opset, want=[wanted.astype("float32")], rtol=2e-6)
    yield Row("Elu", X, opset=1, consumed_inputs=[0], want=[np.where(X > 0, X, np.expm1(X))])
    yield Row("Relu", X, opset=1, consumed_inputs=[0], want=[np.maximum(X, 0)])
    yield Row("Shrink", X)
    yield Row("Shrink", X, bias=0.3)
    yield Row("Shrink", X, lambd=0.2)
    for how in (None, "none", "tanh"):
        yield Row("Gelu", X, opset=20, **({} if how is None else {"approximate": how}))
    slopes = f(0.1, 0.2, 0.3)
    up = np.maximum(T3, 0)
    down = np.minimum(T3, 0)
    yield Row("PRelu", T3, K(slopes), opset=6, want=[up + down * slopes[:, None]], has="LeakyReLU")
    yield Row("PRelu", T3, K(0.25), opset=6, want=[up + down * 0.25], has="LeakyReLU")
    yield Row("PRelu", T3, K(0.25), opset=1, consumed_inputs=[0], want=[up + down * 0.25])
    two = T3[0].T.copy()
    yield Row(
        "PRelu",
        two,
        K(slopes),
        opset=6,
        has="LeakyReLU",
        want=[np.maximum(two, 0) + np.minimum(two, 0) * slopes],
    )
    yield Row("PRelu", two, K(slopes), has="LeakyReLU")
    yield Row("PRelu", T3, K(slopes.reshape(3, 1)), has="LeakyReLU")
    yield Row("PRelu", T3, K(slopes.reshape(1, 3, 1)), has="LeakyReLU")
    yield Row("PRelu", T3, K(0.5), has="LeakyReLU")
    yield Row("PRelu", T3, one(0.5), has="LeakyReLU")
    yield Row("PRelu", T3, K(f(0.1, 0.2).reshape(2, 1, 1)), has="relu")
    yield Row("PRelu", T3, slopes.reshape(3, 1))
    yield Row("PRelu", T3[0, 0], f(0.1, 0.2, 0.3, 0.4))
    yield Row("PRelu", T3[0, 0], K(0.1, 0.2, 0.3, 0.4))


def casts():
    names = ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "bool")
    x = f(0, 1, 2.75, 100)
    for a, b in product(names, repeat=2):
        to = helper.np_dtype_to_tensor_dtype(np.dtype(b))
        yield Row("Cast", x.astype(a), to=to)
    yield Row("Cast", x, opset=19, saturate=0, to=7, want=[i(0, 1, 2, 100)])
    yield Row("CastLike", x, i(1), opset=15)
    yield Row("CastLike", i(1, 2), K(1.0), opset=15)
    for dtype in ("float32", "float64", "float16"):
        y = f(-np.inf, -3, -1, 0, 1, 3, np.inf).astype(dtype)
        low, high = (one(v, dtype) for v in (-1.5, 2))
        for inputs in ((y,), (y, low), (y, None, high), (y, low, high), (y, high, low)):
            yield Row("Clip", *inputs)
        yield Row("Clip", y, low, high, has="clip")
        yield Row("Clip", y, high, low, has="_maximum_scalar _minimum_scalar")
    y = f(-3, -1, 0, 1, 3)
    for told, want in (
        ({}, y),
        ({"min": -2.0}, f(-2, -1, 0, 1, 3)),
        ({"max": 2.0}, f(-3, -1, 0, 1, 2)),
        ({"min": -2.0, "max": 2.0}, f(-2, -1, 0, 1, 2)),
    ):
        yield Row("Clip", y, opset=6, want=[want], has="clip", **told)
        yield Row("Clip", y, opset=1, want=[want], consumed_inputs=[0], **told)
    for dtype, low, high in (
        ("int32", -3, 2),
        ("int64", 2**40 + 1, 2**40 + 3),
        ("int8", -3, 100),
        ("uint8", 3, 200),
        ("int32", 2**24, 2**24 + 1),
        ("int32", 5, 2),
    ):
        y = (whole(6, low=0, high=7, dtype="int64") + low - 2).astype(dtype)
        low, high = one(low, dtype), one(high, dtype)
        for inputs in ((y,), (y, low), (y, None, high), (y, low, high)):
            yield Row("Clip", *inputs)
    yield Row("Clip", T3, one(-0.5), one(0.5))
    yield Row("Where", K(np.array([True, False, True, True])), T3, M)
    yield Row("Where", T3 > 0, T3, T3[::-1].copy())
    yield Row("Where", M > 0, T3, one(3.0))
    yield Row("Where", T3 > 0, whole(4, dtype="int64"), whole(3, 1, dtype="int64"))
    yield Row("Where", f(1, 0) > 0, K(np.array([[np.nan], [2.0]], "float32")), f(1, np.inf))


def places():
    x = rng(3, 4, 5)
    for axis in (None, 0, 1, -1):
        more = {} if axis is None else {"axis": axis}
        for index in (
            one(0, "int64"),
            one(-1, "int64"),
            one(-2, "int64"),
            one(2, "int32"),
            ints(0, -1, 2),
            K(i(0, -1, 2, 1).reshape(2, 2)),
            ints(-3),
            np.array(1),
            i(0, -2),
            ints(-2, 0),
        ):
            yield Row("Gather", x, index, **more)
    for index in (one(-1, "int64"), one(1, "int64"), ints(-1, 0), np.array(-2)):
        yield Row("Gather", f(5, 6, 7), index)
    for axis in (None, 0, 1, -1):
        more = {} if axis is None else {"axis": axis}
        index = whole(2, 3, 2, low=-3, high=3, dtype="int64")
        values = rng(2, 3, 2, seed=3)
        for at in (index, K(index)):
            yield Row("GatherElements", x, at, **more)
        for kind, opset in (("ScatterElements", 13), ("ScatterElements", 18), ("Scatter", 10)):
            at = {-1: i(-2, -1), 1: i(0, -1, 2).reshape(3, 1)}.get(axis, i(0, 1).reshape(2, 1, 1))
            at = np.broadcast_to(np.abs(at) if kind == "Scatter" else at, (2, 3, 2)).copy()
            yield Row(kind, x, at, values, opset=opset, **more)
            yield Row(kind, x, K(at), values, opset=opset, **more)
    yield Row("GatherElements", f(5, 6, 7), i(-1, 0, 0, 2))
    yield Row("ScatterElements", f(5, 6, 7), i(-1, 0), f(1, 2))
    for batch in (None, 0, 1, 2):
        more = {} if batch is None else {"batch_dims": batch}
        shapes = {
            None: [(1,), (2,), (3,), (2, 2), (2, 3, 1), (2, 1, 3)],
            0: [(2, 2)],
            1: [(3, 1), (3, 2), (3, 2, 1)],
            2: [(3, 4, 1), (3, 4, 2, 1)],
        }[batch]
        for shape in shapes:
            at = whole(*shape, low=-3, high=3, dtype="int64")
            yield Row("GatherND", x, at, **more)
            yield Row("GatherND", x, K(at), **more)
    yield Row("GatherND", f(5, 6, 7), ints(-1))
    yield Row("GatherND", f(5, 6, 7), i(1, 2).reshape(2, 1))
    for at in (
        i(1),
        i(-1, 2),
        i(-1, 2, 3),
        i(1, -1).reshape(2, 1),
        i(0, 1, 2, -1).reshape(2, 2),
        i(0, 1, 2, 2, -1, 0).reshape(1, 2, 3),
    ):
        values = rng(*at.shape[:-1], *x.shape[at.shape[-1] :], seed=5)
        for index in (at, K(at)):
            yield Row("ScatterND", x, index, values)
            yield Row("ScatterND", x, index, values, opset=16, reduction="none")
    for axis, largest in product((None, 0, 1), (None, 0, 1)):
        told = {"axis": axis, "largest": largest, "sorted": 1}
        more = {k: v for k, v in told.items() if v is not None}
        yield Row("TopK", x, ints(2), outputs=2, **more)
    top = np.sort(x, -1)[..., ::-1][..., :2]
    yield Row("TopK", x, k=2, opset=9, outputs=2, want=[top, np.argsort(-x, -1)[..., :2]])
    for axis in (None, 0, 1, -1, -2, 2):
        more = {} if axis is None else {"axis": axis}
        index = whole(2, 3, low=-5, high=6, dtype="int64")
        for values in (K(2.0, 5.0), f(2, 5), ints(7, 8)):
            yield Row("OneHot", index, one(4, "int64"), values, **more)
        yield Row("OneHot", f(1, 0, 3).reshape(1, 3), K(4.0), K(0.0, 1.0), **more)
    yield Row("OneHot", i(1, 3), ints(4), K(0.0, 1.0))
    for at in (2, -1):
        yield Row("OneHot", np.array(at), ints(4), K(0.0, 1.0), want=[np.eye(4, dtype="f")[at]])
    lengths = i(1, 3, 2, 2)
    for time, batch in ((0, 1), (None, None)):
        told = {"time_axis": time, "batch_axis": batch}
        yield Row("ReverseSequence", x, lengths, **{k: v for k, v in told.items() if v is not None})
    yield Row("ReverseSequence", x, lengths[:3], time_axis=1, batch_axis=0)
    yield Row("ReverseSequence", x[..., 0].copy(), K(lengths[:3]), time_axis=1, batch_axis=0)
