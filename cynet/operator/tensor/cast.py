"""Operators that change the dtype: Cast, amp_cast, amp_multicast.

Real to integer truncates; the gradient is cast back.
"""

from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import MAX_ARRAYS, Bool, DType, Int
from ..precision import EITHER, Precision
from ..property import merge_shapes
from ..second_order import Linear
from ..storage_types import elementwise_rule


class CastProperty(KernelProperty, operator="Cast", aliases=("cast",)):
    """The input in another dtype."""

    inputs_doc = {"data": "The input, any shape and dtype."}
    graph = GraphHooks(bfloat16_loops=True)
    dtype = DType(doc="Type of the output.")
    forward = Kernel("cast")
    backward = Kernel("cast", ("d_output",), ("d_data",))
    floats = ()
    second_order = Linear()
    sparse = elementwise_rule()
    example = """
    >>> mx.nd.cast(mx.nd.array([0.9, 1.5, -1.5]), dtype="int32")
    [ 0  1 -1]
    <NDArray 3 @cpu(0)>
    """

    def infer_type(self, in_types, out_types):
        return [in_types[0]], [self.dtype], []


# dtypes that automatic mixed precision casts, narrow ones first; float64 is a user's choice
AMP_DTYPES = ("bfloat16", "float16", "float32")  # dtypes that amp_cast casts


class AmpCastProperty(CastProperty, operator="amp_cast"):
    """The input in another dtype if it is bfloat16, float16 or float32, else unchanged; inserted by
    automatic mixed precision."""

    sparse = None
    amp = Precision(EITHER, None)
    example = """
    >>> mx.nd.amp_cast(mx.nd.array([0.1, 1]), dtype="float16")
    [0.1 1. ]
    <NDArray 2 @cpu(0)>
    """

    def infer_type(self, in_types, out_types):
        kind = in_types[0]
        if kind is None:
            return in_types, [None], []
        return in_types, [self.dtype if kind in AMP_DTYPES else kind], []


class AmpMulticastProperty(KernelProperty, operator="amp_multicast"):
    """Inputs of bfloat16, float16 and float32 in one dtype, the wider that is there; others as they
    are. bfloat16 and float16 beside each other become float32."""

    key_var_num_args = "num_outputs"
    num_outputs = Int(doc="Number of inputs; filled in from the call.", low=1, high=MAX_ARRAYS)
    cast_narrow = Bool(False, doc="True: the narrower.")
    graph = GraphHooks(takes_empty=True, bfloat16_loops=True)
    floats = ()
    second_order = Linear()
    amp = Precision(EITHER, None)
    example = """
    >>> x, y = mx.nd.amp_multicast(mx.nd.ones((2,), dtype="float16"), mx.nd.ones((3,)))
    >>> x.dtype, y.dtype
    (<class 'numpy.float32'>, <class 'numpy.float32'>)
    """

    def list_arguments(self):
        return [f"data_{i}" for i in range(self.num_outputs)]

    def list_outputs(self):
        return (
            [f"output{i}" for i in range(self.num_outputs)] if self.num_outputs > 1 else ["output"]
        )

    def infer_shape(self, in_shapes, out_shapes):
        shapes = [merge_shapes(*pair) for pair in zip(in_shapes, out_shapes)]
        return shapes, shapes, []

    def infer_type(self, in_types, out_types):
        if None in in_types:
            return in_types, [None] * self.num_outputs, []
        floating = sorted((t for t in in_types if t in AMP_DTYPES), key=AMP_DTYPES.index)
        at = 0 if self.cast_narrow else len(floating) - 1
        common = floating[at] if floating else None
        if not self.cast_narrow and {"bfloat16", "float16"} <= {*floating}:
            common = "float32"  # neither dtype holds all values of the other
        return in_types, [common if t in AMP_DTYPES else t for t in in_types], []

    @property
    def forward(self):
        """A copying kernel for each array."""
        pairs = zip(self.list_arguments(), self.list_outputs())
        return tuple(Kernel("cast", (name,), (out,)) for name, out in pairs)

    @property
    def backward(self):
        """A copying kernel for each gradient."""
        pairs = zip(self.list_arguments(), self.list_outputs())
        return tuple(Kernel("cast", (f"d_{out}",), (f"d_{name}",)) for name, out in pairs)
