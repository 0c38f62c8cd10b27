"""_sample_multinomial and _shuffle: draws from tables of probabilities, random orders.

Multinomial: data (s, k) holds a table of k weights in each row; the output (s, shape) holds indices
below k, each drawn with probability weight / (sum of the row). With get_prob a second output of the
same shape holds the logarithm of the drawn entries' probabilities, and its gradient reaches data:
in_grad[r, j] = sum over draws i of row r with index j of out_grad[i] / data[r, j].

Shuffle: rows of data (n, ...) in random order.
"""

from ...base.errors import ArgumentError, shown
from ..checks.index_dtype import IndexWrite
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, DType, Shape
from ..precision import EITHER, Precision
from ..property import merge_shapes
from ..second_order import Refused

_FLOATS = ("bfloat16", "float16", "float32", "float64")  # dtypes of the probabilities
_INDEX_TYPES = ("float16", "float32", "float64", "int32", "int64", "uint8")  # of drawn indices


class MultinomialProperty(
    KernelProperty, operator="_sample_multinomial", aliases=("sample_multinomial",)
):
    """Indices drawn with the probabilities in each row of `data`.

    Rows need not add up to 1: each is divided by its sum. The output has the leading axes of `data`
    and then `shape`; without `shape` each row gives one number.
    """

    shape = Shape((), "Shape of the sample for each row.", low=1)
    get_prob = Bool(False, "Also return the logarithm of the probabilities of what was drawn.")
    dtype = DType("int32", "Type of the indices.")
    inputs_doc = {"data": "Weights that are not negative, shape (s, k)."}
    floats = ()
    second_order = Refused("What was drawn is another number as soon as the weights change.")
    example = """
    >>> p = mx.nd.array([[0, 1, 0], [0, 0, 1]])
    >>> mx.nd.sample_multinomial(p, shape=4)
    [[1 1 1 1]
     [2 2 2 2]]
    <NDArray 2x4 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.dtype not in _INDEX_TYPES:
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'dtype' takes one of "
                f"{', '.join(_INDEX_TYPES)}, got {shown(self.dtype)}"
            )
        self.differentiable = self.get_prob

    def list_outputs(self):
        return ["output0", "output1"] if self.get_prob else ["output"]

    def infer_shape(self, in_shapes, out_shapes):
        data = in_shapes[0]
        if data is None:
            return in_shapes, out_shapes, []
        if len(data) == 1:
            out = self.shape or self.no_axes
        else:
            out = (*data[: len(data) - 1], *self.shape)
        out = merge_shapes(out, *out_shapes)
        return [data], [out] * len(out_shapes), []

    def infer_type(self, in_types, out_types):
        data = in_types[0] or (out_types[1] if self.get_prob else None) or "float32"
        if data not in _FLOATS:
            raise ArgumentError(
                f"operator {self.op_name}: data must be {', '.join(_FLOATS)}, got {data}"
            )
        return [data], [self.dtype, data] if self.get_prob else [self.dtype], []

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexWrite(("output", self.dtype, in_shapes[0][-1]))]

    @property
    def forward(self):
        """The kernel, with the requested outputs."""
        writes = (*self.list_outputs(), "none?")[:2]
        return Kernel("multinomial", writes=writes, draws=True)

    @property
    def backward(self):
        """The kernel for the gradient of `get_prob`'s output."""
        out = self.list_outputs()[0]
        return Kernel("multinomial_grad", ("d_output1?", "data", out), ("d_data",))

    def kernel_error(self, item, values):
        return ArgumentError(
            f"operator _sample_multinomial: expected probabilities in row {item} of data: its "
            "entries must not be negative, and one must be positive and all finite"
        )


class ShuffleProperty(KernelProperty, operator="_shuffle", aliases=("shuffle",)):
    """The rows of `data` (its first axis) in random order."""

    differentiable = False
    inputs_doc = {"data": "Array of any shape."}
    forward = Kernel("shuffle", draws=True)
    floats = ()
    amp = Precision(EITHER, EITHER)
    example = """
    >>> mx.random.seed(1)
    >>> mx.nd.sort(mx.nd.shuffle(mx.nd.array([1, 2, 3])))
    [1. 2. 3.]
    <NDArray 3 @cpu(0)>
    """
