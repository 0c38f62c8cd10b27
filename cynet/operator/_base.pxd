"""Operators that run: Operator, the context it runs in, and the table of registered operators.

An Operator is made by its OperatorProperty for fixed shapes and types. Written in Cython it
overrides the two cdef methods below, which cost one virtual call and run without the GIL. Written
in Python it defines methods of the same names; the default cdef methods take the GIL and call them.
"""

from .._ndarray cimport RowSet
from .._resource cimport Resource
from .._typedefs cimport RunContext, TBlob

cdef struct OpContext:  # what forward and backward get beside tensors
    int is_train
    RunContext run_ctx
    Resource* requested  # resources in the order of forward_resource / backward_resource
    int n_requested
    int n_in             # numbers of in_data, out_data (= out_grad) and aux_states
    int n_out
    int n_aux
    # NULL, or where backward stores the indices of a gradient's rows (Operator._rows_of): if they
    # are `known`, all other rows are zeros.
    RowSet* rows

cdef class Operator:  # forward and backward for fixed shapes and dtypes
    # True if a pass calls Python code: the engine then runs it on a Python worker.
    cdef readonly bint runs_python
    # Errors: return -1 with an exception set (`with gil: raise ...`). Must be safe to run from
    # several threads at once unless `stateful` is set.
    cdef public bint stateful
    # Set by __init__: index of the input whose gradient has few nonzero rows; backward stores their
    # indices in ctx.rows unless that is NULL. 0: none.
    cdef int _rows_of
    # Owner of the tensors' memory, which views in Python code keep alive; or None.
    cdef public object memory_owner
    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil
    # Tensors that declare_backward_dependency does not name have data == NULL, and so has the
    # out_grad of hidden outputs.
    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil

cdef class Blob:  # a tensor (TBlob) for Python code
    # A TBlob for Python code: buffer protocol, shape, dtype, ctx. Valid while the operator runs.
    cdef TBlob blob
    cdef Py_ssize_t _shape[8]
    cdef Py_ssize_t _strides[8]

    @staticmethod
    cdef Blob wrap(const TBlob* blob)

cdef class OpEntry:  # a registered operator
    # A registered operator, which mx.nd, mx.sym and mx.np look up by name.
    cdef readonly str name          # canonical name, which JSON files contain
    cdef readonly object prop       # the OperatorProperty subclass
    cdef readonly tuple aliases
    cdef readonly dict cache        # signature -> prepared imperative call; last: used last
    cdef readonly str doc
