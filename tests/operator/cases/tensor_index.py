"""Cases of the operators that choose, index, order, mask, cast and create."""

import numpy as np

from .case import Case, Input, apart, ints

LOOSE = {"dtypes": ("float32", "float64", "float16", "int32")}
EXACT = {"exact": True, **LOOSE}
ANY = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool")


def index(shape, low, high, dtype="int32"):
    return Input(shape, ints(low, high), dtype)


def clip(x, a_min, a_max):
    return np.minimum(np.maximum(x, x.dtype.type(a_min)), x.dtype.type(a_max))


def choosing():
    yield Case(
        "clip", [Input((3, 4), (-2, 2))], clip, {"a_min": -0.5, "a_max": 1.0}, back=(0,), **LOOSE
    )
    yield Case(
        "hard_sigmoid",
        [Input((3, 4), (-5, 5))],
        lambda x: np.clip(0.2 * x + 0.5, 0, 1),
        back=(0,),
        dtypes=("float32", "float64", "float16"),
    )
    for condition in (
        index((3, 4), 0, 2, "float32"),
        index((3, 4), 0, 2, "bool"),
        index((3, 4), -1, 2, "int64"),
    ):
        yield Case(
            "where",
            [condition, (3, 4), (3, 4)],
            np.where,
            grad=(1, 2),
            back=(1, 2),
            note=condition.dtype,
            **EXACT,
        )
    yield Case(
        "where",
        [index((3,), 0, 2), (3, 4), (3, 4)],
        lambda c, x, y: np.where(c[:, None], x, y),
        grad=(1, 2),
        note="rows",
        **EXACT,
    )
    for n in (1, 2, 4):
        yield Case(
            "add_n",
            [(3, 4)] * n,
            lambda *x, num_args: sum(x),
            {"num_args": n},
            back=tuple(range(n)),
            infers=tuple(range(n)),
            **LOOSE,
        )


def casts():
    for dtype in ANY:
        yield Case(
            "Cast",
            [Input((3, 4), (0, 9))],
            lambda x, dtype: x.astype(dtype),
            {"dtype": dtype},
            grad=dtype == "float64",
            back=(0,),
            dtypes=("float32", "int32", "float64"),
            exact=True,
            reference_grad=None if dtype == "float64" else cast_back,
        )
    yield Case(
        "Cast",
        [Input((3, 4), (-9, 9))],
        lambda x, dtype: x.astype(dtype),
        {"dtype": "float16"},
        reference_grad=cast_back,
        back=(0,),
        dtypes=ANY,
        exact=True,
        note="all sources",
    )
    yield Case(
        "amp_cast",
        [(3, 4)],
        lambda x, dtype: x.astype(dtype),
        {"dtype": "float16"},
        reference_grad=cast_back,
        back=(0,),
        dtypes=("float32", "float16"),
        exact=True,
    )


def cast_back(heads, x, dtype):
    return [heads[0].astype(x.dtype)]


def wrap(i, n, mode):
    i = i.astype("int64")
    return i % n if mode == "wrap" else np.clip(i, 0, n - 1)


def take(a, i, axis=0, mode="clip"):
    return np.take(a, wrap(i, a.shape[axis], mode), axis)


def pick(x, i, axis=-1, keepdims=False, mode="clip"):
    i = np.expand_dims(i, axis) if i.ndim < x.ndim else i
    found = np.take_along_axis(x, wrap(i, x.shape[axis], mode), axis)
    return found if keepdims else found.squeeze(axis)


def one_hot(i, depth, on_value=1.0, off_value=0.0, dtype="float32"):
    return np.where(i.astype("int64")[..., None] == np.arange(depth), on_value, off_value).astype(
        dtype
    )


def scatter_nd(x, i, shape):
    out = np.zeros(shape, x.dtype)
    out[tuple(i.astype("int64"))] = x
    return out


def scatter_add_nd(x, i, shape):
    out = np.zeros(shape, x.dtype)
    np.add.at(out, tuple(i.astype("int64")), x)
    return out


def indexing():
    first = {"grad": (0,), **LOOSE}
    yield Case("take", [(4, 3), index((2, 3), -2, 6, "float32")], take, **first)
    yield Case("take", [(4, 3), index((5,), -5, 9)], take, {"mode": "wrap"}, **first)
    yield Case(
        "take", [(2, 4, 3), index((2, 2), 0, 4)], take, {"axis": 1, "mode": "raise"}, **first
    )
    yield Case("take", [(2, 4), index((3,), 0, 4)], take, {"axis": -1}, **first)
    yield Case("pick", [(3, 4), index((3,), -1, 6)], pick, **first)
    yield Case(
        "pick",
        [(3, 4, 2), index((3, 1, 2), -3, 6)],
        pick,
        {"axis": 1, "keepdims": True, "mode": "wrap"},
        **first,
    )
    yield Case("pick", [(3, 4), index((4,), 0, 3, "float32")], pick, {"axis": 0}, **first)
    yield Case("batch_take", [(3, 4), index((3,), -1, 6)], pick, **first)
    yield Case(
        "one_hot", [index((2, 3), -1, 5, "float32")], one_hot, {"depth": 4}, grad=False, back=(0,)
    )
    yield Case(
        "one_hot",
        [index((3,), 0, 3, "int64")],
        one_hot,
        {"depth": 3, "on_value": 5.0, "off_value": -1.0, "dtype": "int32"},
        grad=False,
    )
    yield Case("gather_nd", [(3, 4), index((2, 5), 0, 3)], lambda x, i: x[tuple(i)], **first)
    yield Case("gather_nd", [(3, 4, 2), index((1, 2, 2), 0, 3)], lambda x, i: x[tuple(i)], **first)
    places = Input((2, 3), np.array([[0, 2, 1], [1, 0, 3]]), "int32")
    yield Case("scatter_nd", [(3,), places], scatter_nd, {"shape": (3, 4)}, **first)
    rows = Input((1, 2), np.array([[2, 0]]), "int64")
    yield Case("scatter_nd", [(2, 4), rows], scatter_nd, {"shape": (3, 4)}, **first)
    twice = Input((1, 4), np.array([[2, 0, 2, -1]]), "int64")
    yield Case("_backward_gather_nd", [(4, 3), twice], scatter_add_nd, {"shape": (3, 3)}, **first)


def assign(x, y, begin, end, step=()):
    x = x.copy()
    x[tuple(slice(*each) for each in zip(begin, end, step or (None,) * len(begin)))] = y
    return x


def assigning():
    for part, params in [
        ((2, 2), {"begin": (0, 1), "end": (2, 3)}),
        ((2, 4), {"begin": (0, None), "end": (None, None), "step": (2, -1)}),
    ]:
        yield Case("_slice_assign", [(3, 4), part], assign, params, infers=(1,), **EXACT)
        yield Case(
            "_slice_assign_scalar",
            [(3, 4)],
            lambda x, scalar, **p: assign(x, scalar, **p),
            {"scalar": 5.0, **params},
            **EXACT,
        )


def order(x, ascending, axis):
    found = np.argsort(x if ascending else -x, axis=axis, kind="stable")
    return found


def topk(x, k=1, axis=-1, ret_typ="indices", is_ascend=False, dtype="float32"):
    if axis is None and ret_typ != "mask":
        x, axis = x.reshape(-1), 0
    flat = x.reshape(-1) if axis is None else x
    at = order(flat, is_ascend, axis or 0 if axis is None else axis)
    at = np.take(
        at, range(k or flat.shape[-1 if axis is None else axis]), 0 if axis is None else axis
    )
    if ret_typ == "mask":
        out = np.zeros_like(flat)
        np.put_along_axis(out, at, 1, 0 if axis is None else axis)
        return out.reshape(x.shape)
    values = np.take_along_axis(flat, at, axis)
    outs = {"value": (values,), "indices": (at,), "both": (values, at)}
    return outs[ret_typ]


def sort(x, axis=-1, is_ascend=True):
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return np.sort(x, axis) if is_ascend else np.flip(np.sort(x, axis), axis)


def argsort(x, axis=-1, is_ascend=True, dtype="float32"):
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return order(x, is_ascend, axis).astype(dtype)


def ordering():
    x = Input((3, 5), apart)
    for params in (
        {"k": 2},
        {"k": 3, "axis": 0, "is_ascend": True},
        {"k": 4, "axis": None},
        {"k": 0},
    ):
        for kind in ("indices", "value", "both", "mask"):
            grad = {"value": True, "both": (0,)}.get(kind, False)
            more = {} if kind != "both" else {"grad": False, "reference_grad": both_grad}
            yield Case(
                "topk", [x], topk, {**params, "ret_typ": kind}, **{"grad": grad, **more}, exact=True
            )
    for axis in (-1, 0, None):
        for ascending in (True, False):
            params = {"axis": axis, "is_ascend": ascending}
            yield Case(
                "sort", [x], sort, params, exact=True, dtypes=("float32", "float64", "float16")
            )
            yield Case("argsort", [x], argsort, params, grad=False, exact=True)
    ties = Input((2, 6), ints(0, 3))
    yield Case(
        "argsort",
        [ties],
        argsort,
        {"dtype": "int32"},
        grad=False,
        exact=True,
        note="ties",
        dtypes=("float32", "float64", "int32", "uint8"),
    )


def both_grad(heads, x, k=1, axis=-1, is_ascend=False, ret_typ="both"):
    """The gradient of the values alone: positions have none."""
    flat, at_axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    at = np.take(order(flat, is_ascend, at_axis), range(k or flat.shape[at_axis]), at_axis)
    grad = np.zeros_like(flat)
    np.put_along_axis(grad, at, heads[0], at_axis)
    return [grad.reshape(x.shape)]


def scans():
    for axis in (None, 0, 1, -1):
        yield Case(
            "_np_cumsum", [(3, 4, 2)], lambda a, axis: np.cumsum(a, axis), {"axis": axis}, **LOOSE
        )
    yield Case(
        "Pad",
        [(2, 1, 3, 4)],
        pad,
        {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 2, 0, 3), "constant_value": 2.5},
        dtypes=("float32", "float64", "float16"),
    )
    for mode in ("edge", "reflect"):
        yield Case(
            "Pad",
            [(2, 2, 3, 4)],
            pad,
            {"mode": mode, "pad_width": (0, 0, 0, 0, 1, 2, 3, 0)},
            **LOOSE,
        )
        yield Case(
            "Pad",
            [(1, 2, 2, 3, 2)],
            pad,
            {"mode": mode, "pad_width": (0, 0, 0, 0, 1, 1, 2, 0, 0, 1)},
            **LOOSE,
        )
    for k in (0, 1, -2):
        yield Case("diag", [(3,)], lambda x, k: np.diag(x, k), {"k": k}, **EXACT)
        yield Case("diag", [(4, 5)], lambda x, k: np.diag(x, k), {"k": k}, note="matrix", **EXACT)
    yield Case(
        "diag",
        [(2, 3, 4)],
        lambda x, axis1, axis2: np.diagonal(x, 0, axis1, axis2),
        {"axis1": 1, "axis2": 2},
        **EXACT,
    )
    yield Case(
        "diag",
        [(2, 3)],
        lambda x, axis1, axis2: np.diagonal(x, 0, axis1, axis2),
        {"axis1": 1, "axis2": 0},
        **EXACT,
    )


def pad(x, mode, pad_width, constant_value=0.0):
    widths = list(zip(pad_width[::2], pad_width[1::2]))
    more = {"constant_values": constant_value} if mode == "constant" else {}
    return np.pad(x, widths, mode, **more)


def sequence(kind):
    def reference(x, length=None, use_sequence_length=False, value=0.0, axis=0):
        x = np.moveaxis(x, axis, 0).copy()
        length = np.full(x.shape[1], len(x)) if length is None else length.astype(int)
        if kind == "last":
            return x[length - 1, np.arange(x.shape[1])]
        for b, n in enumerate(length):
            if kind == "mask":
                x[n:, b] = value
            else:
                x[:n, b] = x[:n, b][::-1].copy()
        return np.moveaxis(x, 0, axis)

    return reference


def sequences():
    length = {"use_sequence_length": True}
    for op, kind in (
        ("SequenceMask", "mask"),
        ("SequenceLast", "last"),
        ("SequenceReverse", "reverse"),
    ):
        back = () if kind == "last" else (0,)
        yield Case(op, [(4, 3, 2)], sequence(kind), back=back, **EXACT)
        yield Case(
            op,
            [(4, 3, 2), index((3,), 1, 5, "float32")],
            sequence(kind),
            length,
            grad=(0,),
            infers=(1,),
            **EXACT,
        )
        if kind != "reverse":
            yield Case(
                op,
                [(3, 4), index((3,), 1, 5)],
                sequence(kind),
                {**length, "axis": 1},
                grad=(0,),
                **EXACT,
            )
    yield Case(
        "SequenceMask",
        [(4, 3), index((3,), 0, 5)],
        sequence("mask"),
        {**length, "value": -1.0},
        grad=(0,),
        **EXACT,
    )


def creation():
    none = {"grad": False, "dtypes": ("float32",)}
    for op, value in (("_zeros", 0), ("_ones", 1)):
        for dtype in ANY:
            yield Case(
                op,
                [],
                lambda shape, dtype, v=value: np.full(shape, v, dtype),
                {"shape": (2, 3), "dtype": dtype},
                exact=True,
                **none,
            )
    yield Case(
        "_full",
        [],
        lambda shape, value, dtype: np.full(shape, value, dtype),
        {"shape": (2, 300), "value": 7.5, "dtype": "float16"},
        exact=True,
        **none,
    )
    yield Case(
        "_zeros_without_dtype",
        [],
        lambda shape: np.zeros(shape),
        {"shape": (2, 3)},
        exact=True,
        **none,
    )
    for params, wanted in [
        ({"start": 3}, [0, 1, 2]),
        ({"start": 2, "stop": 6, "step": 1.5}, [2, 3.5, 5]),
        ({"start": 5, "stop": 0, "step": -2, "dtype": "int32"}, [5, 3, 1]),
        ({"start": 0, "stop": 3, "repeat": 2}, [0, 0, 1, 1, 2, 2]),
    ]:
        yield Case(
            "_arange", [], lambda w=wanted, **params: np.array(w), params, exact=True, **none
        )
    yield Case("_arange", [], lambda **params: np.arange(2000), {"start": 2000}, exact=True, **none)
    yield Case(
        "_linspace",
        [],
        lambda start, stop, num: np.linspace(start, stop, num),
        {"start": 0.0, "stop": 1.0, "num": 5},
        **none,
    )
    yield Case(
        "_linspace",
        [],
        lambda start, stop, num, endpoint: np.linspace(start, stop, num, endpoint),
        {"start": 1.0, "stop": 2.0, "num": 4, "endpoint": False},
        **none,
    )
    for params in ({"N": 3}, {"N": 2, "M": 4, "k": 1}, {"N": 30, "M": 40, "k": -2}):
        yield Case("_eye", [], lambda N, M=0, k=0: np.eye(N, M or N, k), params, exact=True, **none)
    yield Case(
        "_contrib_arange_like",
        [(2, 3)],
        lambda x: np.arange(x.size).reshape(x.shape),
        grad=False,
        exact=True,
    )
    yield Case(
        "_contrib_arange_like",
        [(2, 3)],
        lambda x, axis, start, step: start + step * np.arange(x.shape[1]),
        {"axis": 1, "start": 1.0, "step": 0.5},
        grad=False,
        exact=True,
    )
    yield Case("shape_array", [(2, 3)], lambda x: np.array(x.shape), grad=False, exact=True)
    yield Case("size_array", [(2, 3)], lambda x: np.array([x.size]), grad=False, exact=True)


CASES = [
    *choosing(),
    *casts(),
    *indexing(),
    *assigning(),
    *ordering(),
    *scans(),
    *sequences(),
    *creation(),
]
