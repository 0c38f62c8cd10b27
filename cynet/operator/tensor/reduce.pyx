"""Operators of the reductions over axes (``functions/reductions.py``), and norm.

``output = R(data over axis)``; the gradient is ``out_grad * G(data, output)``, repeated along the
reduced axes. Sums and products are carried in float64 (integers in int64), whatever the array's
dtype.
"""

from ..._typedefs cimport TBlob, kAddTo, kFloat64, kNullOp
from ...kernels.elementwise.elementwise cimport (
    Kernel, Space, broadcast_binary, broadcast_grad, make_space, run_cast
)
from ...kernels.reduce.reduce cimport ReduceLoop, ReduceSpace, make_reduce_space, run_reduce
from ...kernels.table cimport find_binary, find_binary_grad, find_reduce
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from ..functions.classes import register_reductions
from ..functions.derivatives import make_reduction_rule
from ..graph_hooks import GraphHooks
from ..elementwise_loop import fits_dtype
from ..out_dtype import OutDType, cast_gradients_back
from ..parameters import Bool, DType, Int, Shape
from ..precision import FLOAT32, Precision
from ..sparse.reductions import NORM
from ..property import OperatorProperty, ShapesFromInput
from ..second_order import Formula
from .axes import axes_of


class ReduceHooks(GraphHooks):
    """Graph hooks of reductions: each is one pass over the input."""

    def takes_bfloat16(self, prop, in_shapes, in_types):
        return not prop.mean  # bfloat16 would round the factor of a mean's gradient

    def is_memory_bound(self, prop, in_shapes):
        return True


class ReduceProperty(ShapesFromInput, OperatorProperty):
    """Base class of the reductions."""

    inputs_doc = {"data": "The input, any shape."}
    axis = Shape(None, doc="Axis or axes to reduce; None or () reduces all.")
    keepdims = Bool(False, doc="Keep the reduced axes with length 1.")
    exclude = Bool(False, doc="Reduce the axes that are not in `axis`.")
    graph = ReduceHooks()
    function = reduction = None  # names of the function and of its reducer
    gradient = None
    reads = True    # whether the gradient is a function of data and output
    mean = False

    @staticmethod
    def class_attributes(row):
        return {"graph": ReduceHooks(of_nothing=row.of_nothing)}

    def reduced_axes(self, ndim):
        """The axes to reduce over, sorted."""
        return axes_of(self.axis, ndim, self.exclude)

    def shapes_from(self, shape):
        gone = self.reduced_axes(len(shape))
        if self.keepdims:
            out = tuple(1 if i in gone else n for i, n in enumerate(shape))
        else:
            out = tuple(n for i, n in enumerate(shape) if i not in gone) or self.no_axes
        return shape, out

    def create_operator(self, ctx, in_shapes, in_types):
        return ReduceOperator(self, in_shapes[0], in_types[0], self.reduction)


cdef class ReduceOperator(Operator):
    """One reduction for one shape and dtype."""

    cdef ReduceLoop loop
    cdef ReduceSpace space
    cdef Space spread       # operands in_grad, out_grad, data, output
    cdef Kernel grad_write, grad_add
    cdef bint reads
    cdef double divisor     # number of elements folded into one, for means; else 1
    cdef char weight[8]     # 1 / divisor, or divisor if `divides`, in the array's dtype
    cdef bint divides

    def __init__(self, prop, shape, dtype, str reduction):
        cdef int flag = dtype_flag(dtype), i, ndim = len(shape)
        cdef bint gone[8]
        cdef TBlob full, result
        cdef const TBlob* operands[4]
        cdef double weight
        cdef bytes gradient = prop.gradient.encode()
        full.ndim = result.ndim = ndim
        reduced = prop.reduced_axes(ndim)
        for i in range(ndim):
            gone[i] = i in reduced
            full.shape[i] = shape[i]
            result.shape[i] = 1 if gone[i] else shape[i]
        make_reduce_space(&self.space, ndim, full.shape, gone)
        operands[0] = operands[2] = &full
        operands[1] = operands[3] = &result
        make_space(&self.spread, operands, 4)
        self.loop = find_reduce(reduction.encode(), flag)
        self.grad_write = find_binary_grad(gradient, flag, False)
        self.grad_add = find_binary_grad(gradient, flag, True)
        self.reads = prop.reads
        # a mean of bool is true if any element is: bool holds no fraction
        self.divisor = self.space.reduced_size if prop.mean and dtype != "bool" else 1.0
        # an integer has no reciprocal: the gradient is divided
        self.divides = prop.mean and dtype in ("uint8", "int8", "int32", "int64")
        if self.divides:
            self.grad_write = find_binary(b"div", flag, False)
            self.grad_add = find_binary(b"div", flag, True)
        weight = 1.0 / self.divisor
        if self.divides:  # a divisor beyond the dtype's range makes every quotient 0
            weight = self.divisor if fits_dtype(self.divisor, dtype) else 0.0
        run_cast(kFloat64, flag, &weight, self.weight, 1)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_reduce(self.loop, &self.space, in_data[0].data, out_data[0].data,
                       req[0] == kAddTo, self.divisor)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const Kernel* kernel = &self.grad_add if req[0] == kAddTo else &self.grad_write
        cdef Space space = self.spread
        cdef void* data = in_data[0].data
        cdef void* output = out_data[0].data
        cdef int i
        if req[0] == kNullOp:
            return 0
        if not self.reads:  # the kernel reads `weight` alone
            data = output = self.weight
            for i in range(space.ndim):
                space.stride[2][i] = space.stride[3][i] = 0
        if self.divides:
            for i in range(space.ndim):  # operands in_grad, out_grad, the number of elements
                space.stride[2][i] = 0
            space.operands = 3
            broadcast_binary(kernel, &space, out_grad[0].data, data, in_grad[0].data)
        else:
            broadcast_grad(kernel, &space, out_grad[0].data, data, output, in_grad[0].data)
        return 0


def _norm_gradients(p, F, g, x, y):
    def l2_gradient(F, spread, g, x, y):  # 0 where the norm is 0
        none = y == 0
        scale = g / F.where(none, F.ones_like(y), y)
        return spread(F.where(none, F.zeros_like(scale), scale)) * x

    def l1_gradient(F, spread, g, x, y):
        return spread(g) * F.sign(x)

    return make_reduction_rule(l1_gradient if p.ord == 1 else l2_gradient).gradients(p, F, g, x, y)


class NormProperty(OutDType, ReduceProperty, operator="norm"):
    """Norm over axes: ord 1 sums absolute values, ord 2 is the root of the sum of squares."""

    parameter_order = ("ord", "axis", "out_dtype", "keepdims")
    ord = Int(2, doc="Order of the norm, 1 or 2.")
    axis = Shape(None, doc="Axis or axes to reduce; None reduces all.")
    out_dtype = DType(None, doc="Dtype of the output; another than the input's for floats alone.")
    keepdims = Bool(False, doc="Keep the reduced axes with length 1.")
    exclude = False
    dtype_parameter = "out_dtype"
    graph = ReduceHooks(of_nothing=0.0)
    amp = Precision(FLOAT32)
    sparse = NORM
    methods = ("norm",)
    second_order = Formula(cast_gradients_back(_norm_gradients))
    in_sparse = ("norm",)
    example = """
    >>> x = mx.nd.array([[3, 4], [6, 8]])
    >>> mx.nd.norm(x, axis=1)
    [ 5. 10.]
    <NDArray 2 @cpu(0)>
    >>> mx.nd.norm(x, ord=1, axis=1, keepdims=True)
    [[ 7.]
     [14.]]
    <NDArray 2x1 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.ord not in (1, 2):
            raise ArgumentError(f"operator norm: parameter 'ord' takes 1 or 2, got {self.ord}")
        self.gradient = "sign_grad" if self.ord == 1 else "norm_grad"
        self.reduction = "norm1" if self.ord == 1 else "norm2"

    def create_without_cast(self, ctx, in_shapes, in_types):
        return ReduceProperty.create_operator(self, ctx, in_shapes, in_types)


register_reductions(ReduceProperty)
