"""Reductions, shapes, parts and sizes: rows of the walk over importers."""

from itertools import product

import numpy as np

from tests.onnx.import_row import K, M, Row, ints, one, rng, whole
from tests.onnx.test_import_values import T3, f


def reductions():
    words = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")
    for word in words:
        x = np.abs(T3) + 0.1 if word == "LogSum" else T3
        for axes, keep in ((None, None), (None, 0), ([-1], None), ([1, 2], 0), ([0, 1, 2], 0)):
            more = {} if keep is None else {"keepdims": keep}
            yield Row(f"Reduce{word}", x, opset=11, **more, **({"axes": axes} if axes else {}))
            if axes:
                yield Row(f"Reduce{word}", x, ints(*axes), opset=18, **more)
        for nothing in (0, 1):
            yield Row(f"Reduce{word}", x, opset=18, noop_with_empty_axes=nothing, keepdims=0)
        yield Row(f"Reduce{word}", x, ints(), opset=18, noop_with_empty_axes=1)
    for word in ("Sum", "Max", "Min", "Prod", "Mean"):
        yield Row(f"Reduce{word}", whole(3, 4), ints(1), opset=18)
    for word, dtype in product(("Max", "Min"), ("int8", "uint8")):
        yield Row(f"Reduce{word}", whole(3, 4, low=0, high=120, dtype=dtype), ints(1), opset=18)
    yield Row("ReduceMax", T3 > 0, ints(1), opset=20)
    yield Row("ReduceLogSumExp", f(np.inf, 1, -np.inf, -np.inf, 500, 501).reshape(3, 2), axes=[1])
    ties = whole(3, 4, 5, low=0, high=3, dtype="float32")
    for word, axis, keep, last in product(
        ("Max", "Min"), (None, 0, 1, -1), (None, 0), (None, 0, 1)
    ):
        told = {"axis": axis, "keepdims": keep, "select_last_index": last}
        yield Row(f"Arg{word}", ties, **{k: v for k, v in told.items() if v is not None})
    for dtype in ("int32", "uint8", "int8", "float64"):
        yield Row("ArgMax", ties.astype(dtype), axis=1)
    for axis in (0, 1, -1, -2, 2):
        yield Row("CumSum", T3, one(axis, "int32"))
        yield Row("CumSum", T3, ints(axis), exclusive=1)
        yield Row("CumSum", T3, ints(axis), reverse=1)
        yield Row("CumSum", T3, one(axis, "int64"), reverse=1, exclusive=1)
        yield Row("Hardmax", ties, axis=axis)
    yield Row("Hardmax", ties)
    yield Row("Hardmax", f(1, 3, 3, 2))
    yield Row("Hardmax", ties, opset=11, axis=2)
    yield Row("Hardmax", ties[0], opset=11)
    zeros = np.where(ties == 2, 0, ties)
    zeros[0] = 0
    for axis, p in product((None, 0, 1, -1), (None, 1, 2)):
        told = {"axis": axis, "p": p}
        yield Row("LpNormalization", zeros, **{k: v for k, v in told.items() if v is not None})


def shapes():
    x = rng(2, 3, 4)
    for shape in ((4, 6), (-1,), (0, -1), (0, 0, 2, 2), (1, 24), (24,)):
        yield Row("Reshape", x, ints(*shape))
    yield Row("Reshape", x, ints(4, 6), allowzero=1, opset=14)
    yield Row("Reshape", x, ints(0, 12), allowzero=0, opset=14)
    yield Row("Reshape", K(3.0), ints())
    yield Row("Reshape", f(3), ints())
    yield Row("Reshape", x, opset=1, shape=[6, 4], consumed_inputs=[0], want=[x.reshape(6, 4)])
    for y in (x, x[0].copy(), f(1, 2)):
        for axis in (None, *range(-y.ndim, y.ndim + 1)):
            yield Row("Flatten", y, **({} if axis is None else {"axis": axis}))
    yield Row("Transpose", x)
    yield Row("Transpose", x, perm=[1, 2, 0])
    yield Row("Transpose", f(1, 2), perm=[0])
    y = rng(1, 3, 1, 2)
    for axes in (None, [0], [2], [-2], [0, 2], [-4, 2]):
        yield Row("Squeeze", y, opset=11, **({"axes": axes} if axes else {}))
        yield Row("Squeeze", y, *([ints(*axes)] if axes else []))
    yield Row("Squeeze", y, ints(), want=[y])
    for shape, axes in (
        ((1,), None),
        ((1, 1), None),
        ((1, 1), [0]),
        ((1, 1), [0, -1]),
        ((1,), [0]),
    ):
        yield Row("Squeeze", rng(*shape), *([] if axes is None else [ints(*axes)]))
    for axes in ([0], [-1], [1, 3], [4, 0], [-5, 2], [3, -5]):
        yield Row("Unsqueeze", x, ints(*axes))
        yield Row("Unsqueeze", x, opset=11, axes=axes)
    yield Row("Unsqueeze", np.array(3.0, "float32"), ints(0))
    yield Row("Unsqueeze", np.array(3.0, "float32"), ints(0, 1))
    none = np.zeros((2, 0, 4), "float32")
    for axis in (0, 1, 2, -1, -3):
        yield Row("Concat", x, x[::-1].copy(), x, axis=axis)
    yield Row("Concat", x, K(x[:, :1]), axis=1)
    yield Row("Concat", x, axis=0)
    yield Row("Concat", x, x, opset=1, want=[np.concatenate([x, x], 1)])
    yield Row("Concat", x, K(none), axis=1)
    yield Row("Concat", x, K(none), x, axis=1)
    y = rng(6, 7)
    for axis, parts in ((None, [2, 4]), (0, [1, 2, 3]), (1, [3, 4]), (-1, [1, 1, 5]), (0, [3, 3])):
        more = {} if axis is None else {"axis": axis}
        yield Row("Split", y, ints(*parts), outputs=len(parts), **more)
        yield Row("Split", y, opset=11, split=parts, outputs=len(parts), **more)
    for axis, count in ((None, 2), (0, 3), (1, 7), (0, 1)):
        more = {} if axis is None else {"axis": axis}
        yield Row("Split", y, outputs=count, **more)
        yield Row("Split", y, outputs=count, num_outputs=count, opset=18, **more)
    for axis, count in ((1, 2), (1, 3)):
        yield Row("Split", y, outputs=count, num_outputs=count, opset=18, axis=axis, lengths=True)


def parts():
    x = rng(4, 5, 6)
    for begin, end, more in (
        ((1,), (3,), ()),
        ((1, 2), (3, 5), ()),
        ((0, 0, 1), (4, 5, 6), ()),
        ((-2,), (4,), ((0,),)),
        ((-2,), (100,), ((1,),)),
        ((1,), (-1,), ((-1,),)),
        ((0,), (6,), ((2,), (2,))),
        ((1,), (6,), ((2,), (3,))),
        ((5,), (0,), ((2,), (-1,))),
        ((-1,), (-7,), ((2,), (-1,))),
        ((-1,), (-(2**63) + 1,), ((2,), (-1,))),
        ((2**63 - 1,), (-(2**63) + 1,), ((1,), (-1,))),
        ((-1,), (-100,), ((1,), (-2,))),
        ((0, 3), (2, 0), ((2, 1), (1, -1))),
        ((1, 0), (4, 6), ((0, 2), (2, 3))),
        ((0,), (2**63 - 1,), ((1,),)),
        ((-(2**63) + 1,), (2,), ((1,),)),
        ((0,), (2,), ((0,), (1,))),
        ((1,), (2**31 - 1,), ((0,),)),
        ((0, 0), (4, 5), ((0, 1),)),
        ((-5,), (2,), ((1,),)),
        ((0,), (4,), ((0,), (2,))),
        ((3,), (-3,), ((1,), (-2,))),
    ):
        yield Row("Slice", x, *(ints(*v) for v in (begin, end, *more)))
    yield Row("Slice", x, opset=9, starts=[1, 0], ends=[3, 2], want=[x[1:3, :2]])
    yield Row("Slice", x, opset=9, starts=[1, 0], ends=[3, 2], axes=[2, 0], want=[x[:2, :, 1:3]])
    for rank in (1, 3, 4, 5):
        y = rng(*(3, 4, 5, 2, 3)[:rank], seed=rank)
        pads = [1, 2, 0, 1, 1][:rank] + [0, 1, 2, 0, 1][:rank]
        inner = [0] * min(rank, 2) + [1, 2, 1][: max(rank - 2, 0)]
        for mode in (None, "constant", "edge", "reflect"):
            more = {} if mode is None else {"mode": mode}
            yield Row("Pad", y, ints(*pads), **more)
            if mode != "reflect":
                has = "Pad" if rank > 3 else ""
                yield Row("Pad", y, ints(*inner, *[0] * rank), has=has, **more)
        yield Row("Pad", y, ints(*pads), mode="wrap", opset=19)
        yield Row("Pad", y, ints(*pads), one(2.5))
        yield Row("Pad", y, ints(*inner, *inner), one(2.5))
        yield Row("Pad", y, ints(*[-1, 0, 1, 0, -1][:rank], *[0, -2, 1, 0, 0][:rank]), K(1.5))
        yield Row("Pad", y.astype("float64"), ints(*inner, *inner), one(2.5, "float64"))
        yield Row("Pad", y.astype("int32"), ints(*inner, *inner), one(2, "int32"))
        pairs = list(zip(pads[:rank], pads[rank:]))
        for told, how in (
            ({"value": 1.5, "mode": "constant"}, {"constant_values": 1.5}),
            ({}, {}),
            ({"value": 1.5, "mode": "edge"}, {"mode": "edge"}),
        ):
            yield Row("Pad", y, opset=9, pads=pads, want=[np.pad(y, pairs, **how)], **told)
    yield Row("Pad", M, opset=1, paddings=[1, 0, 0, 2], want=[np.pad(M, [(1, 0), (0, 2)])])
    yield Row("Pad", x, ints(1, 2, 3, 0), one(0.5), ints(2, 0), opset=18)
    yield Row("Pad", x, ints(1, 2, 3, 0), one(0.5), ints(-1, -3), opset=18)
    yield Row("Pad", x, ints(1, 0), None, ints(1), opset=18, mode="edge")
    yield Row("Pad", x, ints(1, 0, 0, 0, 0, 0), one(0.5), mode="edge")
    yield Row("Tile", x, ints(1, 2, 3))
    yield Row("Tile", f(1, 2), ints(3))
    for shape in ((4, 5, 6), (3, 4, 5, 6), (2, 3, 4, 5, 6), (1,), (1, 1, 6), (5, 1)):
        yield Row("Expand", x, ints(*shape))
    for known, shape in (((1,), (3,)), ((1, 1), (2, 3)), ((3, 1), (2, 1, 4)), ((2, 3), (1, 1))):
        yield Row("Expand", rng(*known), ints(*shape))
    yield Row("Expand", np.array(2.0, "float32"), ints(2, 3))
    y = rng(2, 12, 4, 6)
    for mode in (None, "DCR", "CRD"):
        more = {} if mode is None else {"mode": mode}
        yield Row("DepthToSpace", y, blocksize=2, **more)
    yield Row("SpaceToDepth", y, blocksize=2)
    for told in ({}, {"start": 1}, {"end": 2}, {"start": -1}, {"start": 1, "end": -1}):
        yield Row("Shape", x, opset=15, **told)
    yield Row("Size", x)
    for told in ({}, {"k": 1}, {"k": -1}, {"dtype": 7}, {"dtype": 11, "k": 2}):
        yield Row("EyeLike", rng(3, 4), **told)
    for y in (x, M):
        for told in ({}, {"upper": 0}, {"upper": 1}):
            yield Row("Trilu", y, opset=14, **told)
            for k in (-2, -1, 1, 2):
                yield Row("Trilu", y, one(k, "int64"), opset=14, **told)


def sizes():
    ways = (
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_half_pixel_for_nn",
    )
    flat, line = rng(1, 1, 6, 5), rng(7)
    for how, (mode, more) in product(ways, (("nearest", {}), ("linear", {}), ("cubic", {}))):
        opset = 19 if how == "half_pixel_symmetric" else 11 if how == "tf_half_pixel_for_nn" else 13
        more = {"mode": mode, "coordinate_transformation_mode": how, "opset": opset, **more}
        none = K(np.zeros(0, "float32")) if opset == 11 else None
        scales = K(np.zeros(0, "float32")) if opset == 11 else None
        for target in ((1, 1, 12, 10), (1, 1, 3, 8), (1, 1, 1, 1)):
            yield Row("Resize", flat, none, scales, ints(*target), **more)
        yield Row("Resize", flat, none, K(1.0, 1.0, 2.0, 3.0), **more)
    for rounding, target in product(
        ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", None),
        ((1, 1, 4, 3), (1, 1, 9, 8)),
    ):
        more = {} if rounding is None else {"nearest_mode": rounding}
        yield Row("Resize", flat, None, None, ints(*target), mode="nearest", **more)
    yield Row("Resize", flat, None, None, ints(1, 1, 4, 3))
    yield Row(
        "Resize",
        flat,
        None,
        K(1.0, 1.0, 2.0, 2.0),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
        has="UpSampling",
    )
    for scales in (K(1.0, 1.0, 2.0, 3.0), K(1.0, 2.0, 2.0, 2.0), K(1.0, 1.0, 1.5, 1.5)):
        yield Row(
            "Resize",
            flat,
            None,
            scales,
            mode="nearest",
            nearest_mode="floor",
            coordinate_transformation_mode="asymmetric",
        )
    yield Row(
        "Resize",
        line,
        None,
        K(2.0),
        mode="linear",
        want=[np.interp((np.arange(14) + 0.5) / 2 - 0.5, np.arange(7), line).astype("f")],
    )
    yield Row("Resize", rng(2, 3, 7), None, K(1.0, 1.0, 2.0), mode="linear")
    yield Row("Resize", flat, None, K(1.0, 1.0, 1.0, 1.0))
    for scales in (K(1.0, 1.0, 2.0, 2.0), K(1.0, 1.0, 2.0, 1.0)):
        yield Row("Resize", flat, scales, opset=10, mode="nearest")
        yield Row("Resize", flat, scales, opset=10, mode="linear")
        yield Row("Upsample", flat, scales, opset=9, mode="nearest")
        yield Row("Upsample", flat, scales, opset=9, mode="linear")
        yield Row("Upsample", flat, opset=7, scales=scales.value.tolist(), mode="linear")
        yield Row("Upsample", flat, scales, opset=9)
    for smooth, outside, mode in product((0, 1), (0, 1), ("linear", "cubic")):
        if mode == "linear" and outside:
            continue
        for target in ((1, 1, 4, 3), (1, 1, 9, 11)):
            yield Row(
                "Resize",
                flat,
                None,
                None,
                ints(*target),
                mode=mode,
                antialias=smooth,
                exclude_outside=outside,
                opset=18,
            )
    yield Row("Resize", flat, None, None, ints(1, 1, 9, 7), mode="cubic", cubic_coeff_a=-0.5)
    for policy in (None, "stretch", "not_larger", "not_smaller"):
        more = {} if policy is None else {"keep_aspect_ratio_policy": policy}
        yield Row(
            "Resize", flat, None, None, ints(9, 4), axes=[2, 3], mode="linear", opset=18, **more
        )
    yield Row("Resize", flat, None, K(2.0, 3.0), axes=[3, 2], mode="linear", opset=18)
    for fill, mode, target in product(
        (None, 0.0, 10.0), ("nearest", "linear", "cubic"), ((1, 1, 5, 6), (1, 1, 1, 1))
    ):
        more = {} if fill is None else {"extrapolation_value": fill}
        roi = K(0.0, 0.0, 0.25, -0.3, 1.0, 1.0, 0.8, 1.4)
        yield Row(
            "Resize",
            flat,
            roi,
            None,
            ints(*target),
            mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize",
            **more,
        )
