"""Writes the examples of functions of mx.np and mx.npx, ``function_examples.txt``, from calls.

``python -m tests.numpy.function_examples``; a test holds the file to the calls.
"""

import contextlib
import io
import os
import tempfile
from pathlib import Path

import cynet as mx
from cynet.operator.numpy import function_examples

PATH = Path(function_examples.__file__).with_suffix(".txt")
# Arguments, and names of functions that are called with them.
_ALIKE = {
    "[-1.5, 0, 2.5]": "abs absolute fabs negative sign square ceil floor trunc fix rint signbit "
    "logical_not positive isfinite isinf isnan isneginf isposinf nan_to_num real isrealobj "
    "iscomplexobj arctan atan arcsinh asinh tanh sin cos sinh cosh sinc",
    "[0, 0.5, 1]": "exp expm1 sqrt cbrt log1p arcsin asin arccos acos degrees rad2deg i0 tan",
    "[1, 2, 4]": "log log2 log10 reciprocal radians deg2rad arccosh acosh spacing",
    "[0, 0.5]": "arctanh atanh",
    "[5, 2, 9], [2, 2, 4]": "add subtract multiply divide true_divide maximum minimum fmax fmin "
    "hypot equal not_equal greater greater_equal less less_equal logical_and logical_or "
    "logical_xor copysign logaddexp arctan2 atan2 mod remainder fmod floor_divide power pow "
    "float_power nextafter divmod array_equal array_equiv allclose isclose heaviside",
    'mx.np.array([6, 9], dtype="int32"), 3': "bitwise_and bitwise_or bitwise_xor gcd lcm "
    "left_shift right_shift bitwise_left_shift bitwise_right_shift",
    'mx.np.array([6, 9], dtype="int32")': "bitwise_not bitwise_invert invert",
    "[[1, 2], [5, 3]], axis=0": "sum prod product mean std var max min amax amin median ptp cumsum "
    "cumprod argmax argmin sort argsort cumulative_prod flip all any alltrue sometrue "
    "count_nonzero",
    "[[1, 2], [mx.np.nan, 3]], axis=0": "nansum nanprod nanmax nanmin nanmean nanstd nanvar "
    "nanmedian nanargmax nanargmin nancumsum nancumprod",
    "[3, 1, 2, 1]": "unique unique_all unique_counts unique_inverse unique_values ravel "
    "ascontiguousarray asarray asanyarray array copy shape size ndim msort ediff1d "
    "zeros_like ones_like atleast_1d atleast_2d atleast_3d diagflat unwrap gradient diff",
    "[3, 1, 2], [1, 4, 3]": "union1d intersect1d setdiff1d setxor1d isin in1d dot inner outer vdot "
    "vecdot cross kron convolve correlate",
    "[[1, 0, 2], [0, 3, 0]]": "nonzero argwhere flatnonzero fliplr flipud transpose permute_dims "
    "matrix_transpose tril triu diagonal trace diag",
    "3": "eye identity tri hamming hanning blackman bartlett ones zeros",
    "([1, 2], [3, 4])": "stack vstack row_stack hstack dstack column_stack concatenate concat",
    "[1, 2, 3], 2": "repeat tile",
    "[[1, 2], [3, 4]], [[0, 1], [1, 0]]": "matmul tensordot",
    "[3, 1, 2], 1": "partition argpartition",
    "[[1, 2], [3, 4]], 2": "hsplit vsplit array_split split",
    "3, k=1": "triu_indices tril_indices",
    "[[1, 2], [3, 4]]": "tril_indices_from triu_indices_from diag_indices_from rot90 unstack",
    "[1.25, 2.75], 1": "round round_ around",
    "[1, 2, 3], [2, 1, 0]": "polyadd polysub polymul polydiv polyval",
    "[1, -3, 2]": "roots poly polyint vander",
    "[1, 2, 3, 4], 50": "percentile nanpercentile",
    "[1, 2, 3, 4], 0.5": "quantile nanquantile",
}
_OTHERS = {
    "append": "[1, 2], [3]",
    "array_repr": "mx.np.array([1, 2])",
    "apply_along_axis": "mx.np.sum, 0, [[1, 2], [3, 4]]",
    "apply_over_axes": "mx.np.sum, [[1, 2], [3, 4]], [0, 1]",
    "arange": "3",
    "average": "[1, 2, 4], weights=[1, 1, 2]",
    "bincount": 'mx.np.array([0, 2, 2], dtype="int32")',
    "block": "[[mx.np.eye(2), mx.np.ones((2, 1))]]",
    "broadcast_arrays": "mx.np.array([[1], [2]]), mx.np.array([3, 4])",
    "broadcast_shapes": "(2, 1), (3,)",
    "broadcast_to": "[1, 2], (2, 2)",
    "can_cast": '"int32", "int64"',
    "choose": 'mx.np.array([1, 0], dtype="int64"), [[1, 2], [3, 4]]',
    "clip": "[1, 5, 9], 2, 6",
    "compress": "[True, False, True], [1, 2, 3]",
    "corrcoef": "[[1, 2, 3], [3, 2, 2]]",
    "cov": "[[1, 2, 3], [3, 2, 1]]",
    "delete": "[1, 2, 3], 1",
    "digitize": "[0.5, 1.5], [0, 1, 2]",
    "dsplit": "mx.np.ones((1, 1, 2)), 2",
    "einsum": '"ij,j->i", [[1, 2], [3, 4]], [1, 10]',
    "empty": "(0, 2)",
    "empty_like": "mx.np.ones((0, 2))",
    "expand_dims": "[1, 2], 0",
    "extract": "mx.np.array([True, False]), mx.np.array([1, 2])",
    "frexp": "[8.0, 5.0]",
    "full": "2, 7",
    "full_like": "[1, 2], 7",
    "histogram": "[1, 2, 2, 3], bins=2",
    "histogram2d": "[1, 2, 2], [1, 1, 3], bins=2",
    "histogram_bin_edges": "[1, 2, 3], bins=2",
    "histogramdd": "mx.np.array([[1, 2], [2, 3], [2, 2]]), bins=2",
    "indices": "(2, 2)",
    "insert": "[1, 3], 1, 2",
    "interp": "[0.5, 1.5], [0, 1, 2], [0, 10, 20]",
    "ix_": 'mx.np.array([0, 1], dtype="int64"), mx.np.array([2], dtype="int64")',
    "ldexp": 'mx.np.array([1, 3]), mx.np.array([2, 3], dtype="int32")',
    "lexsort": "[[1, 2, 0], [1, 0, 1]]",
    "linspace": "0, 1, 3",
    "logspace": "0, 2, 3",
    "may_share_memory": "mx.np.ones(2), mx.np.ones(2)",
    "shares_memory": "mx.np.ones(2), mx.np.ones(2)",
    "meshgrid": "[1, 2], [3, 4]",
    "min_scalar_type": "300",
    "mirr": "[-100, 60, 70], 0.1, 0.12",
    "modf": "[1.5, -2.25]",
    "moveaxis": "mx.np.ones((2, 3, 4)), 0, -1",
    "npv": "0.1, [-100, 60, 70]",
    "packbits": "mx.np.array([True, False, True])",
    "pad": "[1, 2], 1",
    "piecewise": "mx.np.array([1, 3]), [mx.np.array([True, False])], [5.0, 7.0]",
    "polyfit": "[0, 1, 2], [1, 3, 5], 1",
    "ppmt": "0.01, 1, 12, 1000",
    "promote_types": '"int32", "float32"',
    "pv": "0.01, 12, -10",
    "rate": "10, 0, -3500, 10000",
    "ravel_multi_index": "mx.np.array([[0, 1], [1, 2]], dtype='int64'), (2, 3)",
    "reshape": "[1, 2, 3, 4], (2, -1)",
    "resize": "[1, 2], (2, 3)",
    "result_type": '"int32", "float32"',
    "roll": "[1, 2, 3], 1",
    "rollaxis": "mx.np.ones((2, 3, 4)), 2",
    "searchsorted": "[1, 3, 5], [2, 5]",
    "select": "[mx.np.array([True, False])], [mx.np.array([1, 2])], 9",
    "squeeze": "[[1, 2]]",
    "swapaxes": "[[1, 2], [3, 4]], 0, 1",
    "take": "[10, 20, 30], [2, 0]",
    "take_along_axis": "mx.np.array([[3, 1]]), mx.np.array([[1, 0]], dtype='int64'), 1",
    "trapezoid": "[1, 2, 3]",
    "trapz": "[1, 2, 3]",
    "trim_zeros": "mx.np.array([0, 1, 2, 0])",
    "unpackbits": 'mx.np.array([5], dtype="uint8")',
    "unravel_index": 'mx.np.array([1, 5], dtype="int64"), (2, 3)',
    "where": "mx.np.array([True, False]), [1, 2], [3, 4]",
}
_LINALG = {
    "[[2, 1], [1, 3]]": "cholesky cond det eigvals eigvalsh inv matrix_norm matrix_rank "
    "matrix_transpose norm pinv slogdet svdvals trace diagonal vector_norm",
    "[[2, 0], [0, 3]]": "eig eigh qr svd",
    "[[2, 1], [1, 3]], [[1, 0], [2, 1]]": "matmul tensordot vecdot",
    "[[2, 0], [0, 4]], [1, 2]": "solve lstsq",
    "[[2, 1], [1, 3]], 2": "matrix_power",
    "[1, 2, 3], [0, 1, 0]": "cross outer",
    "[mx.np.eye(2), mx.np.ones((2, 2))]": "multi_dot",
    "mx.np.eye(4).reshape((2, 2, 2, 2))": "tensorinv",
    "mx.np.eye(4).reshape((2, 2, 2, 2)), [[1, 2], [3, 4]]": "tensorsolve",
}
_RANDOM = {
    "2.0, size=(2, 3)": "chisquare exponential pareto power rayleigh weibull",
    "2.0, 3.0, size=(2, 3)": "beta f gamma",
    "0.0, 1.0, size=(2, 3)": "gumbel laplace logistic lognormal normal uniform",
    "2, 3": "rand randn",
    "(2, 3)": "random random_sample ranf standard_normal",
    "5, size=(2, 3)": "randint choice",
    "4": "permutation",
    "10, [0.5, 0.5]": "multinomial",
    "mx.np.zeros(2), mx.np.eye(2), 3": "multivariate_normal",
}
_NPX = {
    "[[-1, 2]]": "relu sigmoid softmax log_softmax softsign erf batch_flatten shape_array "
    "l2_normalization stop_gradient gamma gammaln",
    "[0, 0.5]": "erfinv smooth_l1",
    "mx.np.array([[-1, 2]]), 'relu'": "activation",
    "mx.np.zeros((2, 3)), axis=1": "arange_like",
    "mx.np.ones((1, 2, 3)), mx.np.ones((1, 3, 1))": "batch_dot",
    "mx.np.ones((1, 2)), mx.np.zeros((2, 2))": "broadcast_like",
    "[1.5, 2], 'int32'": "cast",
    "mx.np.ones((1, 1, 2, 2)), kernel=(2, 2), pool_type='sum'": "pooling",
    "mx.np.ones(2), 0.5": "dropout",
    "mx.np.array([1, 0]), mx.np.array([[1, 2], [3, 4]]), 2, 2": "embedding",
    "mx.np.ones((1, 2)), mx.np.array([[1, 2], [3, 4]]), mx.np.array([0, 1])": "fully_connected",
    "mx.np.array([[1, 2], [3, 4]]), mx.np.array([[0, 1], [1, 0]], dtype='int64')": "gather_nd",
    "mx.np.array([[1, 3]]), mx.np.ones(2), mx.np.zeros(2)": "layer_norm",
    "mx.np.array([[-1, 2]])": "leaky_relu nonzero",
    "mx.np.array([[1, 2]]), mx.np.array([[1, 0]])": "masked_softmax masked_log_softmax",
    "mx.np.array([0, 2]), 3": "one_hot",
    "mx.np.array([[1, 2], [3, 4]]), mx.np.array([1, 0])": "pick",
    "mx.np.ones((2, 3, 4)), (-2, -5)": "reshape",
    "mx.np.ones((2, 3)), mx.np.zeros((6,))": "reshape_like",
    "mx.np.ones((3, 2)), mx.np.array([1, 2]), True": "sequence_mask",
    "mx.np.arange(4), (1,), (3,)": "slice",
    "mx.np.array([3, 1, 2]), k=2": "topk",
    "mx.np.ones((1, 2, 2)), mx.np.ones(2), mx.np.zeros(2)": "instance_norm",
    "mx.np.zeros((1, 3, 1, 1)), sizes=(0.5,)": "multibox_prior",
    "mx.np.array([True])": "constraint_check",
    "mx.np.array([0, 0]), mx.np.array([[0, 1]], dtype='int64'), mx.np.array([5, 6])": (
        "index_add index_update"
    ),
}


# Whose results have more than two axes: what is printed has empty lines, which end an example.
_LARGE = ("np.indices", "np.linalg.tensorinv", "np.moveaxis", "np.rollaxis")
# Functions whose examples have more lines.
_LINES = {
    "np.fill_diagonal": ["x = mx.np.zeros((2, 2))", "mx.np.fill_diagonal(x, 3)", "x"],
    "np.from_dlpack": ["mx.np.from_dlpack(mx.np.array([1, 2]))"],
    "np.genfromtxt": ["import io", 'mx.np.genfromtxt(io.StringIO("1 2"))'],
    "np.random.seed": ["mx.np.random.seed(1)"],
    "np.random.shuffle": ["x = mx.np.array([7, 7])", "mx.np.random.shuffle(x)", "x"],
    "npx.random.seed": ["mx.npx.random.seed(1)"],
    "npx.waitall": ["mx.npx.waitall()"],
    "npx.batch_norm": [
        "x, one, zero = mx.np.array([[1, 3]]), mx.np.ones(2), mx.np.zeros(2)",
        "mx.npx.batch_norm(x, one, zero, zero, one, eps=1e-3).shape",
    ],
    "npx.convolution": [
        "x = mx.np.ones((1, 1, 2, 2))",
        "mx.npx.convolution(x, x, kernel=(2, 2), num_filter=1)",
    ],
    "npx.deconvolution": [
        "x, weight = mx.np.ones((1, 1, 1, 1)), mx.np.ones((1, 1, 2, 2))",
        "mx.npx.deconvolution(x, weight, kernel=(2, 2), num_filter=1)",
    ],
    "npx.group_norm": [
        "x, one = mx.np.arange(4).reshape((1, 2, 2)), mx.np.ones(2)",
        "mx.npx.group_norm(x, one, one * 0, 2)",
    ],
    "npx.cond": [
        "x = mx.np.array([1, 2])",
        "mx.npx.cond(lambda x: x.sum() > 2, lambda x: x + 1, lambda x: x, [x])",
    ],
    "npx.ctc_loss": ["mx.npx.ctc_loss(mx.np.zeros((3, 1, 2)), mx.np.array([[1]]))"],
    "npx.from_numpy": ["import numpy as np", "mx.npx.from_numpy(np.ones(2, 'float32'))"],
    "npx.to_dlpack_for_read": [
        "x = mx.np.array([1, 2])",
        "mx.npx.from_dlpack(mx.npx.to_dlpack_for_read(x))",
    ],
    "npx.to_dlpack_for_write": [
        "x = mx.np.array([1, 2])",
        "mx.npx.from_dlpack(mx.npx.to_dlpack_for_write(x))[0] = 5",
        "x",
    ],
    "npx.from_dlpack": [
        "x = mx.np.array([1, 2])",
        "mx.npx.from_dlpack(mx.npx.to_dlpack_for_read(x))",
    ],
    "npx.save": ['mx.npx.save("x.npy", mx.np.ones(2))', 'mx.npx.load("x.npy")'],
    "npx.load": ['mx.npx.save("x.npy", mx.np.ones(2))', 'mx.npx.load("x.npy")'],
    "npx.savez": ['mx.npx.savez("x.npz", a=mx.np.ones(2))', 'mx.npx.load("x.npz")'],
    "npx.roi_pooling": [
        "x = mx.np.arange(16).reshape((1, 1, 4, 4))",
        "mx.npx.roi_pooling(x, mx.np.array([[0, 0, 0, 3, 3]]), (2, 2), 1.0)",
    ],
    "npx.rnn": [
        "x, state, weights = mx.np.ones((3, 1, 2)), mx.np.zeros((1, 1, 2)), mx.np.zeros(12)",
        'mx.npx.rnn(x, weights, state, mode="rnn_tanh", state_size=2, num_layers=1).shape',
    ],
    "npx.multibox_target": [
        "box, truth = [0.1, 0.1, 0.5, 0.5], [0, 0.1, 0.1, 0.5, 0.4]",
        "x = mx.np.array([[box]]), mx.np.array([[truth]]), mx.np.zeros((1, 2, 1))",
        "mx.npx.multibox_target(*x)[2]",
    ],
    "npx.multibox_detection": [
        "chances, box = mx.np.array([[[0.2], [0.8]]]), [[[0.1, 0.1, 0.5, 0.5]]]",
        "mx.npx.multibox_detection(chances, mx.np.zeros((1, 4)), mx.np.array(box))",
    ],
}


def _spread(table, space):
    for args, names in table.items():
        for name in names.split():
            yield f"{space}.{name}", args


def calls():
    """Function to the lines of its example."""
    found = dict(_spread(_ALIKE, "np"))
    found |= {f"np.{name}": args for name, args in _OTHERS.items()}
    for table, space in ((_LINALG, "np.linalg"), (_RANDOM, "np.random"), (_NPX, "npx")):
        found |= dict(_spread(table, space))
    found |= {"npx.random.bernoulli": "0.5, size=(2, 3)", "npx.random.normal_n": "0.0, 1.0, (2, 3)"}
    found["npx.random.uniform_n"] = "0.0, 1.0, (2, 3)"
    made = {}
    for path, args in found.items():
        end = ".shape" if ".random." in path or path in _LARGE else ""
        made[path] = [f"mx.{path}({args}){end}"]
    return made | _LINES


def shown(lines):
    """The lines, each with what an interpreter prints of it."""
    names, out = {"mx": mx}, []
    for line in lines:
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            exec(compile(line, "example", "single"), names)
        out += [f">>> {line}", *written.getvalue().splitlines()]
    return "\n".join(out)


def text():
    """The file."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some write files
        try:
            examples = [(path, lines, shown(lines)) for path, lines in sorted(calls().items())]
        finally:
            os.chdir(here)
    single = [text for path, lines, text in examples if _names_itself(path, lines)]
    longer = [
        f"[{path}]\n{text}" for path, lines, text in examples if not _names_itself(path, lines)
    ]
    return "\n\n".join(["\n".join(single), *longer]) + "\n"


def _names_itself(path, lines):
    """Return whether an example is one call, of the function that it is for."""
    return len(lines) == 1 and lines[0].startswith(f"mx.{path}(")


def main():
    PATH.write_text(text())


if __name__ == "__main__":
    main()
