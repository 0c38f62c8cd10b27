"""Cases of the operators that move elements: reshaping, axes, slices, joining, repeating."""

import numpy as np

from .case import Case

EXACT = {"exact": True, "dtypes": ("float32", "float64", "float16", "int32")}
ALL = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool")


def to(*shape):
    return lambda x, **params: x.reshape(shape)


def reshapes():
    for shape, params, out in [
        ((2, 3, 4), {"shape": (4, 6)}, (4, 6)),
        ((2, 3, 4), {"shape": (0, -1)}, (2, 12)),
        ((2, 3, 4), {"shape": (-2, 1)}, (2, 3, 4, 1)),
        ((2, 3, 4), {"shape": (-3, 0)}, (6, 4)),
        ((2, 3, 4), {"shape": (0, -4, -1, 3, 0)}, (2, 1, 3, 4)),
        ((10, 5, 4), {"shape": (-1, 0), "reverse": True}, (50, 4)),
        ((2, 3, 4), {"target_shape": (0, 12)}, (2, 12)),
        ((2, 3, 4), {"target_shape": (7, 0), "keep_highest": True}, (2, 12)),
    ]:
        yield Case("Reshape", [shape], to(*out), params, **EXACT)
    yield Case("expand_dims", [(2, 3)], to(2, 1, 3), {"axis": 1}, back=(0,), **EXACT)
    yield Case("expand_dims", [(2, 3)], to(2, 3, 1), {"axis": -1}, back=(0,), **EXACT)
    yield Case("squeeze", [(1, 2, 1, 3)], to(2, 3), **EXACT)
    yield Case("squeeze", [(1, 2, 1, 3)], to(1, 2, 3), {"axis": 2}, **EXACT)
    yield Case("squeeze", [(1, 1)], to(1), note="(1,1)", **EXACT)
    like = {"grad": (0,), **EXACT}
    yield Case("reshape_like", [(2, 6), (3, 4)], lambda x, y: x.reshape(y.shape), **like)
    yield Case(
        "reshape_like",
        [(6, 7), (3, 2, 4)],
        lambda x, y, **p: x.reshape(3, 2, 7),
        {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2},
        **like,
    )


def depth_to_space(x, block_size):
    n, c, h, w = x.shape
    b = block_size
    y = x.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    return y.reshape(n, c // b**2, h * b, w * b)


def space_to_depth(x, block_size):
    n, c, h, w = x.shape
    b = block_size
    y = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return y.reshape(n, c * b * b, h // b, w // b)


def moves():
    yield Case("transpose", [(3, 4)], np.transpose, back=(0,), exact=True, dtypes=ALL)
    yield Case("transpose", [(2, 3, 4)], np.transpose, {"axes": (1, 2, 0)}, back=(0,), **EXACT)
    yield Case(
        "transpose",
        [(20, 3, 35)],
        np.transpose,
        {"axes": (2, 1, 0)},
        back=(0,),
        note="blocks",
        grad=False,
        reference_grad=lambda heads, x, axes: [heads[0].transpose(2, 1, 0)],
        **EXACT,
    )
    yield Case(
        "SwapAxis",
        [(2, 3, 4)],
        lambda x, dim1, dim2: x.swapaxes(dim1, dim2),
        {"dim1": 0, "dim2": 2},
        back=(0,),
        **EXACT,
    )
    yield Case(
        "reverse", [(2, 3, 4)], lambda x, axis: np.flip(x, axis), {"axis": 1}, back=(0,), **EXACT
    )
    yield Case(
        "reverse",
        [(2, 3, 4)],
        lambda x, axis: np.flip(x, axis),
        {"axis": (0, 2)},
        back=(0,),
        **EXACT,
    )
    yield Case("depth_to_space", [(2, 8, 2, 3)], depth_to_space, {"block_size": 2}, **EXACT)
    yield Case("space_to_depth", [(2, 2, 4, 6)], space_to_depth, {"block_size": 2}, **EXACT)


def cut(x, begin, end, step=None):
    step = step or (None,) * len(begin)
    return x[tuple(slice(*each) for each in zip(begin, end, step))]


def like(x, y, axes=None):
    axes = range(x.ndim) if axes is None else axes
    return x[tuple(slice(y.shape[i]) if i in axes else slice(None) for i in range(x.ndim))]


def slices():
    for params in [
        {"begin": (1, None), "end": (3, 2)},
        {"begin": (-3,), "end": (None,)},
        {"begin": (None, 4), "end": (None, 0), "step": (-1, -2)},
        {"begin": (0, 1), "end": (9, -1), "step": (2, None)},
    ]:
        yield Case("slice", [(4, 5, 2)], cut, params, **EXACT)
    yield Case("slice", [(4, 5)], cut, {"begin": (None,), "end": (None,)}, note="whole", **EXACT)
    for begin, end in ((1, 3), (-3, None), (0, -2)):
        yield Case(
            "slice_axis",
            [(2, 5, 3)],
            lambda x, axis, begin, end: x[:, begin:end],
            {"axis": 1, "begin": begin, "end": end},
            **EXACT,
        )
    yield Case("slice_like", [(4, 5), (2, 3)], like, grad=(0,), **EXACT)
    yield Case("slice_like", [(4, 5, 6), (2, 3)], like, {"axes": (0, 1)}, grad=(0,), **EXACT)


def joins():
    def concat(*arrays, num_args, dim=1):
        return np.concatenate(arrays, dim)

    def stack(*arrays, num_args, axis=0):
        return np.stack(arrays, axis)

    def split(x, num_outputs, axis=1, squeeze_axis=False):
        parts = np.split(x, num_outputs, axis)
        return tuple(p.squeeze(axis) for p in parts) if squeeze_axis else tuple(parts)

    yield Case("Concat", [(2, 3), (2, 4), (2, 1)], concat, {"num_args": 3}, **EXACT)
    yield Case("Concat", [(2, 3, 2), (4, 3, 2)], concat, {"num_args": 2, "dim": 0}, **EXACT)
    yield Case("Concat", [(2, 3, 2), (2, 3, 5)], concat, {"num_args": 2, "dim": -1}, **EXACT)
    yield Case("Concat", [(2, 3)], concat, {"num_args": 1}, **EXACT)
    yield Case("stack", [(2, 3), (2, 3)], stack, {"num_args": 2}, back=(0, 1), infers=(1,), **EXACT)
    yield Case("stack", [(2, 3), (2, 3)], stack, {"num_args": 2, "axis": -1}, back=(0, 1), **EXACT)
    yield Case("SliceChannel", [(2, 6, 2)], split, {"num_outputs": 3}, back=(0,), **EXACT)
    yield Case(
        "SliceChannel",
        [(2, 3)],
        split,
        {"num_outputs": 3, "squeeze_axis": True},
        back=(0,),
        **EXACT,
    )
    yield Case("SliceChannel", [(4, 3)], split, {"num_outputs": 2, "axis": -2}, back=(0,), **EXACT)
    yield Case("SliceChannel", [(4, 3)], split, {"num_outputs": 1}, back=(0,), **EXACT)
    yield Case(
        "_split_v2",
        [(2, 6)],
        lambda x, **p: tuple(np.split(x, [1, 4], 1)),
        {"indices": (0, 1, 4), "axis": 1},
        **EXACT,
    )
    yield Case(
        "_split_v2",
        [(2, 3)],
        lambda x, **p: tuple(x.T),
        {"sections": 3, "squeeze_axis": True},
        **EXACT,
    )


def repeats():
    loose = {"dtypes": ("float32", "float64", "float16", "int32")}
    yield Case("tile", [(2, 3)], np.tile, {"reps": (2, 3)}, **loose)
    yield Case("tile", [(2, 3)], np.tile, {"reps": (2, 1, 3)}, **loose)
    yield Case("tile", [(2, 3)], np.tile, {"reps": 2}, **loose)
    yield Case(
        "repeat", [(2, 3)], lambda x, repeats: np.repeat(x, repeats), {"repeats": 2}, **loose
    )
    yield Case("repeat", [(2, 3, 2)], np.repeat, {"repeats": 3, "axis": 1}, **loose)
    yield Case(
        "broadcast_to",
        [(1, 3, 1)],
        lambda x, shape: np.broadcast_to(x, (2, 3, 4)),
        {"shape": (2, 0, 4)},
        **loose,
    )
    yield Case(
        "broadcast_axis",
        [(1, 3, 1)],
        lambda x, axis, size: np.broadcast_to(x, (2, 3, 4)),
        {"axis": (0, 2), "size": (2, 4)},
        **loose,
    )
    yield Case(
        "broadcast_axis",
        [(1, 3)],
        lambda x, axis, size: np.broadcast_to(x, (5, 3)),
        {"axis": 0, "size": 5},
        **loose,
    )
    yield Case(
        "broadcast_like",
        [(1, 3), (2, 3)],
        lambda x, y: np.broadcast_to(x, y.shape),
        grad=(0,),
        **loose,
    )
    yield Case(
        "broadcast_like",
        [(1, 2), (5, 2, 9)],
        lambda x, y, **p: np.broadcast_to(x, (y.shape[2], x.shape[1])),
        {"lhs_axes": (0,), "rhs_axes": (2,)},
        grad=(0,),
        **loose,
    )


CASES = [*reshapes(), *moves(), *slices(), *joins(), *repeats()]
