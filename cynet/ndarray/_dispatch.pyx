"""Imperative calls: push them, and record them (contract in the .pxd)."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free as c_free
from libc.stdlib cimport malloc as c_malloc
from libc.string cimport memset
from libcpp.vector cimport vector

from .. cimport _engine
from .._core.copy cimport Region, push_copy, whole_region
from .._engine cimport VarHandle, kInline, kNormal, kPython
from ..engine.deferred cimport bulk_threads, flush_all_deferred, load_mask, deferred_writes_mask
from ..engine.inline cimport MAX_INLINE_GIL_BYTES
from ..engine.records cimport Var, has_pending_write
from ..engine.trace cimport IMPERATIVE, now_if_traced, note_operator
from .._ndarray cimport Chunk, NDArrayBase, blob_shape, do_overlap, is_on_host, new_array, new_view
from .._resource cimport Resource, draw_rng_stream, kRandom
from .._typedefs cimport RunContext, TBlob, kGPU, kNullOp, kWriteInplace, kWriteTo
from ..operator._base cimport OpContext, Operator
from .bulk.note cimport defer_call
from ._resolve cimport (
    RANDOM_IN_TRAINING, Call, State, make_operator, drop_state, intern_file, matches, new_state,
    state_hold)
from ._tape cimport (
    Node, any_tracked, is_recording, is_training, n_flagged, record_call, refuse_write, set_flags)

from ..base.dtype import NAMES
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    OperatorError,
    OutOfMemoryError,
    ShapeError,
    wrap_error,
    with_message,
    describe_error,
    user_frame,
)

cdef enum:
    STACK_VARS = 16                 # maximum number of a call's variables that are on the stack

cdef object _call_observer = None  # called after each call, or None


def set_call_observer(watch):
    """Call ``watch(operator, inputs, outputs)`` after each call from now on; None removes it."""
    global _call_observer
    flush_all_deferred()
    _call_observer = watch


cdef bint has_call_observer() noexcept:
    return _call_observer is not None


# --- what the engine runs -------------------------------------------------------------------------
cdef struct CallTask:  # what the engine runs: a Call with its arrays
    State* state
    int is_train
    int n_in, n_out, n_aux, n_resources
    int line               # line of the user's call; 0: the call is on this thread's stack
    const char* file
    PyObject* origin       # Node whose backward this is, during the push; or NULL
    # these lists follow the CallTask in memory:
    TBlob* in_data
    TBlob* aux
    TBlob* out_data
    TBlob* out_grad        # gradients of the outputs; NULL: forward runs
    TBlob* in_grad
    int* req
    Resource* requested
    int n_written
    Chunk** written        # chunks of the arrays that are written


cdef void _free_task(void* arg) noexcept nogil:
    drop_state((<CallTask*>arg).state)
    c_free(arg)


cdef int _compute_task(Operator op, CallTask* task, OpContext* ctx) except -1 nogil:
    if task.out_grad != NULL:
        return op.backward(ctx, task.out_grad, task.in_data, task.out_data, task.req, task.in_grad,
                           task.aux)
    return op.forward(ctx, task.in_data, task.req, task.out_data, task.aux)


ctypedef int (*Quiet)(PyObject* op, CallTask* task, OpContext* ctx) noexcept nogil


cdef int _run_task(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef CallTask* task = <CallTask*>arg
    cdef OpContext ctx
    cdef int64_t begin = now_if_traced(IMPERATIVE)
    memset(&ctx, 0, sizeof(ctx))
    ctx.is_train = task.is_train
    ctx.run_ctx = run_ctx[0]
    ctx.requested = task.requested
    ctx.n_requested = task.n_resources
    ctx.n_in, ctx.n_out, ctx.n_aux = task.n_in, task.n_out, task.n_aux
    # Quiet: an exception stays set here, and is raised with a better message.
    if (<Quiet>_compute_task)(<PyObject*>task.state.op, task, &ctx) == -1:
        with gil:
            _raise_annotated_error(task, run_ctx.worker == 0)
    if begin:
        note_operator(task.state.name, NULL, task.out_grad != NULL, begin, run_ctx)
    cdef int i
    for i in range(task.n_written):
        task.written[i].written = True
    return 0


cdef int _raise_set_error() except -1:
    """Raise the exception that is already set."""
    return -1


cdef int _raise_annotated_error(CallTask* task, bint here) except -1:
    try:
        _raise_set_error()
    except BaseException as raised:
        error = raised
    arrays = ", ".join([f"{blob_shape(&task.in_data[i])} {NAMES[task.in_data[i].dtype]}"
                        for i in range(task.n_in)])
    origin = ""
    if task.line:
        origin = f" [called at {(<bytes>task.file).decode()}:{task.line}]"
    elif here and task.origin != NULL:
        origin = f" [called at {(<Node>task.origin).location()}]"
    elif here:
        origin = " [called at {}:{}]".format(*user_frame())
    name = (<bytes>task.state.name).decode()
    if <object>task.state.node is not None:
        name += f" (node '{<object>task.state.node}')"
    phase = "" if task.out_grad == NULL else " in backward"
    if isinstance(error, OperatorError) and error.__cause__ is not None:  # names operator and line
        raise wrap_error(error, f"{error} [operator {name} on ({arrays}){phase}]{origin}")
    where = f"operator {name} on ({arrays}) failed{phase}"
    raise wrap_error(error, f"{where}: {describe_error(error)}{origin}")


# --- running --------------------------------------------------------------------------------------
cdef inline int _add_var_once(VarHandle* vars, int n, VarHandle var) noexcept:  # returns how many
    # Add `var` to the list unless it is there; return the number of variables.
    cdef int i
    for i in range(n):
        if vars[i] == var:
            return n
    vars[n] = var
    return n + 1


cdef inline bint _are_all_ready(VarHandle* vars, int n) noexcept:
    cdef int i
    if load_mask(&deferred_writes_mask):
        for i in range(n):
            if not _engine.is_ready(vars[i]):
                return False
        return True
    for i in range(n):
        if has_pending_write(<Var*>vars[i]):
            return False
    return True


cdef CallTask* _new_task(Call call, State* state, const vector[int]* resources,
                         bint backward, bint is_train) except NULL:
    # A new task, which owns `state`. It has its resources; the caller fills in the arrays.
    cdef int n_in = call.n_in, n_aux = call.n_aux, n_out = call.n_out, i
    cdef int n_resources = <int>resources.size()
    cdef int n_written = n_in if backward else n_out
    cdef int n = n_in + n_aux + n_out + (n_in + n_out if backward else 0)
    cdef size_t nbytes = (sizeof(CallTask) + n * sizeof(TBlob) + n_resources * sizeof(Resource)
                          + n_written * (sizeof(int) + sizeof(Chunk*)))
    cdef CallTask* task = <CallTask*>c_malloc(nbytes)
    cdef TBlob* blob
    if task == NULL:
        drop_state(state)
        raise OutOfMemoryError("no memory for a call")
    task.state = state
    task.is_train = is_train
    task.n_in, task.n_out, task.n_aux, task.n_resources = n_in, n_out, n_aux, n_resources
    task.n_written = 0
    task.line = 0
    task.file = NULL
    task.origin = NULL
    blob = <TBlob*>(task + 1)
    task.in_data = blob
    task.aux = blob + n_in
    task.out_data = task.aux + n_aux
    task.out_grad = task.out_data + n_out if backward else NULL
    task.in_grad = task.out_grad + n_out if backward else NULL
    task.requested = <Resource*>(blob + n)
    task.written = <Chunk**>(task.requested + n_resources)
    task.req = <int*>(task.written + n_written)
    for i in range(n_resources):
        task.requested[i].type = resources[0][i]
        task.requested[i].index = i
        if resources[0][i] == RANDOM_IN_TRAINING:
            task.requested[i].type = kRandom
            if not is_train:
                task.requested[i].seed = task.requested[i].stream = 0
                continue
        draw_rng_stream(&task.requested[i], call.dev_type, call.dev_id)
    return task


cdef int _submit_task(Call call, CallTask* task, VarHandle* vars, int n_mutable,
                      int n_all) except -1:
    # The engine owns the task from here on. Of `vars` the first `n_mutable` are written.
    cdef int flags, saved_flags = 0
    cdef int dev_type = call.dev_type, dev_id = call.dev_id
    cdef const char* name = task.state.name
    if call.python:
        flags = kPython
    elif call.quick:  # GPU: the call only puts work on its stream
        flags = kInline
    else:
        flags = kNormal
    if flags != kInline or not _are_all_ready(vars + n_mutable, n_all - n_mutable):
        file, task.line = user_frame() if task.origin == NULL else (<Node>task.origin).user_line()
        task.file = intern_file(file)
    if flags == kInline and call.nbytes <= MAX_INLINE_GIL_BYTES and dev_type != kGPU:
        # The call is short, so the GIL stays; an error finds the user's frame on this stack.
        return _engine.push_sync(_run_task, task, _free_task, dev_type, dev_id, vars + n_mutable,
                                 n_all - n_mutable, vars, n_mutable, 0, flags, name)
    if call.python and n_flagged:  # the naive engine runs the call on this thread
        saved_flags = set_flags(0)
    try:
        with nogil:
            _engine.push_sync(_run_task, task, _free_task, dev_type, dev_id, vars + n_mutable,
                              n_all - n_mutable, vars, n_mutable, 0, flags, name)
    finally:
        if saved_flags:
            set_flags(saved_flags)
    return 0


cdef VarHandle* _alloc_vars(VarHandle* stack_vars, int n, CallTask* task) except NULL:
    # Memory for `n` variables: the buffer `stack_vars` if they fit.
    cdef VarHandle* vars = stack_vars
    if n > STACK_VARS:
        vars = <VarHandle*>c_malloc(n * sizeof(VarHandle))
        if vars == NULL:
            _free_task(task)
            raise OutOfMemoryError("no memory for a call")
    return vars


cdef int _push_call(Call call, PyObject** arrays, PyObject** outs, const int* req) except -1:
    # arrays: inputs, then states; all pointers are borrowed.
    cdef int n_in = call.n_in, n_aux = call.n_aux, n_out = call.n_out
    cdef int i, n_mutable = 0, n_all
    cdef VarHandle stack_vars[STACK_VARS]
    cdef VarHandle* vars
    cdef State* state = call.state
    cdef State* saved_state = NULL
    cdef CallTask* task
    cdef TBlob* blob
    cdef bint taped = n_flagged and any_tracked(arrays, n_in) and is_recording()
    if bulk_threads and _call_observer is None and n_out == 1 and defer_call(
            call, arrays, <NDArrayBase>outs[0]):
        if taped:
            record_call(call, arrays, outs, NULL, is_training())
        return 0
    if state == NULL:
        op = make_operator(call)
        if call.python:  # views: what is recorded with the operator must not hold the outputs
            op.memory_owner = [<object>arrays[i] for i in range(n_in + n_aux)] + [
                _new_full_view(<NDArrayBase>outs[i]) for i in range(n_out)]
        state = new_state(op, call.entry.name, call.node)
    else:
        state_hold(&state.references)
    task = _new_task(call, state, &call.resources, False, n_flagged and is_training())
    vars = _alloc_vars(stack_vars, n_in + n_aux + n_out, task)
    blob = task.in_data
    for i in range(n_in + n_aux):
        blob[i] = (<NDArrayBase>arrays[i]).blob
    for i in range(n_out):
        task.out_data[i] = (<NDArrayBase>outs[i]).blob
        task.req[i] = req[i]
        task.written[i] = (<NDArrayBase>outs[i]).chunk
        n_mutable = _add_var_once(vars, n_mutable, (<NDArrayBase>outs[i]).chunk.var)
    task.n_written = n_out
    for i in range(n_in, n_in + n_aux):
        n_mutable = _add_var_once(vars, n_mutable, (<NDArrayBase>arrays[i]).chunk.var)
    n_all = n_mutable
    for i in range(n_in):
        n_all = _add_var_once(vars, n_all, (<NDArrayBase>arrays[i]).chunk.var)
    if taped and call.state == NULL:
        saved_state = state
        state_hold(&saved_state.references)
    try:
        _submit_task(call, task, vars, n_mutable, n_all)
    except BaseException:
        if saved_state != NULL:
            drop_state(saved_state)
        raise
    finally:
        if vars != stack_vars:
            c_free(vars)
    if taped:
        record_call(call, arrays, outs, saved_state, is_training())
    if _call_observer is not None:
        _call_observer(call.entry.name, [<object>arrays[i] for i in range(n_in)],
                       [<object>outs[i] for i in range(call.n_visible)])
    return 0


cdef NDArrayBase _new_full_view(NDArrayBase array):
    return new_view(array, array.blob.shape, array.blob.ndim, 0)


cdef int push_backward(Call call, State* state, const vector[int]* resources, bint is_train,
                       const Gradients* arrays, Node origin) except -1:
    cdef int n_in = call.n_in, n_aux = call.n_aux, n_out = call.n_out
    cdef int i, n_mutable = 0, n_all
    cdef VarHandle stack_vars[STACK_VARS]
    cdef VarHandle* vars
    cdef CallTask* task
    state_hold(&state.references)
    task = _new_task(call, state, resources, True, is_train)
    if origin is not None:
        task.origin = <PyObject*>origin
    vars = _alloc_vars(stack_vars, 2 * (n_in + n_out) + n_aux, task)
    for i in range(n_in):
        n_mutable = _fill_blob(arrays.in_grad[i], &task.in_grad[i], &call.arrays[i], vars,
                               n_mutable)
        task.req[i] = arrays.req[i]
        if arrays.in_grad[i] != NULL:
            task.written[task.n_written] = (<NDArrayBase>arrays.in_grad[i]).chunk
            task.n_written += 1
    for i in range(n_aux):
        n_mutable = _fill_blob(arrays.aux[i], &task.aux[i], &call.arrays[n_in + i], vars, n_mutable)
    n_all = n_mutable
    for i in range(n_in):
        n_all = _fill_blob(arrays.in_data[i], &task.in_data[i], &call.arrays[i], vars, n_all)
    for i in range(n_out):
        n_all = _fill_blob(arrays.out_data[i], &task.out_data[i], &call.outs[i], vars, n_all)
        n_all = _fill_blob(arrays.out_grad[i], &task.out_grad[i], &call.outs[i], vars, n_all)
    try:
        _submit_task(call, task, vars, n_mutable, n_all)
    finally:
        if vars != stack_vars:
            c_free(vars)
    return 0


cdef int _fill_blob(PyObject* array, TBlob* blob, const TBlob* like, VarHandle* vars,
                    int n) noexcept:
    # Set `blob` to an array's data with the shape of `like`; without data for a NULL array.
    blob[0] = like[0]
    if array == NULL:
        return n
    blob.data = (<NDArrayBase>array).blob.data
    return _add_var_once(vars, n, (<NDArrayBase>array).chunk.var)


cdef int _check_given_output(Call call, int i, NDArrayBase array) except -1:
    # Raise unless `array` has the shape, dtype and device of output i.
    cdef TBlob* want = &call.outs[i]
    if matches(want, &array.blob):
        return 0
    if blob_shape(&array.blob) != blob_shape(want):
        raise ShapeError(f"operator {call.entry.name}: out has shape {blob_shape(&array.blob)}, "
                         f"expected {blob_shape(want)}")
    if array.blob.dtype != want.dtype:
        raise ArgumentTypeError(f"operator {call.entry.name}: out is {NAMES[array.blob.dtype]}, "
                                f"expected {NAMES[want.dtype]}")
    if is_on_host(&array.blob) != is_on_host(want) or (
            array.blob.dev_id != want.dev_id and want.dev_type == kGPU):
        raise ArgumentError(f"operator {call.entry.name}: out is on {array.context}, "
                            f"the inputs are on {call.context}")
    return 0


cdef int _output_request(Call call, PyObject** arrays, int i, NDArrayBase out) except -1:
    # kWriteTo, kWriteInplace, or kNullOp when output i must be computed elsewhere first.
    cdef NDArrayBase array
    cdef int k, request = kWriteTo
    for k in range(call.n_in + call.n_aux):
        array = <NDArrayBase>arrays[k]
        if array.chunk != out.chunk or not do_overlap(array, out):
            continue
        if (k < call.n_in and array.blob.data == out.blob.data and array.blob.size == out.blob.size
                and array.blob.dtype == out.blob.dtype and call.inplace[k * call.n_out + i]):
            request = kWriteInplace
        else:
            return kNullOp
    return request


cdef NDArrayBase _new_output(Call call, int i):
    # Memory for output i.
    cdef const TBlob* like = &call.outs[i]
    cdef NDArrayBase out
    try:
        out = new_array(call.face, like.shape, like.ndim, like.dtype, like.dev_type, like.dev_id)
    except OutOfMemoryError as error:
        raise with_message(error, f"operator {call.entry.name}, for an output of shape "
                                  f"{blob_shape(like)}, {NAMES[like.dtype]}: {error}") from None
    out.chunk.written = False
    return out


cdef list run(Call call, list given, list out):  # returns the visible outputs
    cdef list arrays = given if call.order is None else [given[k] for k in call.order]
    cdef list outs = [], copies = None
    cdef NDArrayBase array, target
    cdef Region source, to
    cdef vector[int] req
    cdef vector[PyObject*] in_pointers
    cdef vector[PyObject*] out_pointers
    cdef int i, request
    if out is not None and len(out) != call.n_visible:
        raise ArgumentError(f"operator {call.entry.name} has {call.n_visible} outputs, "
                            f"out has {len(out)} arrays")
    if out is None and call.prop.reads_out:
        raise ArgumentError(f"operator {call.entry.name} reads what is in the output with these"
                            f" parameters: give it as `out`")
    for array in arrays:
        in_pointers.push_back(<PyObject*>array)
    for i in range(call.n_out):
        request = kWriteTo
        if out is not None and i < call.n_visible:
            target = out[i]
            if n_flagged:
                refuse_write(target)
            _check_given_output(call, i, target)
            request = _output_request(call, in_pointers.data(), i, target)
            for array in outs:
                if array.chunk == target.chunk and do_overlap(array, target):
                    raise ArgumentError(
                        f"operator {call.entry.name}: two of the arrays in out share memory")
            array = target
            if request == kNullOp:
                request = kWriteTo
                array = _new_output(call, i)
                copies = copies or []
                copies.append((array, target))
        else:
            array = _new_output(call, i)
        outs.append(array)
        out_pointers.push_back(<PyObject*>array)
        req.push_back(request)
    _push_call(call, in_pointers.data(), out_pointers.data(), req.data())
    if copies is not None:
        for array, target in copies:
            source, to = whole_region(array), whole_region(target)
            push_copy(target, &to, array, &source)
            target.grad_entry = array.grad_entry
    if out is not None:
        return out
    return outs[:call.n_visible] if call.n_visible < call.n_out else outs


cdef NDArrayBase run_one_output(Call call, NDArrayBase lhs, NDArrayBase rhs, NDArrayBase out):
    cdef PyObject* arrays[2]
    arrays[0] = <PyObject*>lhs
    arrays[1] = <PyObject*>rhs
    return <NDArrayBase>run_arrays(call, arrays, 1 if rhs is None else 2, out)


cdef object run_arrays(Call call, PyObject** arrays, int n, NDArrayBase out):
    cdef PyObject* targets[MAX_ARRAYS]
    cdef int requests[MAX_ARRAYS]
    cdef int i, n_out = call.n_out
    cdef list outs
    requests[0] = kWriteTo
    if out is not None and n_out == 1:
        if n_flagged:
            refuse_write(out)
        _check_given_output(call, 0, out)
        requests[0] = _output_request(call, arrays, 0, out)
    if n_out > MAX_ARRAYS or call.order is not None or requests[0] == kNullOp or (
            out is not None and n_out > 1):
        given = [<object>arrays[i] for i in range(n)]
        outs = run(call, given, None if out is None else [out])
        return outs[0] if len(outs) == 1 else outs
    if n_out == 1:
        out = out if out is not None else _new_output(call, 0)
        targets[0] = <PyObject*>out
        _push_call(call, arrays, targets, requests)
        return out
    outs = []
    for i in range(n_out):
        outs.append(_new_output(call, i))
        targets[i] = <PyObject*>outs[i]
        requests[i] = kWriteTo
    _push_call(call, arrays, targets, requests)
    return outs[0] if call.n_visible == 1 else outs[:call.n_visible]
