"""How operators.py calls each operator: small, from the tests' cases, and large, from a table here.

Large is a case of the tests enlarged where all its inputs have one shape or broadcast to it, else a
row of LARGE: inputs (a shape of normal values, or an `Input`) and parameters. An operator that is
new in the registry is measured small by itself, and large with a row here.
"""

import numpy as np

from cynet.operator import OPERATORS
from tests.operator.cases import all_cases
from tests.operator.cases.case import Input, ints

SIDE = 1024  # of the matrices of elementwise operators
ELEMENTWISE = ("unary", "binary", "binary_scalar", "where_clip", "add_n", "smooth_l1", "cast")
IMAGES, MATRIX, ROWS = (16, 64, 56, 56), (SIDE, SIDE), (256, 4096)
REDUCTIONS = ("sum", "mean", "max", "min", "nansum", "norm")
OF_SQUARES = (
    "potrf", "potri", "inverse", "det", "slogdet", "sumlogdiag", "syevd", "syrk", "extractdiag",
)  # fmt: skip


def index(shape, high):
    return Input(shape, ints(0, high), "float32")


def positive(shape):
    return Input(shape, (0.5, 1.5))


def symmetric(rng, shape):
    made = rng.standard_normal(shape)
    return made @ np.swapaxes(made, -1, -2) / shape[-1] + np.eye(shape[-1])


def regions(rng, shape):
    """Regions of images of 800 x 800 pixels."""
    corner = rng.uniform(0, 500, (shape[0], 2))
    rows = [rng.integers(0, 2, (shape[0], 1)), corner, corner + rng.uniform(40, 300, corner.shape)]
    if shape[1] == 6:
        rows.append(rng.uniform(-90, 90, (shape[0], 1)))
    return np.concatenate(rows, 1)


FEATURES, ROIS = (2, 256, 50, 50), Input((128, 5), regions)
POOLED = {"pooled_size": (7, 7), "spatial_scale": 0.0625}
WINDOW = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 64}
SQUARES = Input((16, 128, 128), symmetric)
PAIR = [(4, 64, 48, 64)] * 2

LARGE = {
    # reductions, order, products
    **{name: ([MATRIX], {"axis": 1}) for name in REDUCTIONS},
    **{name: ([positive(MATRIX)], {"axis": 1}) for name in ("prod", "nanprod")},
    **{name: ([MATRIX], {"axis": 1}) for name in ("argmax", "argmin", "sort", "argsort")},
    "argmax_channel": ([MATRIX], {}),
    "topk": ([MATRIX], {"k": 10, "axis": 1, "ret_typ": "value"}),
    "_np_cumsum": ([MATRIX], {"axis": 1}),
    "dot": ([MATRIX, MATRIX], {}),
    "batch_dot": ([(64, 128, 128)] * 2, {}),
    # softmax and losses
    **{name: ([ROWS], {"axis": -1}) for name in ("softmax", "log_softmax", "softmin")},
    "SoftmaxActivation": ([ROWS], {}),
    "SoftmaxOutput": ([ROWS, index((256,), 4096)], {}),
    "softmax_cross_entropy": ([ROWS, index((256,), 4096)], {}),
    "SVMOutput": ([ROWS, index((256,), 4096)], {}),
    **{
        f"{name}RegressionOutput": ([MATRIX, MATRIX], {}) for name in ("Linear", "Logistic", "MAE")
    },
    "CTCLoss": ([(100, 16, 64), Input((16, 20), ints(1, 60), "float32")], {}),
    # layers
    "Activation": ([IMAGES], {"act_type": "tanh"}),
    "LeakyReLU": ([IMAGES], {"act_type": "leaky"}),
    "FullyConnected": ([(128, 1024), MATRIX, (SIDE,)], {"num_hidden": SIDE}),
    "Convolution": ([IMAGES, (64, 64, 3, 3), (64,)], WINDOW),
    "Deconvolution": (
        [(8, 64, 28, 28), (64, 64, 4, 4)],
        {"kernel": (4, 4), "stride": (2, 2), "pad": (1, 1), "num_filter": 64, "no_bias": True},
    ),
    "Pooling": ([IMAGES], {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "max"}),
    "BatchNorm": ([IMAGES, positive((64,)), (64,)], {"fix_gamma": False}, [(64,), positive((64,))]),
    "LayerNorm": ([ROWS, (4096,), (4096,)], {}),
    "InstanceNorm": ([IMAGES, (64,), (64,)], {}),
    "GroupNorm": ([IMAGES, (64,), (64,)], {"num_groups": 8}),
    "L2Normalization": ([ROWS], {}),
    "LRN": ([IMAGES], {"nsize": 5}),
    "Dropout": ([MATRIX], {"p": 0.5}),
    "Embedding": ([index((64, 128), 10000), (10000, 256)], {"input_dim": 10000, "output_dim": 256}),
    "UpSampling": ([(4, 64, 28, 28)], {"scale": 2, "sample_type": "nearest", "num_args": 1}),
    "Crop": ([IMAGES], {"h_w": (40, 40), "offset": (4, 4), "num_args": 1}),
    "Flatten": ([IMAGES], {}),
    # movement
    "take": ([(10000, 256), index((4096,), 10000)], {}),
    "pick": ([MATRIX, index((SIDE,), SIDE)], {}),
    "batch_take": ([MATRIX, Input((SIDE,), ints(0, SIDE), "int32")], {}),
    "one_hot": ([index((4096,), 256)], {"depth": 256}),
    "gather_nd": ([MATRIX, index((2, 100000), SIDE)], {}),
    "Concat": ([MATRIX] * 4, {"dim": 1, "num_args": 4}),
    "stack": ([MATRIX] * 4, {"axis": 1, "num_args": 4}),
    "SliceChannel": ([MATRIX], {"num_outputs": 4, "axis": 1}),
    "transpose": ([MATRIX], {}),
    "SwapAxis": ([(64, 128, 128)], {"dim1": 1, "dim2": 2}),
    "reverse": ([MATRIX], {"axis": 1}),
    "tile": ([MATRIX], {"reps": (2, 2)}),
    "repeat": ([MATRIX], {"repeats": 2, "axis": 1}),
    "slice": ([MATRIX], {"begin": (10, 10), "end": (1000, 900)}),
    "slice_axis": ([MATRIX], {"axis": 1, "begin": 10, "end": 900}),
    "broadcast_to": ([(SIDE, 1)], {"shape": MATRIX}),
    "broadcast_axis": ([(SIDE, 1)], {"axis": 1, "size": SIDE}),
    "Pad": ([IMAGES], {"mode": "edge", "pad_width": (0, 0, 0, 0, 2, 2, 2, 2)}),
    "depth_to_space": ([IMAGES], {"block_size": 2}),
    "space_to_depth": ([IMAGES], {"block_size": 2}),
    "SequenceMask": (
        [(64, 64, 256), index((64,), 64)], {"use_sequence_length": True, "value": 0.0}
    ),
    "SequenceReverse": (
        [(64, 64, 256), Input((64,), ints(1, 64), "float32")], {"use_sequence_length": True}
    ),
    "SequenceLast": (
        [(64, 64, 256), Input((64,), ints(1, 64), "float32")], {"use_sequence_length": True}
    ),
    "diag": ([MATRIX], {}),
    # linear algebra
    "_linalg_gemm2": ([(16, 256, 256)] * 2, {}),
    "_linalg_gemm": ([(16, 256, 256)] * 3, {}),
    **{
        f"_linalg_{name}": ([SQUARES], {})
        for name in OF_SQUARES
    },
    **{f"_linalg_{name}": ([SQUARES, (16, 128, 128)], {}) for name in ("trmm", "trsm")},
    # vision
    "BilinearSampler": ([(8, 64, 56, 56), Input((8, 2, 56, 56), (-1.1, 1.1))], {}),
    "GridGenerator": ([(64, 6)], {"transform_type": "affine", "target_shape": (128, 128)}),
    "SpatialTransformer": (
        [(8, 64, 56, 56), Input((8, 6), (-1, 1))],
        {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (56, 56)},
    ),
    "Correlation": (PAIR, {"max_displacement": 4, "pad_size": 4, "kernel_size": 1}),
    "ROIPooling": ([FEATURES, ROIS], POOLED),
    "_contrib_ROIAlign": ([FEATURES, ROIS], {**POOLED, "sample_ratio": 2}),
    "_contrib_RROIAlign": ([FEATURES, Input((128, 6), regions)], {**POOLED, "sampling_ratio": 2}),
    "_contrib_PSROIPooling": (
        [(2, 21 * 49, 50, 50), ROIS],
        {"output_dim": 21, "pooled_size": 7, "spatial_scale": 0.0625},
    ),
    "_contrib_DeformablePSROIPooling": (
        [(2, 21 * 49, 50, 50), ROIS, (128, 2, 7, 7)],
        {
            "output_dim": 21, "pooled_size": 7, "group_size": 7, "spatial_scale": 0.0625,
            "sample_per_part": 4, "trans_std": 0.1,
        },
    ),
    "_contrib_DeformableConvolution": (
        [(4, 64, 28, 28), (4, 18, 28, 28), (64, 64, 3, 3), (64,)], WINDOW
    ),
    "_contrib_ModulatedDeformableConvolution": (
        [(4, 64, 28, 28), (4, 18, 28, 28), Input((4, 9, 28, 28), (0, 1)), (64, 64, 3, 3), (64,)],
        WINDOW,
    ),
    "_contrib_AdaptiveAvgPooling2D": ([IMAGES], {"output_size": (7, 7)}),
    "_contrib_BilinearResize2D": ([(8, 64, 28, 28)], {"height": 56, "width": 56}),
}  # fmt: skip


class Setting:
    """One call of one operator: arrays, how many of them are states, parameters."""

    def __init__(self, op, inputs, params, states=()):
        self.op, self.params, self.states = op, params, len(states)
        rng = np.random.default_rng(0)
        self.arrays = [
            (each if isinstance(each, Input) else Input(each, _normal)).make(rng, "float32")
            for each in (*inputs, *states)
        ]

    @property
    def differentiable(self):
        """Whether there is a gradient to measure."""
        prop = OPERATORS.get(self.op).prop
        floats = [x for x in self.arrays[: len(self.arrays) - self.states] if x.dtype.kind == "f"]
        return prop.differentiable and bool(floats)


def _normal(rng, shape):
    return rng.standard_normal(shape)


def operators():
    """Name to family of every operator of cynet's own."""
    found = {}
    for name, entry in OPERATORS.items():
        parts = entry.prop.__module__.split(".")
        if name == entry.name and parts[:2] == ["cynet", "operator"] and len(parts) > 3:
            found[name] = parts[2]
    return found


def _enlarged(case):
    """The inputs of an elementwise case as matrices; None where they are not alike."""
    entry = OPERATORS.get(case.op)
    module = entry.prop.__module__.rpartition(".")[2]
    shapes = [each.shape for each in case.inputs]
    if module == "broadcast" and len(shapes) == 2:
        wanted = [MATRIX, (1, SIDE)]
    elif module in ELEMENTWISE and len(set(shapes)) == 1:
        wanted = [MATRIX] * len(shapes)
    else:
        return None
    if any(isinstance(each.domain, np.ndarray) for each in case.inputs):
        return None
    return [Input(s, each.domain, each.dtype) for s, each in zip(wanted, case.inputs)]


def settings():
    """(operator, "small" or "large") to a function that makes its Setting."""
    found = {}
    for case in all_cases():
        if case.op not in OPERATORS or "float32" not in case.dtypes:
            continue
        name = OPERATORS.get(case.op).name
        if (name, "small") not in found:
            found[name, "small"] = lambda name=name, c=case: Setting(
                name, c.inputs, c.params, c.aux
            )
            inputs = _enlarged(case)
            if inputs is not None:
                found[name, "large"] = lambda name=name, c=case, i=inputs: Setting(
                    name, i, c.params
                )
    for name, (inputs, params, *states) in LARGE.items():
        if name in OPERATORS:
            found[name, "large"] = lambda n=name, i=inputs, p=params, s=states: Setting(n, i, p, *s)
    return found
