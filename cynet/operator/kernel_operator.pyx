"""KernelOperator: an operator that is kernels, some for forward and some for backward.

It alone knows which tensors a declaration names, what requests ask for, workspace, and how many
threads a call is worth; kernels know tensors and parameters.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from .._resource cimport get_space, kTempSpace
from .._typedefs cimport TBlob, aligned, dtype_size, kAddTo, kNullOp, kWriteTo
from ..kernels.common.by_dtype cimport add_elements
from ..kernels.isa.dispatch cimport cpu_level
from ..kernels.parallel cimport threads_if_awake, threads_for
from ..kernels.table cimport Args, Blob, Failure, Kernel, MAX_TENSORS, find_kernel
from ._base cimport Operator, OpContext

from ..base.dtype import dtype_flag
from ..base.errors import ArgumentError

cdef enum Source:  # lists of an operator's tensors
    IN_DATA
    OUT_DATA
    OUT_GRAD
    IN_GRAD
    AUX
    ABSENT

cdef struct TensorId:  # one of an operator's tensors: list and position
    int source
    int index

cdef enum:
    MAX_CALL_TENSORS = 72  # MAX_TENSORS
    MAX_WHOLE = 8  # maximum of outputs of a `whole` kernel


cdef class KernelCall:  # a kernel, its tensors, and the next call
    """A kernel, the operator's tensors that it reads and writes, and the call that follows."""

    cdef Kernel kernel
    cdef KernelCall then
    cdef void* next  # `then`, or NULL
    cdef int n_read, n_written
    cdef int64_t work  # number of elements for the cost; -1: those of the largest tensor
    cdef TensorId reads[MAX_CALL_TENSORS]
    cdef TensorId writes[MAX_CALL_TENSORS]
    cdef bint whole

    def __init__(self, prop, kernel, dtype, dict params, dict sources, work, KernelCall then):
        name, reads, writes = kernel.name, kernel.reads, kernel.writes
        if len(reads) >= MAX_TENSORS or len(writes) >= MAX_TENSORS:  # NULL follows the last one
            raise ArgumentError(f"kernel {name}: expected at most {MAX_TENSORS - 1} tensors that "
                                f"it reads and as many that it writes, got {len(reads)} and "
                                f"{len(writes)}")
        if kernel.whole and len(writes) > MAX_WHOLE:
            raise ArgumentError(f"kernel {name}: expected at most {MAX_WHOLE} tensors that a whole "
                                f"kernel writes, got {len(writes)}")
        self.kernel = find_kernel(name, dtype_flag(dtype), params, prop)
        self.then, self.next = then, NULL if then is None else <void*>then
        self.whole = kernel.whole
        self.n_read, self.n_written = len(reads), len(writes)
        self.work = -1 if work is None else work
        for i, each in enumerate(reads):
            self.reads[i] = _parse_tensor_id(each, sources)
        for i, each in enumerate(writes):
            self.writes[i] = _parse_tensor_id(each, sources)

    cdef int run_chain(self, OpContext* ctx, const TBlob** tensors, const int* req,
                       object prop) except -1 nogil:
        cdef void* each = <void*>self
        while each != NULL:
            (<KernelCall>each).run(ctx, tensors, req, prop)
            each = (<KernelCall>each).next
        return 0

    cdef int run(self, OpContext* ctx, const TBlob** tensors, const int* req,
                 object prop) except -1 nogil:
        cdef Args args
        cdef Failure failure
        cdef const TBlob* tensor
        cdef TBlob beside[MAX_WHOLE]  # stand-ins for outputs that are not overwritten
        cdef int64_t largest = 0, own = 0, work, nbytes
        cdef int i, request
        cdef bint any_wanted = False
        memset(&args, 0, sizeof(Args))  # tensors that the call does not name are absent
        for i in range(self.n_written):
            tensor = _find_tensor(&self.writes[i], tensors)
            request = kNullOp if tensor == NULL else kWriteTo
            if tensor != NULL and self.writes[i].source != AUX:
                request = req[self.writes[i].index]
            args.out[i] = <const Blob*>tensor
            args.wanted[i] = self.whole or request != kNullOp
            args.add[i] = not self.whole and request == kAddTo
            if request != kNullOp:
                any_wanted = True
                largest = max(largest, tensor.size)
        if not any_wanted:
            return 0
        for i in range(self.n_read):
            tensor = _find_tensor(&self.reads[i], tensors)
            args.in_[i] = <const Blob*>tensor
            if tensor != NULL:
                largest = max(largest, tensor.size)
        args.params, args.level = self.kernel.params, cpu_level()
        args.training = ctx.is_train
        work = (largest if self.work < 0 else self.work) * self.kernel.cost
        args.threads = threads_for(work)
        if args.threads == 1:
            args.threads = threads_if_awake(work)
        args.failure = &failure
        if ctx.rows != NULL:
            args.rows, args.rows_known = ctx.rows.bits.data(), ctx.rows.known
            ctx.rows.maximum.store(min(args.in_[0].size, <int64_t>ctx.rows.n))
        if self.kernel.space != NULL:
            own = aligned(self.kernel.space(args))
        nbytes = self._to_scratch(&args, tensors, req, beside, own) if self.whole else own
        for i in range(ctx.n_requested):
            if ctx.requested[i].type != kTempSpace:
                args.seed, args.stream = ctx.requested[i].seed, ctx.requested[i].stream
            elif nbytes and args.space == NULL:
                args.space = get_space(&ctx.requested[i], nbytes)
        if self.whole:
            self._to_scratch(&args, tensors, req, beside, own)
        self.kernel.run(args)
        if failure.place() >= 0:
            with gil:
                raise prop.kernel_error(failure.place(), failure.values)
        if failure.noted.place() >= 0:
            with gil:
                prop.warn_out_of_range(failure.noted.place(), failure.noted.values)
        for i in range(self.n_written if self.whole else 0):
            tensor = _find_tensor(&self.writes[i], tensors)
            if req[self.writes[i].index] == kAddTo:
                add_elements(tensor.dtype, beside[i].data, tensor.data, tensor.size)
        return 0

    cdef int64_t _to_scratch(self, Args* args, const TBlob** tensors, const int* req, TBlob* beside,
                             int64_t at) noexcept nogil:
        """Replace outputs not to be overwritten by workspace from byte `at`; return its end."""
        cdef const TBlob* tensor
        cdef int i, request
        for i in range(self.n_written):
            tensor, request = _find_tensor(&self.writes[i], tensors), req[self.writes[i].index]
            if request == kNullOp or request == kAddTo:
                beside[i] = tensor[0]
                beside[i].data = <char*>args.space + at
                args.out[i] = <const Blob*>&beside[i]
                at += aligned(tensor.size * dtype_size(tensor.dtype))
        return at


cdef TensorId _parse_tensor_id(str name, dict sources):
    """The source of a tensor; one with a question mark may be absent."""
    cdef TensorId found
    if name.endswith("?"):
        found.source, found.index = sources.get(name[:-1], (<int>ABSENT, 0))
    else:
        found.source, found.index = sources[name]
    return found


cdef inline const TBlob* _find_tensor(const TensorId* tensor, const TBlob** tensors) noexcept nogil:
    if tensor.source == ABSENT:
        return NULL
    return tensors[tensor.source] + tensor.index


cdef class KernelOperator(Operator):  # runs the kernels that a property names
    """Runs the kernels that a declaration names.

    prop: KernelProperty
    dtype (str): By which forms of the kernels are chosen.
    params (dict): Parameters of all kernels by name.
    work (int, optional): Elements that a kernel's cost counts for; by default those of the largest
        tensor.
    """

    cdef object prop
    cdef KernelCall forward_call
    cdef KernelCall backward_call  # None: without a gradient
    cdef int n_zeros
    cdef TensorId zeros[8]  # gradients that are zeros

    def __init__(self, prop, dtype, params, work=None):
        n_in, n_out = len(prop.list_arguments()), len(prop.list_outputs())
        sources = prop.tensors_by_name(*([(source, i) for i in range(n)] for source, n in (
            (<int>IN_DATA, n_in), (<int>OUT_DATA, n_out), (<int>OUT_GRAD, n_out),
            (<int>IN_GRAD, n_in))))
        sources |= {name: (<int>AUX, i) for i, name in enumerate(prop.list_auxiliary_states())}
        self.prop = prop
        taken, firsts = set(), []
        for direction in ("forward", "backward"):
            call = None
            for kernel in reversed(prop.kernels_of(direction)):
                call = KernelCall(prop, kernel, dtype, params, sources, work, call)
                taken.update(call.kernel.names)
            firsts.append(call)
        self.forward_call, self.backward_call = firsts
        if not {*params} <= taken:
            raise ArgumentError(f"kernels of {prop.op_name}: expected the parameters "
                                f"{', '.join(sorted(taken))}; got {', '.join(params)}")
        if prop.keeps_rows_of is not None:
            self._rows_of = prop.list_arguments().index(prop.keeps_rows_of)
        self.n_zeros = len(prop.zeros)
        for i, name in enumerate(prop.zeros):
            self.zeros[i] = _parse_tensor_id(name, sources)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef const TBlob* tensors[<int>ABSENT]
        tensors[<int>IN_DATA], tensors[<int>OUT_DATA] = in_data, out_data
        tensors[<int>AUX] = aux_states
        return self.forward_call.run_chain(ctx, tensors, req, self.prop)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const TBlob* tensors[<int>ABSENT]
        cdef int i, k
        for i in range(self.n_zeros):
            k = self.zeros[i].index
            if self.zeros[i].source != ABSENT and req[k] != kNullOp and req[k] != kAddTo:
                memset(in_grad[k].data, 0, in_grad[k].size * dtype_size(in_grad[k].dtype))
        if self.backward_call is None:
            return 0
        tensors[<int>IN_DATA], tensors[<int>OUT_DATA] = in_data, out_data
        tensors[<int>OUT_GRAD], tensors[<int>IN_GRAD] = out_grad, in_grad
        tensors[<int>AUX] = aux_states
        return self.backward_call.run_chain(ctx, tensors, req, self.prop)
