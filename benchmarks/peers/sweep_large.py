"""Large calls of operators for operators.py.

A row of LARGE: inputs (a shape of normal values, or an `Input`), parameters, and states if there
are any. Inputs of updates that have several weights stand in the order of MXNet's functions.
"""

import numpy as np

from tests.operator.cases.case import Input, ints

SIDE = 1024  # rows and columns of elementwise operators' matrices
IMAGES, MATRIX, ROWS = (16, 64, 56, 56), (SIDE, SIDE), (256, 4096)
REDUCTIONS = ("sum", "mean", "max", "min", "nansum", "norm")
OF_SQUARES = (
    "potrf",
    "potri",
    "inverse",
    "det",
    "slogdet",
    "sumlogdiag",
    "syevd",
    "syrk",
    "extractdiag",
)


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


def boxes(rng, shape):
    """Corners of boxes within the unit square."""
    low = rng.uniform(0, 0.8, (*shape[:-1], 2))
    return np.concatenate([low, low + rng.uniform(0.05, 0.2, low.shape)], -1)


def probabilities(rng, shape):
    made = np.exp(2 * rng.standard_normal(shape))
    return made / made.sum(1, keepdims=True)


def objects(rng, shape):
    """Classes and boxes of labelled objects."""
    return np.concatenate([rng.integers(0, 20, (*shape[:-1], 1)), boxes(rng, shape)], -1)


def found(rng, shape):
    """Rows of class, score and box."""
    kinds, scores = rng.integers(0, 20, (*shape[:-1], 1)), rng.uniform(0, 1, (*shape[:-1], 1))
    return np.concatenate([kinds, scores, boxes(rng, shape)], -1)


def share(shape):
    return Input(shape, (0.2, 1.0))


ANCHORS, DRAWS = Input((1, 8732, 4), boxes), (SIDE * SIDE,)
REGIONS = {"scales": (8, 16, 32), "ratios": (0.5, 1, 2), "rpn_post_nms_top_n": 300}
PIXELS = Input((480, 640, 3), ints(0, 256), "uint8")
PICTURE = Input((480, 640, 3), (0, 1))
HEADS, LENGTH = 12, 128
ATTENTION = (HEADS * 8, LENGTH, LENGTH)
SOME = {"lrs": (0.1,) * 8, "wds": (0.01,) * 8, "num_weights": 8}
LAMBS = {"learning_rates": (0.1,) * 8, "wds": (0.01,) * 8, "step_count": (3,) * 8, "num_tensors": 8}
RATES = [Input((8,), (0.05, 0.1)), Input((8,), (0.0, 0.01))]
WEIGHTS = (256, 512)
ONE = Input((1,), (0.5, 0.5))


def drawn(name, **params):
    """Rows of a distribution: one for all numbers, and one for each of many."""
    yield f"_random_{name}", ([], {**params, "shape": DRAWS})
    yield f"_sample_{name}", ([share((1024,))] * len(params), {"shape": (1024,)})


def density(name, count):
    return f"_random_pdf_{name}", ([share((1024, 256)), *[share((1024,))] * count], {})


_MORE = {
    # attention
    "_contrib_interleaved_matmul_selfatt_qk": ([(LENGTH, 8, 3 * 768)], {"heads": HEADS}),
    "_contrib_interleaved_matmul_selfatt_valatt": (
        [(LENGTH, 8, 3 * 768), ATTENTION],
        {"heads": HEADS},
    ),
    "_contrib_interleaved_matmul_encdec_qk": (
        [(LENGTH, 8, 768), (LENGTH, 8, 2 * 768)],
        {"heads": HEADS},
    ),
    "_contrib_interleaved_matmul_encdec_valatt": (
        [(LENGTH, 8, 2 * 768), ATTENTION],
        {"heads": HEADS},
    ),
    # detection
    "_contrib_MultiBoxPrior": (
        [(8, 64, 38, 38)],
        {"sizes": (0.1, 0.14), "ratios": (1, 2, 0.5, 3, 1 / 3)},
    ),
    "_contrib_MultiBoxTarget": (
        [ANCHORS, Input((8, 10, 5), objects), (8, 21, 8732)],
        {"negative_mining_ratio": 3, "negative_mining_thresh": 0.5},
    ),
    "_contrib_MultiBoxDetection": (
        [Input((8, 21, 8732), probabilities), (8, 8732 * 4), ANCHORS],
        {"nms_threshold": 0.45, "nms_topk": 400},
    ),
    "_contrib_Proposal": (
        [
            Input((1, 18, 50, 50), (0, 1)),
            Input((1, 36, 50, 50), (-0.3, 0.3)),
            Input((1, 3), np.array([[800, 800, 1]])),
        ],
        REGIONS,
    ),
    "_contrib_MultiProposal": (
        [
            Input((4, 18, 50, 50), (0, 1)),
            Input((4, 36, 50, 50), (-0.3, 0.3)),
            Input((4, 3), np.array([[800, 800, 1]] * 4)),
        ],
        REGIONS,
    ),
    "_contrib_box_nms": (
        [Input((8, 2000, 6), found)],
        {"coord_start": 2, "score_index": 1, "id_index": 0},
    ),
    "_contrib_box_iou": ([Input((2000, 4), boxes)] * 2, {}),
    "_contrib_box_encode": (
        [
            Input((8, 8732), ints(-1, 2)),
            Input((8, 8732), ints(0, 10)),
            Input((8, 8732, 4), boxes),
            Input((8, 10, 4), boxes),
            (4,),
            share((4,)),
        ],
        {},
    ),
    "_contrib_box_decode": ([(8, 8732, 4), ANCHORS], {}),
    "_contrib_bipartite_matching": ([Input((8, 400, 100), (0, 1))], {"threshold": 0.1}),
    # images
    "_image_to_tensor": ([Input((32, 224, 224, 3), ints(0, 256), "uint8")], {}),
    "_image_normalize": ([(32, 3, 224, 224)], {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.2, 0.3)}),
    "_image_crop": ([PIXELS], {"x": 10, "y": 10, "width": 448, "height": 448}),
    "_image_resize": ([PIXELS], {"size": (224, 224)}),
    **{
        f"_image_{name}": ([PIXELS], {})
        for name in (
            "flip_left_right",
            "flip_top_bottom",
            "random_flip_left_right",
            "random_flip_top_bottom",
        )
    },
    "_image_adjust_lighting": ([PIXELS], {"alpha": (1.0, -0.5, 2.0)}),
    "_image_random_lighting": ([PIXELS], {"alpha_std": 0.1}),
    **{
        f"_image_random_{name}": ([PICTURE], {"min_factor": 0.5, "max_factor": 1.5})
        for name in ("brightness", "contrast", "saturation", "hue")
    },
    "_image_random_color_jitter": (
        [PICTURE],
        dict.fromkeys(("brightness", "contrast", "saturation", "hue"), 0.3),
    ),
    # recurrent layers
    "RNN": (
        [(28, 64, 128), (2 * 512 * (128 + 128 + 2),), (2, 64, 128), (2, 64, 128)],
        {"mode": "lstm", "state_size": 128, "num_layers": 2},
    ),
    # random numbers and densities
    **dict(
        row
        for rows in (
            drawn("uniform", low=0.0, high=1.0),
            drawn("normal", loc=0.0, scale=1.0),
            drawn("gamma", alpha=0.7, beta=1.0),
            drawn("exponential", lam=1.0),
            drawn("poisson", lam=3.0),
            drawn("negative_binomial", k=3, p=0.4),
            drawn("generalized_negative_binomial", mu=2.0, alpha=0.3),
        )
        for row in rows
    ),
    "_random_randint": ([], {"low": 0, "high": 1000, "shape": DRAWS}),
    "_shuffle": ([MATRIX], {}),
    "_sample_multinomial": ([Input((256, 1000), probabilities)], {"shape": 64}),
    **dict(
        density(name, count)
        for name, count in (
            ("uniform", 2),
            ("normal", 2),
            ("gamma", 2),
            ("exponential", 1),
            ("poisson", 1),
            ("negative_binomial", 2),
            ("generalized_negative_binomial", 2),
        )
    ),
    "_random_pdf_dirichlet": ([share((1024, 16, 16)), share((1024, 16))], {}),
    # updates of one weight
    "sgd_update": ([MATRIX] * 2, {"lr": 0.1, "wd": 0.01}),
    "signsgd_update": ([MATRIX] * 2, {"lr": 0.1, "wd": 0.01}),
    **{
        f"{name}_update": ([MATRIX] * 3, {"lr": 0.1, "wd": 0.01, "momentum": 0.9})
        for name in ("sgd_mom", "nag_mom", "signum")
    },
    "adam_update": ([MATRIX, MATRIX, MATRIX, share(MATRIX)], {"lr": 0.1, "wd": 0.01}),
    "rmsprop_update": ([MATRIX, MATRIX, share(MATRIX)], {"lr": 0.1}),
    "rmspropalex_update": (
        [MATRIX, MATRIX, Input(MATRIX, (1, 2)), Input(MATRIX, (0, 0.3)), MATRIX],
        {"lr": 0.1},
    ),
    "ftrl_update": ([MATRIX, MATRIX, MATRIX, share(MATRIX)], {"lr": 0.1}),
    "ftml_update": ([MATRIX, MATRIX, share(MATRIX), share(MATRIX), MATRIX], {"lr": 0.1, "t": 3}),
    "_adamw_update": (
        [MATRIX, MATRIX, MATRIX, share(MATRIX), ONE],
        {"lr": 0.1, "eta": 1.0, "wd": 0.01},
    ),
    "_contrib_group_adagrad_update": ([MATRIX, MATRIX, share((SIDE, 1))], {"lr": 0.1}),
    "lamb_update_phase1": ([MATRIX, MATRIX, MATRIX, share(MATRIX)], {"t": 3, "wd": 0.01}),
    "lamb_update_phase2": ([MATRIX, MATRIX, ONE, ONE], {"lr": 0.1}),
    # updates of several weights in one call
    "multi_sgd_update": ([WEIGHTS] * 16, SOME),
    "multi_sgd_mom_update": ([WEIGHTS] * 24, {**SOME, "momentum": 0.9}),
    "preloaded_multi_sgd_update": ([*[WEIGHTS] * 16, *RATES], {"num_weights": 8}),
    "preloaded_multi_sgd_mom_update": (
        [*[WEIGHTS] * 24, *RATES],
        {"num_weights": 8, "momentum": 0.9},
    ),
    "_multi_adamw_update": (
        [*[WEIGHTS, WEIGHTS, WEIGHTS, share(WEIGHTS)] * 8, ONE],
        {**SOME, "etas": (1.0,) * 8},
    ),
    "_multi_lamb_update": ([WEIGHTS, WEIGHTS, WEIGHTS, share(WEIGHTS)] * 8, LAMBS),
    "all_finite": ([MATRIX], {}),
    "multi_all_finite": ([WEIGHTS] * 8, {"num_arrays": 8}),
    "multi_sum_sq": ([WEIGHTS] * 8, {"num_arrays": 8}),
    "multi_lars": ([share((200,))] * 4, {"eta": 0.01, "eps": 1e-8}),
    # the rest
    "moments": ([MATRIX], {"axes": (1,)}),
    "_histogram": ([MATRIX], {"bin_cnt": 100, "range": (-3.0, 3.0)}),
    "khatri_rao": ([(64, 256), (64, 256)], {}),
    "scatter_nd": ([DRAWS, index((2, SIDE * SIDE), SIDE)], {"shape": MATRIX}),
    "_ravel_multi_index": ([index((2, SIDE * SIDE), SIDE)], {"shape": MATRIX}),
    "_unravel_index": ([index(DRAWS, SIDE * SIDE)], {"shape": MATRIX}),
    "slice_like": ([MATRIX, (1000, 900)], {}),
    "_split_v2": ([MATRIX], {"indices": (0, 256, 512), "axis": 1}),
    "broadcast_like": ([(SIDE, 1), MATRIX], {}),
    "im2col": ([IMAGES], {"kernel": (3, 3), "pad": (1, 1)}),
    "col2im": ([(16, 64 * 9, 56 * 56)], {"output_size": (56, 56), "kernel": (3, 3), "pad": (1, 1)}),
    "_contrib_fft": ([(256, 1024)], {}),
    "_contrib_ifft": ([(256, 2048)], {}),
    "_contrib_quadratic": ([MATRIX], {"a": 1.0, "b": 2.0, "c": 3.0}),
    "_contrib_div_sqrt_dim": ([MATRIX], {}),
    "_contrib_allclose": ([MATRIX] * 2, {}),
    "_contrib_index_copy": ([(4096, 256), Input((1024,), np.arange(1024) * 4), (1024, 256)], {}),
    "_contrib_index_array": ([MATRIX], {}),
    "smooth_l1": ([MATRIX], {"scalar": 1.0}),
    "_linalg_gelqf": ([(16, 64, 128)], {}),
    "_linalg_extracttrian": ([SQUARES], {}),
    "_linalg_maketrian": ([(16, 8256)], {}),
    "_linalg_makediag": ([(16, 128)], {}),
}


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
    **{f"{name}RegressionOutput": ([MATRIX, MATRIX], {}) for name in ("Linear", "Logistic", "MAE")},
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
        [(64, 64, 256), index((64,), 64)],
        {"use_sequence_length": True, "value": 0.0},
    ),
    "SequenceReverse": (
        [(64, 64, 256), Input((64,), ints(1, 64), "float32")],
        {"use_sequence_length": True},
    ),
    "SequenceLast": (
        [(64, 64, 256), Input((64,), ints(1, 64), "float32")],
        {"use_sequence_length": True},
    ),
    "diag": ([MATRIX], {}),
    # linear algebra
    "_linalg_gemm2": ([(16, 256, 256)] * 2, {}),
    "_linalg_gemm": ([(16, 256, 256)] * 3, {}),
    **{f"_linalg_{name}": ([SQUARES], {}) for name in OF_SQUARES},
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
            "output_dim": 21,
            "pooled_size": 7,
            "group_size": 7,
            "spatial_scale": 0.0625,
            "sample_per_part": 4,
            "trans_std": 0.1,
        },
    ),
    "_contrib_DeformableConvolution": (
        [(4, 64, 28, 28), (4, 18, 28, 28), (64, 64, 3, 3), (64,)],
        WINDOW,
    ),
    "_contrib_ModulatedDeformableConvolution": (
        [(4, 64, 28, 28), (4, 18, 28, 28), Input((4, 9, 28, 28), (0, 1)), (64, 64, 3, 3), (64,)],
        WINDOW,
    ),
    "_contrib_AdaptiveAvgPooling2D": ([IMAGES], {"output_size": (7, 7)}),
    "_contrib_BilinearResize2D": ([(8, 64, 28, 28)], {"height": 56, "width": 56}),
    **_MORE,
}
