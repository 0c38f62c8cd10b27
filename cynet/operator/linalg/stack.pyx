# distutils: extra_compile_args = -O3
"""MatrixOperator (contract in stack.pxd), and the common part of its properties."""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.linalg.linalg cimport (
    COMPLEX_VALUES, DET, EIG, EXTRACT_TRIAN, GELQF, INVERSE, MAKE_TRIAN, MAX_PARTS, POTRF, POTRI,
    SLOGDET, SOLVE, SUM_LOG_DIAG, SVD, SYEVD, SYRK, TRMM, TRSM, Arrays,
    part_workspace_elements_double, part_workspace_elements_float, run_double, run_float)
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from math import prod

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, ShapeError
from ...kernels.gemm.blas import check_sizes
from ..checks.dtypes import require_float_cpu
from ..precision import FLOAT32, Precision
from ..property import OperatorProperty, ResourceRequest, merge_shapes

ctypedef fused real:
    float
    double

_OPERATION_CODES = {  # name -> code of the kernels
    "TRMM": TRMM, "TRSM": TRSM, "SYRK": SYRK, "EXTRACT_TRIAN": EXTRACT_TRIAN,
    "MAKE_TRIAN": MAKE_TRIAN, "POTRF": POTRF, "POTRI": POTRI, "GELQF": GELQF, "SYEVD": SYEVD,
    "INVERSE": INVERSE, "DET": DET, "SLOGDET": SLOGDET, "SUM_LOG_DIAG": SUM_LOG_DIAG,
    "SOLVE": SOLVE, "SVD": SVD, "EIG": EIG,
}


class MatrixProperty(OperatorProperty):  # base: matrices in the last two axes
    """Base of operators on float32 or float64 matrices in the last two axes."""

    inputs_doc = {"A": "Matrices in the last two axes."}
    operation = None  # an operation of kernels/linalg/stack.h
    amp = Precision(FLOAT32)

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def infer_shape(self, in_shapes, out_shapes):  # square matrices in and out
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is not None:
            shape = require_square(self, "A", shape)
        return [shape], [shape], []

    def matrix_stack_sizes(self, in_shapes):
        """Return (axes of the stack, rows, columns) for `MatrixOperator`."""
        *leading, m, n = in_shapes[0]
        return leading, m, n

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        leading, m, n = self.matrix_stack_sizes(in_shapes)
        return MatrixOperator(self, in_types[0], prod(leading), m, n)


def require_matrices(prop, name, shape):
    """Return `shape` if it is that of an array of matrices, else raise ShapeError."""
    if len(shape) < 2:
        refuse_shape(prop, name, shape, "at least two axes")
    return shape


def require_square(prop, name, shape):
    """Return `shape` with both lengths of its square matrices, or raise ShapeError."""
    *leading, m, n = require_matrices(prop, name, shape)
    if m and n and m != n:
        refuse_shape(prop, name, shape, "square matrices in the last two axes")
    return (*leading, m or n, n or m)


def refuse_shape(prop, name, shape, wanted):
    raise ShapeError(
        f"operator {prop.op_name}: '{name}' has shape {tuple(shape)}, expected {wanted}")


cdef int _raise_lapack_error(MatrixOperator self, int64_t which, int64_t info) except -1 with gil:
    reasons = {
        POTRF: "is not positive definite: its leading part of size {} is not",
        POTRI: "is not a Cholesky factor: its diagonal is 0 at row {}",
        INVERSE: "is singular: pivot {} of its factorization is 0",
        SOLVE: "is singular: pivot {} of its factorization is 0",
        SYEVD: "has no eigenvectors that LAPACK finds (info {}); are there NaN or infinite values?",
    }
    if self.stack.op == EIG and info == COMPLEX_VALUES:
        reasons[EIG] = "has complex eigenvalues: an array of floats does not hold them"
    reason = reasons.get(self.stack.op, "is one that LAPACK refuses (info {}); is there a NaN?")
    raise ArgumentError(
        f"operator {self.name}: matrix {which} of {self.batch} {reason.format(info)}")


cdef class MatrixOperator(Operator):  # runs an operation on a batch of matrices
    """`batch` matrices of (m, n)."""

    def __init__(self, prop, dtype, batch, m, n):
        check_sizes(f"operator {prop.op_name}", m, n)
        self.name = prop.op_name
        self.dtype = dtype_flag(dtype)
        self.batch = batch
        self.stack.op = _OPERATION_CODES[prop.operation]
        self.stack.m, self.stack.n = m, n
        self.stack.alpha = getattr(prop, "alpha", 1.0)
        self.stack.transpose = getattr(prop, "transpose", False)
        self.stack.right = getattr(prop, "rightside", False)
        self.stack.lower = getattr(prop, "lower", True)
        self.stack.offset = getattr(prop, "offset", 0)
        self.work = max(m, n) * m * n
        if self.stack.op in (EXTRACT_TRIAN, MAKE_TRIAN, SUM_LOG_DIAG):
            self.work = m * n

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if self.dtype == kFloat32:
            return _run[float](self, ctx, NULL, in_data, NULL, req, out_data, ctx.n_out, <float>0)
        return _run[double](self, ctx, NULL, in_data, NULL, req, out_data, ctx.n_out, 0.0)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if self.dtype == kFloat32:
            return _run[float](self, ctx, out_grad, in_data, out_data, req, in_grad, ctx.n_in,
                               <float>0)
        return _run[double](self, ctx, out_grad, in_data, out_data, req, in_grad, ctx.n_in, 0.0)


cdef int _run(MatrixOperator self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
              const TBlob* out_data, const int* req, TBlob* target, int n_targets,
              real kind) except -1 nogil:
    cdef Arrays[real] a
    cdef int i, parts
    cdef int64_t info = 0, bad, workspace
    cdef bint any_target = False
    cdef real* space
    a.n_targets = n_targets
    for i in range(3):
        a.target[i] = NULL
        a.add[i] = False
        if i < n_targets and req[i] != kNullOp:
            a.target[i] = <real*>target[i].data
            a.add[i] = req[i] == kAddTo
            any_target = True
        a.in_[i] = NULL
        a.in_sizes[i] = 0
        if i < ctx.n_in:
            a.in_[i] = <const real*>in_data[i].data
            # arrays that backward does not read have no size
            a.in_sizes[i] = (target[i].size if out_grad != NULL and req[i] != kNullOp
                             else in_data[i].size) // self.batch
    for i in range(3):
        a.out[i] = NULL
        a.grad[i] = NULL
        a.out_sizes[i] = 0
        if i < ctx.n_out:
            a.out_sizes[i] = (out_grad[i] if out_grad != NULL else target[i]).size // self.batch
            if out_grad != NULL:
                a.out[i] = <const real*>out_data[i].data
                a.grad[i] = <const real*>out_grad[i].data
    if not any_target:
        return 0
    # for a single matrix, its products use the threads
    parts = <int>min(<int64_t>min(threads_for(self.batch * self.work), MAX_PARTS), self.batch)
    if real is float:
        workspace = part_workspace_elements_float(&self.stack, &a)
    else:
        workspace = part_workspace_elements_double(&self.stack, &a)
    space = <real*>get_space(&ctx.requested[0], max(<size_t>1, parts * workspace * sizeof(real)))
    if real is float:
        bad = run_float(&self.stack, &a, out_grad != NULL, self.batch, parts, space, &info)
    else:
        bad = run_double(&self.stack, &a, out_grad != NULL, self.batch, parts, space, &info)
    return _raise_lapack_error(self, bad, info) if bad >= 0 else 0
