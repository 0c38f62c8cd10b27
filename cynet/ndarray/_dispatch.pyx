"""Imperative calls: resolve an operator once per signature, push it (contract in the .pxd)."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport free as c_free
from libc.stdlib cimport malloc as c_malloc
from libc.string cimport memset

from .. cimport _engine
from .._core.copy cimport Region, push_copy, whole
from .._engine cimport VarHandle, kInline, kNormal, kPython
from ..engine.inline cimport INLINE_BYTES, INLINE_GIL_BYTES, INLINE_PASS_BYTES
from .._ndarray cimport Chunk, NDArrayBase, blob_shape, new_array, overlap
from .._resource cimport Resource, draw
from .._typedefs cimport (
    RunContext, TBlob, dtype_size, kGPU, kNullOp, kWriteInplace, kWriteTo)
from ..operator._base cimport OpContext, OpEntry, Operator
from ._call_cache cimport came_lately, freeze, pack

from collections import deque
from copy import copy

from .._ndarray import device_context
from ..context import read_context
from ..base.dtype import NAMES, dtype_flag
from ..base.errors import (
    ArgumentError, ArgumentTypeError, CynetError, OutOfMemoryError, ShapeError, dress, reworded,
    told, user_frame,
)
from ..operator.property import is_known
from ..operator.checks.shapes import check_elements, known, plain

cdef extern from *:
    """
    static inline void cynet_state_hold(int* n) { __atomic_fetch_add(n, 1, __ATOMIC_RELAXED); }
    static inline int cynet_state_drop(int* n) {
        return __atomic_sub_fetch(n, 1, __ATOMIC_ACQ_REL); }
    """
    void cynet_state_hold(int* n) noexcept nogil
    int cynet_state_drop(int* n) noexcept nogil

cdef enum:
    CACHED_CALLS = 512       # signatures remembered, of all operators together
    FEW = 16                 # arrays of a call whose variables need no memory of their own

cdef dict _names = {}  # str -> bytes, for names and files whose char* running functions hold


cdef const char* _forever(str text) except NULL:
    kept = _names.get(text)
    if kept is None:
        kept = _names.setdefault(text, text.encode())
    return PyBytes_AS_STRING(kept)


# --- what the engine runs -------------------------------------------------------------------------
cdef struct Task:
    State* state
    int is_train
    int n_in, n_out, n_aux, n_resources
    int line               # of the user's call, 0: it is still on this thread's stack
    const char* file
    # in_data, aux, out_data, requests and resources follow the Task in memory
    TBlob* in_data
    TBlob* aux
    TBlob* out_data
    int* req
    Resource* requested
    Chunk** written        # the outputs' chunks


cdef State* _new_state(object op, str name) except NULL:
    cdef const char* text = _forever(name)
    cdef State* state = <State*>c_malloc(sizeof(State))
    if state == NULL:
        raise OutOfMemoryError("no memory for a call")
    Py_INCREF(op)
    state.references = 1
    state.op = <void*>op
    state.name = text
    return state


cdef void _drop_state(State* state) noexcept nogil:
    if cynet_state_drop(&state.references) == 0:
        with gil:
            Py_DECREF(<object>state.op)
        c_free(state)


cdef void _free_task(void* arg) noexcept nogil:
    _drop_state((<Task*>arg).state)
    c_free(arg)


cdef int _forward(Operator op, Task* task, OpContext* ctx) except -1 nogil:
    return op.forward(ctx, task.in_data, task.req, task.out_data, task.aux)


ctypedef int (*QuietForward)(PyObject* op, Task* task, OpContext* ctx) noexcept nogil


cdef int _run_task(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef Task* task = <Task*>arg
    cdef OpContext ctx
    memset(&ctx, 0, sizeof(ctx))
    ctx.is_train = task.is_train
    ctx.run_ctx = run_ctx[0]
    ctx.requested = task.requested
    ctx.n_requested = task.n_resources
    ctx.n_in, ctx.n_out, ctx.n_aux = task.n_in, task.n_out, task.n_aux
    # Through a type without exceptions, so that the one it may leave is dressed before it travels.
    if (<QuietForward>_forward)(<PyObject*>task.state.op, task, &ctx) == -1:
        with gil:
            _raise_dressed(task, run_ctx.worker == 0)
    cdef int i
    for i in range(task.n_out):
        task.written[i].written = True
    return 0


cdef int _pending() except -1:
    """Raises the exception that is set already."""
    return -1


cdef int _raise_dressed(Task* task, bint here) except -1:
    try:
        _pending()
    except BaseException as raised:
        error = raised
    arrays = ", ".join([f"{blob_shape(&task.in_data[i])} {NAMES[task.in_data[i].dtype]}"
                        for i in range(task.n_in)])
    origin = ""
    if task.line:
        origin = f" [called at {(<bytes>task.file).decode()}:{task.line}]"
    elif here:
        origin = " [called at {}:{}]".format(*user_frame())
    name = (<bytes>task.state.name).decode()
    raise dress(error, f"operator {name} on ({arrays}) failed: {told(error)}{origin}")


# --- calls ----------------------------------------------------------------------------------------
cdef class Call:
    """An operator resolved for one signature: inputs' shapes, dtypes, device and parameters."""

    def __dealloc__(self):
        if self.state != NULL:
            _drop_state(self.state)
            self.state = NULL


cdef object _device_of(OpEntry entry, list given, object ctx, int* dev_type, int* dev_id):
    cdef NDArrayBase array, first
    if given:
        first = given[0]
        for array in given:
            # CPU indices are labels of one memory; GPUs are devices of their own.
            if array.blob.dev_type != first.blob.dev_type or (
                    array.blob.dev_id != first.blob.dev_id and array.blob.dev_type == kGPU):
                raise ArgumentError(
                    f"operator {entry.name}: inputs are on {first.context} and {array.context}; "
                    f"copy them to one device first (as_in_context)")
        dev_type[0] = first.blob.dev_type
        dev_id[0] = first.blob.dev_id
        return None
    context = read_context(ctx)
    dev_type[0] = context.device_typeid
    dev_id[0] = context.device_id
    return context


cdef Call resolve(OpEntry entry, list given, tuple names, dict params, object ctx):
    cdef int dev_type, dev_id
    cdef object key
    cdef Call call
    context = _device_of(entry, given, ctx, &dev_type, &dev_id)
    packed = pack(given, dev_type, dev_id)
    try:
        if params:
            frozen = []
            for name, value in params.items():
                frozen.append(name)
                frozen.append(freeze(value))
            key = (packed, names, tuple(frozen))
        elif names:
            key = (packed, names)
        else:
            key = packed
        call = entry.cache.get(key)
    except TypeError:  # a parameter that cannot be hashed
        key = None
        call = None
    if call is None:
        call = _prepare(entry, given, names, params, context or device_context(dev_type, dev_id))
        if key is not None:
            _remember(entry, key, call)
    else:
        call.used = True
    return call


cdef object _remembered = deque()  # (entry, key) of each Call in an entry's cache


cdef int _remember(OpEntry entry, object key, Call call) except -1:
    # A full cache stores only what was called twice lately, in place of the oldest entry that was
    # not used since its last turn: shapes that never come again leave nothing behind in memory.
    cdef OpEntry owner
    cdef Call oldest
    if len(_remembered) >= CACHED_CALLS and not came_lately(entry, key):
        return 0
    while len(_remembered) >= CACHED_CALLS:
        owner, old_key = _remembered.popleft()
        oldest = owner.cache.get(old_key)
        if oldest is not None and oldest.used:
            oldest.used = False
            _remembered.append((owner, old_key))
        else:
            owner.cache.pop(old_key, None)
    entry.cache[key] = call
    _remembered.append((entry, key))
    return 0


cdef Call _prepare(OpEntry entry, list given, tuple names, dict params, object context):
    cdef Call call = Call.__new__(Call)
    cdef NDArrayBase array
    cdef TBlob blob
    count = entry.prop.key_var_num_args
    if count is not None and count in entry.prop.fields and count not in params:
        params = {**params, count: len(given)}
    prop = entry.prop(**entry.prop.taken(params))
    call.entry, call.prop, call.context = entry, prop, context
    call.dev_type, call.dev_id = context.device_typeid, context.device_id
    arguments, states = prop.list_arguments(), prop.list_auxiliary_states()
    call.n_in, call.n_aux = len(arguments), len(states)
    call.order = _order(entry, [*arguments, *states], len(given), names)
    arrays = given if call.order is None else [given[k] for k in call.order]
    shapes, types = [], []
    memset(&blob, 0, sizeof(TBlob))
    for array in arrays:
        blob = array.blob
        blob.data = NULL
        call.arrays.push_back(blob)
        call.nbytes += array.blob.size * <int64_t>dtype_size(array.blob.dtype)
        shapes.append(blob_shape(&array.blob))
        types.append(NAMES[array.blob.dtype])
    _infer(call, [*arguments, *states], shapes, types)
    _resources_and_inplace(call)
    call.quick = call.dev_type == kGPU or call.nbytes <= INLINE_BYTES or (
        call.nbytes <= INLINE_PASS_BYTES and prop.graph.one_pass(prop, call.in_shapes))
    op = _create(call)
    call.python = op.runs_python
    if not op.stateful:
        call.state = _new_state(op, entry.name)
    return call


cdef Operator _create(Call call):
    try:
        op = call.prop.operator_on(call.context, call.in_shapes, call.in_types)
    except CynetError:
        raise
    except Exception as error:
        raise dress(error, f"operator {call.entry.name} with inputs {call.in_shapes}: "
                           f"{type(error).__name__}: {error}") from error
    if not isinstance(op, Operator):
        raise ArgumentTypeError(f"operator {call.entry.name}: create_operator gave "
                                f"{type(op).__name__}, expected an Operator")
    return op


cdef list _order(OpEntry entry, list wanted, Py_ssize_t n_given, tuple names):
    # Where each wanted input is among those given; names[i] is None for one given by place.
    if len(set(names)) != len(names):
        raise ArgumentTypeError(
            f"operator {entry.name}: an input is given twice: {', '.join(names)}")
    if not names:
        if n_given != len(wanted):
            raise ArgumentError(f"operator {entry.name} takes {len(wanted)} inputs "
                                f"({', '.join(wanted)}), got {n_given}")
        return None
    place = dict(zip(names, range(n_given)))
    for name in names:
        if name not in wanted:
            raise ArgumentTypeError(
                f"operator {entry.name} has no input '{name}' with these parameters; "
                f"its inputs: {', '.join(wanted) or 'none'}")
    for name in wanted:
        if name not in place:
            raise ArgumentError(f"operator {entry.name}: input '{name}' is missing; "
                                f"it takes {', '.join(wanted)}")
    order = [place[name] for name in wanted]
    return None if order == list(range(n_given)) else order


cdef Call with_scalar(Call call, object number):
    # The Call that differs only in its parameter `scalar`, or None where the operator is made anew.
    cdef Call out
    cdef Operator op
    cdef double value
    if call.state == NULL:
        return None
    try:
        value = number
    except OverflowError:  # an int that no dtype holds: making the operator refuses it by name
        return None
    another = (<object>call.state.op).with_scalar(value)
    if another is None:
        return None
    op = another
    out = Call.__new__(Call)
    out.entry, out.context, out.order = call.entry, call.context, call.order
    out.in_shapes, out.in_types = call.in_shapes, call.in_types
    out.dev_type, out.dev_id = call.dev_type, call.dev_id
    out.n_in, out.n_aux, out.python, out.quick = call.n_in, call.n_aux, call.python, call.quick
    out.n_out, out.n_visible, out.nbytes = call.n_out, call.n_visible, call.nbytes
    out.arrays, out.outs = call.arrays, call.outs
    out.resources, out.inplace = call.resources, call.inplace
    out.prop = copy(call.prop)
    out.prop.__dict__["scalar"] = value
    out.state = _new_state(op, call.entry.name)
    return out


cdef int _infer(Call call, list wanted, list shapes, list types) except -1:
    cdef TBlob blob
    cdef int i, n_in = call.n_in
    prop = call.prop
    about = ", ".join([f"{n} {s} {t}" for n, s, t in zip(wanted, shapes, types)]) or "no inputs"
    where = f"operator {call.entry.name} on ({about})"
    outputs = prop.list_outputs()
    call.n_out, call.n_visible = len(outputs), prop.num_visible_outputs()
    try:
        in_shapes, out_shapes, aux_shapes = prop.infer_shape(
            [known(shape) for shape in shapes[:n_in]], [None] * call.n_out)
        in_types, out_types, aux_types = prop.infer_type(types[:n_in], [None] * call.n_out)
    except CynetError as error:
        raise reworded(error, f"{where}: {error}") from error
    except Exception as error:
        raise dress(error, f"{where}: {told(error)}") from error
    for name, want, got in zip(wanted, [*in_shapes, *aux_shapes], shapes):
        if want is not None and plain(want) != got:
            raise ShapeError(f"{where}: '{name}' has shape {got}, expected {plain(want)}")
    for name, want, got in zip(wanted, [*in_types, *aux_types], types):
        if want is not None and want != got:
            raise ArgumentTypeError(f"{where}: '{name}' is {got}, expected {want}")
    memset(&blob, 0, sizeof(TBlob))
    blob.dev_type, blob.dev_id = call.dev_type, call.dev_id
    for name, shape, kind in zip(outputs, out_shapes, out_types):
        if not is_known(shape) or any(n < 0 for n in shape) or len(shape) > 8:
            raise ShapeError(f"{where}: the shape of '{name}' is not determined (got {shape})")
        check_elements(shape, f"{where}: output '{name}'")
        blob.ndim = len(shape)
        blob.size = 1
        for i, n in enumerate(plain(shape)):
            blob.shape[i] = n
            blob.size *= blob.shape[i]
        blob.dtype = dtype_flag(kind)
        call.outs.push_back(blob)
        call.nbytes += blob.size * <int64_t>dtype_size(blob.dtype)
    call.in_shapes = [tuple(s) for s in shapes[:n_in]]
    call.in_types = [t or got for t, got in zip(in_types, types)]
    return 0


cdef int _resources_and_inplace(Call call) except -1:
    cdef int n_in = call.n_in, n_out = call.n_out
    for kind in call.prop.forward_resource(call.in_shapes):
        call.resources.push_back(kind)
    call.inplace.resize(n_in * n_out, 0)
    pairs = call.prop.forward_inplace_option(list(range(n_in)), list(range(n_in, n_in + n_out)))
    for source, target in pairs:
        call.inplace[<size_t>(source * n_out + target - n_in)] = 1
    return 0


# --- running --------------------------------------------------------------------------------------
cdef inline int _add_var(VarHandle* vars, int n, VarHandle var) noexcept:
    # The number of variables after `var` is among them.
    cdef int i
    for i in range(n):
        if vars[i] == var:
            return n
    vars[n] = var
    return n + 1


cdef inline bint _all_ready(VarHandle* vars, int n) noexcept:
    cdef int i
    for i in range(n):
        if not _engine.is_ready(vars[i]):
            return False
    return True


cdef int _push(Call call, PyObject** arrays, PyObject** outs, const int* req,
               bint is_train) except -1:
    # arrays: inputs, then states; all pointers are borrowed.
    cdef int n_in = call.n_in, n_aux = call.n_aux, n_out = call.n_out
    cdef int n_resources = <int>call.resources.size()
    cdef int n = n_in + n_aux + n_out
    cdef int i, n_mutable = 0, n_all, flags
    cdef int dev_type = call.dev_type, dev_id = call.dev_id
    cdef size_t nbytes = (sizeof(Task) + n * sizeof(TBlob) + n_resources * sizeof(Resource)
                          + n_out * (sizeof(int) + sizeof(Chunk*)))
    cdef VarHandle few[FEW]
    cdef VarHandle* vars = few
    cdef State* state = call.state
    cdef Task* task
    cdef TBlob* blob
    if state == NULL:
        op = _create(call)
        if call.python:
            op.memory_owner = [<object>arrays[i] for i in range(n_in + n_aux)] + [
                <object>outs[i] for i in range(n_out)]
        state = _new_state(op, call.entry.name)
    else:
        cynet_state_hold(&state.references)
    task = <Task*>c_malloc(nbytes)
    if n > FEW:
        vars = <VarHandle*>c_malloc(n * sizeof(VarHandle))
    if task == NULL or vars == NULL:
        c_free(task)
        _drop_state(state)
        raise OutOfMemoryError("no memory for a call")
    task.state = state
    task.is_train = is_train
    task.n_in, task.n_out, task.n_aux, task.n_resources = n_in, n_out, n_aux, n_resources
    task.line = 0
    task.file = NULL
    blob = <TBlob*>(task + 1)
    task.in_data = blob
    task.aux = blob + n_in
    task.out_data = task.aux + n_aux
    task.requested = <Resource*>(blob + n)
    task.written = <Chunk**>(task.requested + n_resources)
    task.req = <int*>(task.written + n_out)
    for i in range(n_in + n_aux):
        blob[i] = (<NDArrayBase>arrays[i]).blob
    for i in range(n_out):
        task.out_data[i] = (<NDArrayBase>outs[i]).blob
        task.req[i] = req[i]
        task.written[i] = (<NDArrayBase>outs[i]).chunk
        n_mutable = _add_var(vars, n_mutable, (<NDArrayBase>outs[i]).chunk.var)
    for i in range(n_in, n_in + n_aux):
        n_mutable = _add_var(vars, n_mutable, (<NDArrayBase>arrays[i]).chunk.var)
    n_all = n_mutable
    for i in range(n_in):
        n_all = _add_var(vars, n_all, (<NDArrayBase>arrays[i]).chunk.var)
    for i in range(n_resources):
        task.requested[i].type = call.resources[i]
        task.requested[i].index = i
        draw(&task.requested[i], dev_type, dev_id)
    try:
        if call.python:
            flags = kPython
        elif call.quick:  # what a GPU runs is only put on its stream
            flags = kInline
        else:
            flags = kNormal
        if flags != kInline or not _all_ready(vars + n_mutable, n_all - n_mutable):
            file, task.line = user_frame()
            task.file = _forever(file)
        if flags == kInline and call.nbytes <= INLINE_GIL_BYTES and dev_type != kGPU:
            # Short, so the GIL stays; what runs here finds the user's frame on this thread's stack.
            _engine.push_sync(_run_task, task, _free_task, dev_type, dev_id, vars + n_mutable,
                              n_all - n_mutable, vars, n_mutable, 0, flags, state.name)
        else:
            with nogil:
                _engine.push_sync(_run_task, task, _free_task, dev_type, dev_id, vars + n_mutable,
                                  n_all - n_mutable, vars, n_mutable, 0, flags, state.name)
    finally:
        if vars != few:
            c_free(vars)
    return 0


cdef int _check_out(Call call, int i, NDArrayBase array) except -1:
    # An array given as output i must be what the operator writes.
    cdef TBlob* want = &call.outs[i]
    if fits(want, &array.blob):
        return 0
    if blob_shape(&array.blob) != blob_shape(want):
        raise ShapeError(f"operator {call.entry.name}: out has shape {blob_shape(&array.blob)}, "
                         f"expected {blob_shape(want)}")
    if array.blob.dtype != want.dtype:
        raise ArgumentTypeError(f"operator {call.entry.name}: out is {NAMES[array.blob.dtype]}, "
                                f"expected {NAMES[want.dtype]}")
    if array.blob.dev_type != want.dev_type or (
            array.blob.dev_id != want.dev_id and want.dev_type == kGPU):
        raise ArgumentError(f"operator {call.entry.name}: out is on {array.context}, "
                            f"the inputs are on {call.context}")
    return 0


cdef int _request(Call call, PyObject** arrays, int i, NDArrayBase out) except -1:
    # kWriteTo, kWriteInplace, or kNullOp when output i must be computed elsewhere first.
    cdef NDArrayBase array
    cdef int k, request = kWriteTo
    for k in range(call.n_in + call.n_aux):
        array = <NDArrayBase>arrays[k]
        if array.chunk != out.chunk or not overlap(array, out):
            continue
        if (k < call.n_in and array.blob.data == out.blob.data and array.blob.size == out.blob.size
                and array.blob.dtype == out.blob.dtype and call.inplace[k * call.n_out + i]):
            request = kWriteInplace
        else:
            return kNullOp
    return request


cdef NDArrayBase _blank(const TBlob* like):
    cdef NDArrayBase out = new_array(like.shape, like.ndim, like.dtype, like.dev_type, like.dev_id)
    out.chunk.written = False
    return out


cdef list run(Call call, list given, list out, bint is_train):
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
    for array in arrays:
        in_pointers.push_back(<PyObject*>array)
    for i in range(call.n_out):
        request = kWriteTo
        if out is not None and i < call.n_visible:
            target = out[i]
            _check_out(call, i, target)
            request = _request(call, in_pointers.data(), i, target)
            for array in outs:
                if array.chunk == target.chunk and overlap(array, target):
                    raise ArgumentError(
                        f"operator {call.entry.name}: two of the arrays in out share memory")
            array = target
            if request == kNullOp:
                request = kWriteTo
                array = _blank(&call.outs[i])
                copies = copies or []
                copies.append((array, target))
        else:
            array = _blank(&call.outs[i])
        outs.append(array)
        out_pointers.push_back(<PyObject*>array)
        req.push_back(request)
    _push(call, in_pointers.data(), out_pointers.data(), req.data(), is_train)
    if copies is not None:
        for array, target in copies:
            source, to = whole(array), whole(target)
            push_copy(target, &to, array, &source)
    if out is not None:
        return out
    return outs[:call.n_visible] if call.n_visible < call.n_out else outs


cdef NDArrayBase run_small(Call call, NDArrayBase lhs, NDArrayBase rhs, NDArrayBase out):
    cdef PyObject* arrays[2]
    arrays[0] = <PyObject*>lhs
    arrays[1] = <PyObject*>rhs
    return <NDArrayBase>run_known(call, arrays, 1 if rhs is None else 2, out)


cdef object run_known(Call call, PyObject** arrays, int n, NDArrayBase out):
    cdef PyObject* targets[MOST_KNOWN]
    cdef int requests[MOST_KNOWN]
    cdef int i, n_out = call.n_out
    cdef list outs = []
    requests[0] = kWriteTo
    if out is not None and n_out == 1:
        _check_out(call, 0, out)
        requests[0] = _request(call, arrays, 0, out)
    if n_out > MOST_KNOWN or call.order is not None or requests[0] == kNullOp or (
            out is not None and n_out > 1):
        given = [<object>arrays[i] for i in range(n)]
        outs = run(call, given, None if out is None else [out], False)
        return outs[0] if len(outs) == 1 else outs
    if n_out == 1:
        out = out if out is not None else _blank(&call.outs[0])
        targets[0] = <PyObject*>out
        _push(call, arrays, targets, requests, False)
        return out
    for i in range(n_out):
        outs.append(_blank(&call.outs[i]))
        targets[i] = <PyObject*>outs[i]
        requests[i] = kWriteTo
    _push(call, arrays, targets, requests, False)
    return outs[0] if call.n_visible == 1 else outs[:call.n_visible]
