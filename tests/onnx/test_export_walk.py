"""Every exporter, with second settings: onnxruntime computes what cynet does, or it is refused."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet.operator import get_operator
from cynet.symbol.node import topological_order
from tests.operator.cases import all_cases
from tests.pairs import pairwise

onnx = pytest.importorskip("onnx")
from tests.onnx.test_import_values import computed  # noqa: E402  behind importorskip

S = mx.sym
BOTH = (False, True)


def operator(name):
    for place in (S, S._internal, S.contrib):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(name)


class Row:
    """A call of an operator: arrays and parameters; whether ONNX cannot say it."""

    def __init__(self, name, *arrays, refused=False, draws=False, **params):
        self.name, self.arrays, self.params = name, arrays, params
        self.refused, self.draws = refused, draws

    def __repr__(self):
        shapes = ",".join(f"{a.dtype.name}{list(a.shape)}" for a in self.arrays)
        return f"{self.name}({shapes} {self.params})"

    def symbol(self):
        names = [f"x{i}" for i in range(len(self.arrays))]
        return operator(self.name)(*map(S.var, names), **self.params), names


def rows(name, *arrays, refused=lambda **_: False, draws=False, **lists):
    """A row for each of the `pairwise` settings; what is None is left out."""
    keys = list(lists)
    settings = pairwise(*lists.values()) if len(keys) > 1 else itertools.product(*lists.values())
    for values in settings:
        told = {k: v for k, v in zip(keys, values) if v is not None}
        yield Row(name, *arrays, refused=refused(**told), draws=draws, **told)


def data(*shape, low=-2.0, high=2.0, dtype="float32", seed=0):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(dtype)


def whole(*shape, low=-4, high=5, dtype="float32", seed=0):
    return np.random.RandomState(seed).randint(low, high, shape).astype(dtype)


HALVES = np.array([-2.5, -1.5, -0.5, -0.3, 0, 0.5, 0.49999997, 1.5, 2.5, 1e9], "float32")
SIGNED, POSITIVE, SMALL = data(3, 4), data(3, 4, low=0.1, high=3), data(3, 4, low=-0.9, high=0.9)
UNARY = {
    "abs arctan arcsinh cbrt ceil cos cosh degrees erf exp expm1 fix floor hard_sigmoid identity"
    " logical_not negative ones_like radians reciprocal relu rint round sigmoid sign sin sinh"
    " softsign square stop_gradient tan tanh trunc zeros_like make_loss BlockGrad _copy"
    " shape_array size_array MakeLoss IdentityAttachKLSparseReg flatten Flatten": SIGNED,
    "log log10 log1p log2 rcbrt rsqrt sqrt": POSITIVE,
    "arcsin arccos arctanh": SMALL,
}
NUMBERS = [
    "plus",
    "minus",
    "rminus",
    "mul",
    "div",
    "rdiv",
    "power",
    "rpower",
    "maximum",
    "minimum",
    "mod",
    "rmod",
]
COMPARED = ["equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"]
LOGICAL = ["logical_and", "logical_or", "logical_xor"]
ONE, WIDE = whole(2, 3, 4), whole(2, 1, 4, seed=1)


def elementwise():
    for names, x in UNARY.items():
        for name in names.split():
            yield Row(name, x)
    for name in ("rint", "round", "fix", "trunc", "ceil", "floor", "sign"):
        yield Row(name, HALVES)
    for name, dtype in itertools.product(("abs", "negative", "sign", "square", "relu"), ("int32",)):
        yield Row(name, whole(3, 4, dtype=dtype))
    for word in [*NUMBERS, *COMPARED, *LOGICAL]:
        for scalar, x in itertools.product((2.0, -3.0, 0.5), (POSITIVE, whole(3, 4, low=1))):
            yield Row(f"_{word}_scalar", x, scalar=scalar)
    integers, numbers = ("int32", "int64", "int8", "uint8"), (0.5, -1.5, 0.0, 3.0, -2.0, 300.0)
    for words, dtypes in (
        (NUMBERS, integers[:2]),  # ONNX adds no bytes
        ([*COMPARED, *LOGICAL], integers),
    ):
        for word, dtype, scalar in itertools.product(words, dtypes, numbers):
            least = 0 if dtype == "uint8" else -4
            if (word, scalar) == ("rpower", 300.0):
                continue  # beyond the dtype runtimes go their own ways
            yield Row(f"_{word}_scalar", whole(3, 4, low=least, dtype=dtype), scalar=scalar)
    yield Row("smooth_l1", whole(3, 4, dtype="int32"), scalar=1.5)
    for word in [
        "add",
        "sub",
        "mul",
        "div",
        "power",
        "maximum",
        "minimum",
        "mod",
        *COMPARED,
        *LOGICAL,
        "plus",
        "minus",
    ]:
        a, b = (np.abs(ONE) + 1, WIDE) if word == "power" else (ONE, WIDE)
        yield Row(f"broadcast_{word}", a, b)
        if word not in LOGICAL:
            a = ONE if word == "power" else a
            yield Row(f"broadcast_{word}", a.astype("int32"), b.astype("int32"))
    for word in [
        "add",
        "sub",
        "mul",
        "div",
        "power",
        "maximum",
        "minimum",
        "mod",
        *COMPARED,
        *LOGICAL,
        "plus",
        "minus",
    ]:
        a, b = np.abs(ONE) + 1, np.abs(whole(2, 3, 4, seed=2)) + 1
        yield Row(f"_{word}", a, b)
    for word in ("add", "sub", "mul", "div"):
        yield Row(f"elemwise_{word}", POSITIVE, POSITIVE[::-1].copy())
    yield Row("broadcast_mod", ONE, np.zeros((1, 3, 1), "float32"))
    yield from rows("clip", SIGNED, a_min=(-1.0, 0.5), a_max=(0.75, 5.0))
    yield from rows("hard_sigmoid", SIGNED, alpha=(0.2, 1.0), beta=(0.5, -0.3))
    yield from rows("smooth_l1", SIGNED, scalar=(0.5, 1.0, 3.0))
    for name in ("Cast", "cast", "amp_cast"):
        yield from rows(
            name,
            SIGNED,
            dtype=("float64", "float16", "int32") if name != "amp_cast" else ("float64", "float16"),
        )
    yield Row("add_n", SIGNED, SMALL, POSITIVE)
    yield Row("ElementWiseSum", SIGNED)
    yield Row("where", whole(3, 4, low=0, high=2), SIGNED, SMALL)
    yield Row("arccosh", 1 + POSITIVE)


IMAGE = data(2, 4, 7, 8)


def beside_the_data(
    kernel, pool_type, pooling_convention, stride=(1, 1), pad=(0, 0), count_include_pad=None, **_
):
    """Whether a mean over data alone has a window that lies in the padding."""
    if pool_type != "avg" or pooling_convention != "full" or count_include_pad is not False:
        return False
    return any(
        -(-(size + 2 * p - k) // s) * s - p >= size
        for size, k, s, p in zip(IMAGE.shape[2:], kernel, stride, pad)
    )


def layers():
    yield from rows(
        "Pooling",
        IMAGE,
        kernel=((2, 2), (3, 2), (3, 3)),
        stride=((1, 1), (2, 3), None),
        pad=(None, (1, 0), (1, 1)),
        pool_type=("max", "avg", "sum", "lp"),
        p_value=(1, 2, 3),
        pooling_convention=("valid", "full"),
        count_include_pad=(None, *BOTH),
        refused=beside_the_data,
    )
    yield from rows(
        "Pooling",
        IMAGE,
        kernel=((2, 2), (3, 3), (5, 2)),
        stride=((1, 1), (2, 3)),
        pool_type=("max", "avg", "sum"),
        pooling_convention=("same",),
        count_include_pad=BOTH,
    )
    yield from rows(
        "Pooling",
        IMAGE,
        kernel=((2, 2),),
        global_pool=(True,),
        p_value=(1, 2, 3),
        pool_type=("max", "avg", "sum", "lp"),
    )
    yield from rows(
        "Pooling",
        data(2, 3, 9),
        kernel=((3,),),
        pad=((1,),),
        stride=((2,),),
        pool_type=("max", "avg", "lp"),
        p_value=(2,),
        pooling_convention=("valid", "full"),
    )
    yield from rows(
        "Pooling",
        data(1, 2, 5, 6, 7),
        kernel=((2, 3, 2),),
        stride=((2, 2, 1),),
        pool_type=("max", "avg", "sum"),
        pooling_convention=("valid", "full", "same"),
    )
    yield from rows(
        "Pooling_v1",
        IMAGE,
        kernel=((2, 2), (3, 2)),
        stride=((2, 2), (1, 3)),
        pad=((0, 0), (1, 1)),
        pool_type=("max", "avg", "sum"),
        pooling_convention=("valid", "full"),
    )
    yield from rows(
        "_contrib_AdaptiveAvgPooling2D",
        data(2, 3, 8, 6),
        output_size=(None, (1, 1), (4, 3), (3, 5), (8, 6), (2, 2)),
    )
    weight, bias = data(6, 2, 3, 2), data(6)
    for name in ("Convolution", "Convolution_v1"):
        yield from rows(
            name,
            IMAGE,
            weight,
            bias,
            kernel=((3, 2),),
            num_filter=(6,),
            num_group=(2,),
            stride=(None, (2, 1)),
            pad=(None, (1, 2)),
            dilate=(None, (1, 3)),
        )
    weight = data(4, 3, 3, 2)
    yield from rows(
        "Deconvolution",
        IMAGE,
        weight,
        data(6),
        kernel=((3, 2),),
        num_filter=(6,),
        num_group=(2,),
        stride=(None, (2, 2)),
        pad=(None, (1, 0)),
        no_bias=(False,),
    )
    for slope, kind in (((1,), "prelu"), ((3,), "prelu")):
        for shape in ((2, 3), (2, 3, 5), (2, 3, 4, 5)):  # (2, 3, 5): a slope for each channel
            yield Row("LeakyReLU", data(*shape), data(*slope, low=0.1), act_type=kind)
    yield from rows(
        "LeakyReLU", data(2, 3, 4), act_type=("leaky", "elu", "selu", "gelu"), slope=(0.1, 0.7)
    )
    yield from rows(
        "LeakyReLU",
        data(2, 3, 4),
        act_type=("rrelu",),
        lower_bound=(0.1, 0.3),
        upper_bound=(0.5, 0.9),
    )
    yield from rows(
        "Activation", SIGNED, act_type=("relu", "sigmoid", "tanh", "softrelu", "softsign")
    )
    norm = [data(4, low=0.5, seed=s) for s in (1, 2)]
    stats = [data(4), data(4, low=0.5)]
    for name in ("BatchNorm", "BatchNorm_v1"):
        yield from rows(name, IMAGE, *norm, *stats, eps=(1e-3, 0.1), fix_gamma=BOTH)
    for name in ("SyncBatchNorm", "_contrib_SyncBatchNorm"):
        yield from rows(name, IMAGE, *norm, *stats, key=("k",), fix_gamma=BOTH)
    yield from rows("BatchNorm", data(2, 3, 4), *norm, *stats, axis=(-1,), fix_gamma=BOTH)
    yield from rows("InstanceNorm", IMAGE, *norm, eps=(1e-3, 0.1))
    yield from rows("LayerNorm", IMAGE, *norm, axis=(1,), eps=(1e-5, 0.1))
    yield from rows("LayerNorm", IMAGE, data(8), data(8), axis=(-1, 3), eps=(1e-5, 0.1))
    for n in (1, 2, 4):
        yield from rows("GroupNorm", IMAGE, data(n), data(n), num_groups=(n,), eps=(1e-5, 0.1))
    yield from rows(
        "L2Normalization", IMAGE, mode=("instance", "channel", "spatial"), eps=(1e-10, 0.5)
    )
    yield from rows(
        "LRN", IMAGE, nsize=(1, 3, 5), alpha=(1e-4, 0.5), beta=(0.75, 0.3), knorm=(2.0, 1.0)
    )
    for name in ("softmax", "log_softmax", "softmin"):
        yield from rows(name, data(2, 3, 4), axis=(-1, 0, 1), temperature=(None, 1.0, 0.5))
    lengths = np.array([[0, 1, 3], [4, 2, 4]], "int32")
    yield from rows(
        "softmax", data(2, 3, 4), lengths, axis=(-1,), use_length=(True,), temperature=(None, 0.5)
    )
    yield Row("softmax", data(2, 4, 3), lengths, axis=1, use_length=True)
    yield from rows("SoftmaxActivation", IMAGE, mode=("instance", "channel"))
    for name in ("SoftmaxOutput", "Softmax"):
        yield Row(name, data(2, 3), data(2))
        yield Row(name, data(2, 3, 4), data(2, 4), multi_output=True)
        yield Row(name, data(2, 3, 4), data(2, 3), preserve_shape=True)
        yield Row(name, data(2, 3, 4), data(2, 3))
    for name in ("LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput"):
        yield Row(name, data(2, 3), data(2, 3))
    yield Row("SVMOutput", data(2, 3), data(2))
    yield Row("Dropout", SIGNED, p=0.5)
    yield from rows("FullyConnected", IMAGE, data(5, 224), data(5), num_hidden=(5,))
    yield from rows(
        "FullyConnected", IMAGE, data(5, 8), num_hidden=(5,), flatten=(False,), no_bias=(True,)
    )
    yield from rows("UpSampling", IMAGE, scale=(2, 3), sample_type=("nearest",))
    yield from rows("Crop", IMAGE, h_w=((3, 4),), center_crop=BOTH, offset=((0, 0), (2, 1)))
    yield Row("Embedding", whole(2, 3, low=0, high=5), data(5, 4), input_dim=5, output_dim=4)


def movement():
    x = data(2, 3, 4)
    yield from rows("transpose", x, axes=(None, (1, 2, 0), (0, 2, 1)))
    yield from rows("SwapAxis", x, dim1=(0, 1), dim2=(2, 1))
    yield from rows("swapaxes", x, dim1=(0, 1), dim2=(2, 1))
    yield from rows("expand_dims", x, axis=(0, 1, -1, -2))
    yield from rows("squeeze", data(2, 1, 3, 1), axis=(None, 1, -1, (1, 3)))
    for name in ("slice", "crop"):
        yield from rows(name, x, begin=((0, 1, 0), (None, -2, 1)), end=((2, 3, 2), (None, None, 4)))
        yield Row(name, x, begin=(1,), end=(2,))
    yield from rows(
        "slice",
        x,
        begin=((None, -1, 3),),
        end=((None, None, 0),),
        step=((1, -1, -1), (None, -2, -1)),
    )
    for axis, begin, end in pairwise((1, -1), (0, 1, -3), (None, 2, -1)):
        yield Row("slice_axis", x, axis=axis, begin=begin, end=end)
    yield from rows("slice_like", x, data(1, 2, 4), axes=(None, (1,), (0, -2)))
    for name in ("SliceChannel", "split"):
        yield from rows(name, data(2, 4, 6), num_outputs=(2,), axis=(0, 1, -1))
        yield Row(name, data(2, 4, 6), num_outputs=4, axis=1, squeeze_axis=True)
        yield Row(name, data(2, 1, 6), num_outputs=1, axis=1, squeeze_axis=True)
    yield from rows("_split_v2", data(2, 4, 6), sections=(2,), axis=(0, 1, -1))
    yield from rows("_split_v2", data(2, 4, 6), indices=((0, 1, 4), (0, 2)), axis=(2,))
    yield Row("_split_v2", data(2, 3, 6), sections=3, axis=1, squeeze_axis=True)
    for name in ("Concat", "concat"):
        yield from rows(name, x, x, dim=(0, 1, -1))
    yield from rows("stack", x, x, axis=(0, 1, -1))
    yield from rows("tile", x, reps=((2,), (1, 2), (2, 1, 1, 3)))
    yield from rows("repeat", x, repeats=(1, 3), axis=(None, 0, -1))
    for name in ("Pad", "pad"):
        yield from rows(
            name,
            IMAGE,
            mode=("constant", "edge", "reflect"),
            constant_value=(0, 2.5),
            pad_width=((0, 0, 0, 0, 1, 2, 3, 0),),
        )
    yield from rows("broadcast_to", data(2, 1, 4), shape=((2, 3, 4), (0, 3, 0)))
    for name in ("broadcast_axis", "broadcast_axes"):
        yield from rows(name, data(2, 1, 1), axis=((1, 2),), size=((3, 2),))
    yield from rows("broadcast_like", data(2, 1, 4), data(2, 3, 4))
    yield Row("broadcast_like", data(2, 1, 4), data(5, 3), lhs_axes=(1,), rhs_axes=(0,))
    yield from rows("reverse", x, axis=(0, -1, (0, 2)))
    yield Row("flip", x, axis=1)
    yield from rows("depth_to_space", data(1, 8, 2, 3), block_size=(2,))
    yield from rows("space_to_depth", data(1, 2, 4, 6), block_size=(2,))
    for name in ("Reshape", "reshape"):
        yield from rows(name, data(2, 3, 4), shape=((4, 6), (-1, 2), (0, -1)))
    yield Row("reshape_like", data(2, 3, 4), data(4, 6))
    for name in ("sum", "sum_axis", "mean", "max", "max_axis", "min", "min_axis", "prod"):
        yield from rows(name, x, axis=(None, 0, -1, (0, 2), (0, 1, 2)), keepdims=BOTH, exclude=BOTH)
    yield from rows("norm", x, ord=(1, 2), axis=(None, 1, (0, 2)), keepdims=BOTH)
    for name in ("argmax", "argmin"):
        yield from rows(name, whole(2, 3, 4), axis=(None, 0, -1), keepdims=BOTH)
        yield Row(name, data(5), axis=0)
    yield from rows(
        "topk",
        whole(3, 6),
        k=(1, 3),
        axis=(0, -1),
        ret_typ=("value", "indices", "both"),
        is_ascend=BOTH,
        dtype=("float32", "int64"),
    )
    yield from rows("topk", whole(3, 6), ret_typ=("mask",), refused=lambda **_: True)
    yield from rows(
        "argsort", whole(3, 6), axis=(None, 0, -1), is_ascend=BOTH, dtype=("float32", "int32")
    )
    index = whole(2, 5, low=-8, high=9)
    yield from rows("take", data(4, 3, 2), index, axis=(0, 1, -1), mode=("clip", "wrap"))
    yield from rows("pick", data(2, 5, 3), whole(2, 3, low=0, high=5), axis=(1,), keepdims=BOTH)
    yield from rows("pick", data(2, 5), whole(2, low=-3, high=9), axis=(-1,), mode=("clip", "wrap"))
    yield Row("gather_nd", data(3, 4, 2), whole(2, 5, low=0, high=3))
    yield from rows(
        "one_hot",
        whole(2, 3, low=-2, high=6),
        depth=(1, 4),
        on_value=(1.0, 3.0),
        off_value=(0.0, -1.0),
        dtype=("float32", "int32"),
    )
    yield Row("SequenceReverse", data(4, 2, 3))
    lengths = np.array([2, 4], "float32")
    yield Row("SequenceReverse", data(4, 2, 3), lengths, use_sequence_length=True)
    for name in ("SequenceMask", "SequenceLast"):
        more = {"value": (0.0, -1.5)} if name == "SequenceMask" else {}
        more["use_sequence_length"] = (True,)
        yield from rows(name, data(4, 2, 3), lengths, axis=(0,), **more)
        yield from rows(name, data(2, 4), lengths, axis=(1,), **more)
        yield Row(name, data(4, 2, 3))
    for name, more in {
        "_zeros": {},
        "_ones": {},
        "_full": {"value": 2.5},
        "_arange": {"start": 0, "stop": 6},
        "_eye": {"N": 2, "M": 3, "k": 1},
        "_linspace": {"start": 0, "stop": 1, "num": 5},
    }.items():
        shape = {"shape": (2, 3)} if name in ("_zeros", "_ones", "_full") else {}
        for dtype in ("float32", "int32") if name != "_linspace" else ("float32", "float64"):
            yield Row(name, dtype=dtype, **shape, **more)
    yield Row("_arange", start=1, stop=4, step=0.5, repeat=2)
    yield Row("_linspace", start=0, stop=1, num=5, endpoint=False)
    yield from rows("dot", data(3, 3), data(3, 3), transpose_a=BOTH, transpose_b=BOTH)
    yield Row("dot", data(3), data(3))
    yield Row("dot", data(2, 3), data(3))
    yield Row("dot", data(2, 3, 4), data(4, 5), refused=True)
    for name in ("batch_dot", "_linalg_gemm2"):
        yield from rows(name, data(2, 3, 3), data(2, 3, 3), transpose_a=BOTH, transpose_b=BOTH)
    yield Row("_linalg_gemm2", data(2, 3), data(3, 4), alpha=2.5)
    yield Row("_linalg_gemm2", data(2, 3, 4), data(4, 3, 5), axis=0, refused=True)


def boxes(batch, n, seed=0, ids=3):
    rng = np.random.RandomState(seed)
    at, size = rng.uniform(0, 1, (batch, n, 2)), rng.uniform(0.1, 0.6, (batch, n, 2))
    kinds = rng.randint(-1, ids, (batch, n, 1))
    scores = rng.permutation(batch * n).reshape(batch, n, 1) / (batch * n)
    return np.concatenate([kinds, scores, at, at + size], axis=2).astype("float32")


def detection():
    yield from rows(
        "_contrib_box_nms",
        boxes(2, 40),
        overlap_thresh=(0.1, 0.5),
        valid_thresh=(0.0, 0.3),
        topk=(-1, 10),
        id_index=(-1, 0),
        background_id=(-1, 0),
        force_suppress=BOTH,
        in_format=("corner", "center"),
        out_format=("corner", "center"),
    )
    yield Row("_contrib_box_nms", boxes(2, 30)[:, :, 1:], coord_start=1, score_index=0)
    yield Row("_contrib_box_non_maximum_suppression", boxes(1, 20)[0], id_index=0)
    yield Row("_contrib_box_nms", boxes(4, 6).reshape(2, 2, 6, 6), topk=4)
    yield Row("_contrib_box_nms", boxes(1, 5), topk=0)
    yield Row("_contrib_box_nms", boxes(1, 5), valid_thresh=2.0)  # nothing is left
    yield Row("_contrib_box_nms", boxes(1, 5), overlap_thresh=1.5, refused=True)
    anchors = boxes(1, 7)[:, :, 2:]
    yield from rows(
        "_contrib_box_decode",
        data(2, 7, 4),
        anchors,
        std0=(1.0, 0.1),
        std3=(1.0, 0.2),
        clip=(-1.0, 0.5),
        format=("center", "corner"),
    )
    yield from rows(
        "_contrib_MultiBoxPrior",
        data(1, 3, 4, 5),
        sizes=((0.5,), (0.2, 0.7)),
        ratios=((1.0,), (1.0, 2.0)),
        clip=BOTH,
    )
    rois = np.array([[0, 0.3, 1.2, 5.1, 6.2], [1, 1, 2, 2.2, 2.3], [1, -3, -2, 20, 30]], "float32")
    yield from rows(
        "_contrib_ROIAlign",
        IMAGE,
        rois,
        pooled_size=((2, 2), (3, 1)),
        spatial_scale=(1.0, 0.5),
        sample_ratio=(-1, 2),
        aligned=BOTH,
        refused=lambda aligned, **_: aligned,
    )
    beside = np.concatenate([rois, [[-1, 0, 0, 4, 4]]]).astype("float32")
    yield Row("_contrib_ROIAlign", IMAGE, beside, pooled_size=(2, 2), spatial_scale=1.0)
    rois = np.array([[0, 0, 1, 5, 6], [1, 1, 2, 2, 3], [1, 2, 0, 7, 6]], "float32")
    yield from rows(
        "ROIPooling", IMAGE, rois, pooled_size=((2, 2), (3, 1)), spatial_scale=(1.0, 0.5)
    )
    yield from rows(
        "_contrib_BilinearResize2D", IMAGE, height=(3, 7, 15), width=(4, 20), align_corners=BOTH
    )
    yield from rows(
        "_contrib_BilinearResize2D",
        IMAGE,
        scale_height=(2.0, 0.5),
        scale_width=(1.5,),
        mode=("odd_scale",),
    )
    yield Row("_contrib_BilinearResize2D", IMAGE, data(1, 1, 5, 9), mode="like")


def attention():
    for heads in (1, 2):
        yield Row("_contrib_interleaved_matmul_selfatt_qk", data(3, 2, 24), heads=heads)
        yield Row(
            "_contrib_interleaved_matmul_selfatt_valatt",
            data(3, 2, 24),
            data(2 * heads, 3, 3),
            heads=heads,
        )
        yield Row(
            "_contrib_interleaved_matmul_encdec_qk", data(3, 2, 8), data(5, 2, 16), heads=heads
        )
        yield Row(
            "_contrib_interleaved_matmul_encdec_valatt",
            data(5, 2, 16),
            data(2 * heads, 3, 5),
            heads=heads,
        )
    yield Row("_contrib_div_sqrt_dim", data(2, 3, 5))
    yield from rows(
        "_contrib_arange_like", data(2, 3), axis=(None, 0, 1), start=(0.0, 2.0), step=(1.0, 0.5)
    )
    yield Row("_contrib_arange_like", data(2, 4), repeat=2, axis=1, refused=True)


def drawing():
    shape = (100, 200)
    yield Row("_random_normal", shape=shape, loc=2.0, scale=3.0, draws=True)
    yield Row("_random_uniform", shape=shape, low=-1.0, high=4.0, draws=True)
    yield Row("_random_normal_like", data(*shape), loc=2.0, scale=3.0, draws=True)
    yield Row("_random_uniform_like", data(*shape), low=-1.0, high=4.0, draws=True)
    p = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], "float32")
    yield from rows("_sample_multinomial", p, shape=((5000,), (50, 100)), draws=True)
    yield Row("_sample_multinomial", p, get_prob=True, draws=True, refused=True)


FAMILIES = (elementwise, layers, movement, detection, attention, drawing)
ROWS = {family.__name__: list(family()) for family in FAMILIES}
# whole networks have these in test_operators.py, test_quantized.py and
# test_join_quantized.py
ELSEWHERE = {
    "RNN",
    "_int8_convolution",
    "_int8_fully_connected",
    "_contrib_quantize_v2",
    "_contrib_dequantize",
    "_contrib_quantized_concat",
    "_contrib_quantized_flatten",
    "_contrib_quantized_pooling",
    "_quantize_linear",
    "_dequantize_linear",
}


WRITTEN = {get_operator(name).name for name in mx.onnx.get_operator_support()}


def made():
    """The operators of all rows."""
    return {
        node.op.name
        for each in itertools.chain(*ROWS.values())
        for node in topological_order(each.symbol()[0].entries)
        if not node.is_variable
    }


def own_cases():
    """Operators without rows, by their cases of the common tests."""
    missing = WRITTEN - made() - ELSEWHERE
    for case in all_cases():
        if case.op in missing and "float32" in case.dtypes:
            rng = np.random.default_rng(case.seed)
            yield Row(case.op, *(each.make(rng, "float32") for each in case.inputs), **case.params)


ROWS["cases"] = list(own_cases())


def test_rows_cover_the_exporters():
    assert not WRITTEN - made() - ELSEWHERE


def compared(row, path):
    """None, or what is wrong."""
    symbol, names = row.symbol()
    feeds = dict(zip(names, row.arrays))
    arrays = {k: mx.nd.array(v, dtype=v.dtype) for k, v in feeds.items()}
    states = symbol.list_auxiliary_states()
    told = zip(states, symbol.infer_shape_partial(**{k: v.shape for k, v in feeds.items()})[2])
    arrays = {**{k: mx.nd.zeros(shape) for k, shape in told}, **arrays}
    args = {k: v for k, v in arrays.items() if k not in states}
    aux = {k: arrays[k] for k in states}
    wanted = symbol.bind(mx.cpu(), args, grad_req="null", aux_states=aux).forward()
    shapes = {k: v.shape for k, v in feeds.items() if k not in states}
    free = [k for k in symbol.list_arguments() if k in shapes]
    # what a loss compares with is no input of a file
    labels = row.name.endswith("Output") or row.name == "Softmax"
    free = free[:1] if labels else free
    kinds = [feeds[k].dtype for k in free]
    try:
        mx.onnx.export_model(symbol, aux, [shapes[k] for k in free], kinds, path)
    except mx.errors.UndefinedError as error:
        assert row.name in str(error) or "ONNX export of" in str(error)
        return None if row.refused else f"refused: {error}"
    if row.refused:
        return "not refused"
    given = [each.name for each in onnx.load(str(path)).graph.input]
    found = computed(path, {k: feeds[k] for k in given})
    for made, each in zip(found, wanted):
        each = each.asnumpy()
        if made.shape != each.shape or made.dtype != each.dtype:
            return f"{made.dtype} {made.shape} for {each.dtype} {each.shape}"
        if row.draws:
            made, each = (np.array([x.mean(), x.std()]) for x in (made, each))
            tolerance = {"rtol": 0.05, "atol": 0.05}
        else:
            tolerance = {"rtol": 1e-4, "atol": 1e-5, "equal_nan": True}
        if not np.allclose(made, each, **tolerance):
            return f"{made.ravel()[:8]} for {each.ravel()[:8]}"
    return None if len(found) == len(wanted) else f"{len(found)} outputs"


@pytest.mark.parametrize("family", ROWS)
def test_values(family, tmp_path):
    told = []
    for row in ROWS[family]:
        try:
            wrong = compared(row, tmp_path / "x.onnx")
        except Exception as error:
            wrong = f"{type(error).__name__}: {str(error)[:300]}"
        if wrong:
            told.append(f"{row}: {wrong}")
    assert not told, f"{len(told)} of {len(ROWS[family])}\n" + "\n".join(told)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", ["data", "fc_weight"])
def test_sparse_variables_are_refused(name, stype, tmp_path):
    variables = {each: mx.sym.Variable(each) for each in ("data", "fc_weight")}
    variables[name] = mx.sym.Variable(name, stype=stype)
    net = mx.sym.FullyConnected(
        variables["data"], variables["fc_weight"], num_hidden=3, no_bias=True, name="fc"
    )
    with pytest.raises(mx.errors.UndefinedError, match=f"'{name}' is {stype}"):
        path = str(tmp_path / "net.onnx")
        mx.onnx.export_model(net, {"fc_weight": mx.nd.ones((3, 2))}, [(1, 2)], onnx_file_path=path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["degrees", "cbrt", "log2", "rsqrt", "expm1"])
def test_functions_with_fractions_take_no_integers(name, tmp_path):
    symbol = getattr(mx.sym, name)(mx.sym.Variable("x"))
    with pytest.raises(mx.errors.UndefinedError, match="its data are int32: cast them to a float"):
        mx.onnx.export_model(symbol, {}, [(2,)], np.int32, str(tmp_path / "x.onnx"))
