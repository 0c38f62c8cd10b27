"""Operators that choose by value: clip, hard_sigmoid and where."""

from ...base.errors import ArgumentError, ShapeError
from ..checks.dtypes import GPU_FLOATS
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float
from ..precision import EITHER, WIDEST, Precision
from ..property import is_known, merge_shapes
from ..second_order import Flat, Linear
from ..sparse.elementwise import NEEDS_DENSE
from ..storage_types import elementwise_rule


class ClipProperty(KernelProperty, operator="clip"):
    """Each element limited to [a_min, a_max].

    The gradient passes where ``a_min <= data <= a_max``.
    """

    inputs_doc = {"data": "The input, any shape."}
    graph = GraphHooks(elementwise=True)
    forward = Kernel("clip", in_place=(("data", "output"),))
    backward = Kernel(
        "clip_grad", ("d_output", "data"), ("d_data",), in_place=(("d_output", "d_data"),)
    )
    floats = ()
    a_min = Float(doc="Lower limit.")
    a_max = Float(doc="Upper limit.")
    second_order = Flat()
    sparse = elementwise_rule(lambda prop: prop.a_min <= 0 <= prop.a_max)
    amp = Precision(EITHER, EITHER)
    methods = ("clip",)
    in_sparse = ("clip",)
    example = """
    >>> mx.nd.clip(mx.nd.array([-2, 0, 0.5, 3]), a_min=-1, a_max=1)
    [-1.   0.   0.5  1. ]
    <NDArray 4 @cpu(0)>
    """

    def kernel_params(self, in_shapes):
        return {"low": self.a_min, "high": self.a_max}


class HardSigmoidProperty(KernelProperty, operator="hard_sigmoid"):
    """``output = alpha * data + beta``, limited to [0, 1]."""

    inputs_doc = {"data": "The input, any shape."}
    graph = GraphHooks(elementwise=True)
    forward = Kernel("hard_sigmoid", in_place=(("data", "output"),))
    backward = Kernel(
        "hard_sigmoid_grad", ("d_output", "output"), ("d_data",), in_place=(("d_output", "d_data"),)
    )
    float_types = GPU_FLOATS
    alpha = Float(0.2, doc="Slope.")
    beta = Float(0.5, doc="Shift.")
    second_order = Flat()
    example = """
    >>> mx.nd.hard_sigmoid(mx.nd.array([-3, 0, 1, 3]))
    [0.  0.5 0.7 1. ]
    <NDArray 4 @cpu(0)>
    """

    def kernel_params(self, in_shapes):
        return {"slope": self.alpha, "shift": self.beta}


class WhereProperty(KernelProperty, operator="where"):
    """Elements of x where the condition is nonzero, of y elsewhere.

    A condition of one axis may also choose whole rows: its length is that of x's first axis.
    """

    inputs_doc = {
        "condition": "Of the shape of x, or of its first axis alone; any dtype.",
        "x": "Taken where the condition is nonzero.",
        "y": "Taken elsewhere; of the shape of x.",
    }
    forward = Kernel("where", ("condition", "x", "y"))
    backward = Kernel("where_grad", ("condition", "d_output"), ("d_x", "d_y"))
    zeros = ("d_condition",)
    floats = ()
    second_order = Linear({1: (), 2: ()})
    sparse = NEEDS_DENSE
    amp = Precision(WIDEST, WIDEST)
    in_sparse = ("where",)
    example = """
    >>> mx.nd.where(mx.nd.array([1, 0, 1]), mx.nd.array([1, 2, 3]), mx.nd.array([-1, -2, -3]))
    [ 1. -2.  3.]
    <NDArray 3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        condition, *rest = in_shapes
        shape = merge_shapes(*rest, *out_shapes)
        if condition is not None and shape is not None:
            if len(condition) == 1 and len(shape) != 1:
                if is_known(condition) and shape[0] not in (0, condition[0]):
                    raise ShapeError(f"where: condition {condition} chooses rows of {shape}")
            else:
                condition = merge_shapes(condition, shape)
        return [condition, shape, shape], [shape], []

    def infer_type(self, in_types, out_types):
        known = next((t for t in (*in_types[1:], *out_types) if t is not None), None)
        if any(t not in (None, known) for t in (*in_types[1:], *out_types)):
            raise ArgumentError(
                f"where: x, y and the output have types {in_types[1:]}, {out_types}"
            )
        return [in_types[0] or known, known, known], [known], []

    def kernel_dtype(self, in_types):
        return in_types[1]
