"""KernelOperator: an operator that is a kernel for forward and one for backward.

It alone knows which tensors a declaration names, what requests ask for, and how many threads a call
is worth; kernels know tensors and parameters.
"""

from libc.stdint cimport int64_t

from .._typedefs cimport TBlob, kAddTo, kNullOp
from ..kernels.parallel cimport threads_for
from ..kernels.table cimport Args, Blob, Kernel, MAX_TENSORS, find_kernel
from ._base cimport Operator, OpContext

from ..base.dtype import dtype_flag
from ..base.errors import ArgumentError

cdef enum Source:
    IN_DATA
    OUT_DATA
    OUT_GRAD
    AUX

cdef struct Tensor:
    int source
    int index


cdef class KernelCall:
    """A kernel, and which tensors of an operator it reads and writes."""

    cdef Kernel kernel
    cdef int n_read, n_written
    cdef Tensor reads[8]
    cdef int writes[8]  # which outputs, or which gradients of inputs

    def __init__(self, str name, dtype, dict params, list reads, list writes):
        if len(reads) > MAX_TENSORS or len(writes) > MAX_TENSORS:
            raise ArgumentError(f"kernel {name}: expected at most {MAX_TENSORS} tensors that it "
                                f"reads and as many that it writes, got {len(reads)} and "
                                f"{len(writes)}")
        self.kernel = find_kernel(name, dtype_flag(dtype), params)
        self.n_read, self.n_written = len(reads), len(writes)
        for i, (source, index) in enumerate(reads):
            self.reads[i].source, self.reads[i].index = source, index
        for i, index in enumerate(writes):
            self.writes[i] = index

    cdef int call(self, const TBlob* in_data, const TBlob* out_data, const TBlob* out_grad,
                  const TBlob* aux, const int* req, const TBlob* targets) noexcept nogil:
        cdef Args args
        cdef const TBlob* tensor
        cdef int64_t largest = 0
        cdef int i, request
        cdef bint any_wanted = False
        for i in range(self.n_written):
            request = req[self.writes[i]]
            tensor = &targets[self.writes[i]]
            args.out[i] = <const Blob*>tensor
            args.wanted[i] = request != kNullOp
            args.add[i] = request == kAddTo
            any_wanted = any_wanted or request != kNullOp
            if request != kNullOp:
                largest = max(largest, tensor.size)
        if not any_wanted:
            return 0
        for i in range(self.n_read):
            if self.reads[i].source == IN_DATA:
                tensor = &in_data[self.reads[i].index]
            elif self.reads[i].source == OUT_DATA:
                tensor = &out_data[self.reads[i].index]
            elif self.reads[i].source == OUT_GRAD:
                tensor = &out_grad[self.reads[i].index]
            else:
                tensor = &aux[self.reads[i].index]
            args.in_[i] = <const Blob*>tensor
            largest = max(largest, tensor.size)
        args.params = self.kernel.params
        args.threads = threads_for(largest * self.kernel.cost)
        self.kernel.run(args)
        return 0


cdef class KernelOperator(Operator):
    """Runs the kernels that a declaration names.

    Parameters
    ----------
    prop : KernelProperty
    dtype : str
        Of the arrays, by which forms of the kernels are chosen.
    params : dict
        Parameters of both kernels by name.
    """

    cdef KernelCall forward_call
    cdef KernelCall backward_call  # None: there is no gradient

    def __init__(self, prop, dtype, params):
        n_in, n_out = len(prop.list_arguments()), len(prop.list_outputs())
        names = prop.named([(<int>IN_DATA, i) for i in range(n_in)],
                           [(<int>OUT_DATA, i) for i in range(n_out)],
                           [(<int>OUT_GRAD, i) for i in range(n_out)])
        names |= {name: (<int>AUX, i) for i, name in enumerate(prop.list_auxiliary_states())}
        into = prop.named(out_data=range(n_out), in_grad=range(n_in))
        calls = []
        for kernel in (prop.forward, prop.backward):
            calls.append(None if kernel is None else KernelCall(
                kernel.name, dtype, params, [names[n] for n in kernel.reads],
                [into[n] for n in kernel.writes]))
        self.forward_call, self.backward_call = calls

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        return self.forward_call.call(in_data, out_data, NULL, aux_states, req, out_data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        return self.backward_call.call(in_data, out_data, out_grad, aux_states, req, in_grad)
