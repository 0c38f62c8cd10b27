"""The operator of an imperative call, resolved once per signature (contract in the .pxd)."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport free as c_free
from libc.stdlib cimport malloc as c_malloc
from libc.string cimport memcpy, memset

from ..engine.inline cimport MAX_INLINE_BYTES, MAX_INLINE_PASS_BYTES
from ..engine.live_objects cimport count_live, live_counter
from .._core.face cimport ND, Face
from .._core.sparse_kind cimport refuse_sparse
from .._ndarray cimport NDArrayBase, blob_shape, is_on_host
from .._resource cimport kRandom
from .._typedefs cimport TBlob, dtype_size, kCPU, kGPU
from ..operator._base cimport OpEntry, Operator

import atexit
from collections import deque
from copy import copy

import numpy as np

from .._ndarray import device_context
from ..base import config
from ..context import read_context
from ..base.dtype import NAMES, dtype_flag
from ..base.errors import (
    ArgumentError, ArgumentTypeError, CynetError, OutOfMemoryError, ShapeError, describe_error,
    with_message, wrap_error,
)
from ..operator.algorithms import log_choices
from ..operator.property import is_known
from ..operator.signature import too_many_text
from ..operator.checks.shapes import check_elements, known_shape, plain_shape

cdef object _cached_calls = deque()  # the Calls of all operators' caches, the oldest first
atexit.register(_cached_calls.clear)  # objects held by users' operators must not outlive Python
live_states = live_counter()  # counts live operators of imperative calls
cdef dict _interned = {}  # str -> bytes, for names and files whose char* running functions hold
cdef bytes _ANY_FILE = b"(one of many files)"  # the name of files beyond MAX_FILES
cdef enum:
    MAX_FILES = 10_000  # maximum number of file names: each notebook cell has one


cdef const char* intern_c_string(str text) except NULL:
    found = _interned.get(text)
    if found is None:
        found = _interned.setdefault(text, text.encode())
    return PyBytes_AS_STRING(found)


cdef const char* intern_file(str name) except NULL:
    if len(_interned) >= MAX_FILES and name not in _interned:
        return PyBytes_AS_STRING(_ANY_FILE)
    return intern_c_string(name)


# --- shared operators -----------------------------------------------------------------------------
cdef State* new_state(object op, str name, object node=None) except NULL:
    cdef const char* text = intern_c_string(name)
    cdef State* state = <State*>c_malloc(sizeof(State))
    if state == NULL:
        raise OutOfMemoryError("no memory for a call")
    Py_INCREF(op)
    Py_INCREF(node)
    state.references = 1
    state.op, state.node = <void*>op, <void*>node
    state.name = text
    count_live(1)
    return state


cdef void drop_state(State* state) noexcept nogil:
    if state_drop(&state.references) == 0:
        with gil:
            Py_DECREF(<object>state.op)
            Py_DECREF(<object>state.node)
        c_free(state)
        count_live(-1)


# --- cache keys -----------------------------------------------------------------------------------
cdef bytes pack_signature(list given, int dev_type, int dev_id):
    # Everything about the arrays that a Call depends on, as bytes.
    cdef Py_ssize_t size = 8
    cdef NDArrayBase array
    cdef char* to
    for array in given:
        size += 2 + 8 * array.blob.ndim
    out = PyBytes_FromStringAndSize(NULL, size)
    to = PyBytes_AS_STRING(out)
    memcpy(to, &dev_type, 4)
    memcpy(to + 4, &dev_id, 4)
    to += 8
    for array in given:
        to[0] = <char>array.blob.dtype
        to[1] = <char>array.blob.ndim
        memcpy(to + 2, array.blob.shape, 8 * array.blob.ndim)
        to += 2 + 8 * array.blob.ndim
    return out


cdef object hashable_key(object value):
    # A hashable key; it differs for values that parse differently (1, 1.0, True; 0.0, -0.0).
    if type(value) is int or type(value) is str or value is None:
        return value
    if type(value) is float:
        return repr(value), float
    if isinstance(value, (float, np.floating)):
        return repr(float(value)), type(value)
    if type(value) is bool:
        return value, bool
    if type(value) is tuple or type(value) is list:
        for each in value:
            if type(each) is tuple or type(each) is list:  # hashing would recurse
                raise ArgumentTypeError("nested")
        for each in value:
            if type(each) is not int:
                return type(value), tuple([hashable_key(v) for v in value])
        return tuple(value)
    return value, type(value)


# --- calls ----------------------------------------------------------------------------------------
cdef class Call:  # an operator with parameters, for given shapes and dtypes
    """An operator resolved for one signature: inputs' shapes, dtypes, device and parameters."""

    def __dealloc__(self):
        if self.state != NULL:
            drop_state(self.state)
            self.state = NULL


cdef object _find_call_device(OpEntry entry, list given, object ctx, int* dev_type, int* dev_id):
    cdef NDArrayBase array, first
    if given:
        first = given[0]
        for array in given:
            refuse_sparse(array, f"operator {entry.name}")
            # Host memory is one device, whatever its label; GPUs are devices of their own.
            if is_on_host(&array.blob) != is_on_host(&first.blob) or (
                    array.blob.dev_id != first.blob.dev_id and array.blob.dev_type == kGPU):
                raise ArgumentError(
                    f"operator {entry.name}: inputs are on {first.context} and {array.context}; "
                    f"copy them to one device first (as_in_context)")
            if array.blob.dev_type == kCPU and first.blob.dev_type != kCPU:
                first = array  # the result is in ordinary memory if any input is
        dev_type[0] = first.blob.dev_type
        dev_id[0] = first.blob.dev_id
        return None
    context = read_context(ctx)
    dev_type[0] = context.device_typeid
    dev_id[0] = context.device_id
    return context


cdef object _sparse_call = None  # the function of `set_sparse_call`


def set_sparse_call(call):
    """Register ``call(entry, given, names, params, out)``, which runs calls with a sparse array."""
    global _sparse_call
    _sparse_call = call


cdef object sparse_call(OpEntry entry, list given, tuple names, dict params, object out):
    return _sparse_call(entry, given, names, params, out)


cdef Call resolve_call(Face face, OpEntry entry, list given, tuple names, dict params, object ctx):
    cdef int dev_type, dev_id
    cdef object key
    cdef Call call
    context = _find_call_device(entry, given, ctx, &dev_type, &dev_id)
    packed = pack_signature(given, dev_type, dev_id)
    try:
        if params:
            frozen = []
            for name, value in params.items():
                frozen.append(name)
                frozen.append(hashable_key(value))
            key = (packed, names, tuple(frozen))
        elif names:
            key = (packed, names)
        else:
            key = packed
        if face is not ND:
            key = (face, key)
        call = entry.cache.get(key)
    except TypeError:  # a parameter is not hashable
        key = None
        call = None
    if call is not None:
        call.used = True
        return call
    call = _prepare_call(face, entry, given, names, params,
                         context or device_context(dev_type, dev_id))
    maximum = config.get("CYNET_CALL_CACHE")
    if key is not None and maximum:
        _evict_calls(maximum - 1)
        call.key = key
        entry.cache[key] = call
        _cached_calls.append(call)
    return call


cdef int _evict_calls(size_t maximum) except -1:
    # Evict Calls until `maximum` remain, by the second-chance (clock) algorithm: a Call that was
    # used since the last pass stays.
    cdef Call call
    while <size_t>len(_cached_calls) > maximum:
        call = _cached_calls.popleft()
        if call.used:
            call.used = False
            _cached_calls.append(call)
        elif call.entry.cache.get(call.key) is call:  # two threads may have made it
            del call.entry.cache[call.key]
    return 0


cdef Call _prepare_call(Face face, OpEntry entry, list given, tuple names, dict params,
                        object context):
    cdef Call call = Call.__new__(Call)
    cdef NDArrayBase array
    cdef TBlob blob
    count = entry.prop.key_var_num_args
    if count is not None and count in entry.prop.fields and count not in params:
        params = {**params, count: len(given)}
    prop = entry.prop(**entry.prop.accepted_params(params))
    if face is not ND:
        prop.no_axes = face.no_axes
    call.entry, call.face, call.prop, call.context = entry, face, prop, context
    call.dev_type, call.dev_id = context.device_typeid, context.device_id
    arguments, states = prop.list_arguments(), prop.list_auxiliary_states()
    call.n_in, call.n_aux = len(arguments), len(states)
    call.order = _order_inputs(entry, [*arguments, *states], prop.list_inputs(), len(given), names)
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
    _infer_call_outputs(call, [*arguments, *states], shapes, types)
    _set_derived_fields(call)
    if call.dev_type != kGPU and config.get("CYNET_LOG_ALGORITHMS"):
        log_choices(prop, call.in_shapes, call.in_types)
    return call


cdef Call call_of_node(object node, Face face, object context, list ins, list outs):
    cdef Call call = Call.__new__(Call)
    prop = node.prop
    call.entry, call.face, call.prop, call.context = node.op, face, prop, context
    call.node = node.name
    call.dev_type, call.dev_id = context.device_typeid, context.device_id
    call.n_in, call.n_aux = node.num_args, len(node.inputs) - node.num_args
    call.n_out, call.n_visible = len(outs), prop.num_visible_outputs()
    for shape, kind in ins:
        call.arrays.push_back(_new_blob(call, shape, kind))
        call.nbytes += call.arrays.back().size * <int64_t>dtype_size(dtype_flag(kind))
    call.in_shapes = [shape for shape, _ in ins[:call.n_in]]
    call.in_types = [kind for _, kind in ins[:call.n_in]]
    for shape, kind in outs:
        _add_output_blob(call, shape, kind)
    _set_derived_fields(call)
    return call


cdef Call copy_call_for_node(Call call, object node):
    cdef Call out = _copy_call(call)
    out.prop, out.node = node.prop, node.name
    if call.state != NULL:
        out.state = new_state(<object>call.state.op, call.entry.name, node.name)
    return out


cdef int64_t _count_elements(tuple shape):
    cdef int64_t count = 1
    for n in shape:
        count *= <int64_t>n
    return count


cdef int _set_derived_fields(Call call) except -1:
    # Set the fields of a Call that follow from its property and its arrays.
    prop = call.prop
    _set_resources_and_inplace(call)
    call.quick = call.dev_type == kGPU or call.nbytes <= MAX_INLINE_BYTES or (
        call.nbytes <= MAX_INLINE_PASS_BYTES and prop.graph.is_memory_bound(prop, call.in_shapes))
    op = make_operator(call)
    call.python = op.runs_python
    if not op.stateful:
        call.state = new_state(op, call.entry.name, call.node)
    return 0


cdef Operator make_operator(Call call):
    try:
        op = call.prop.operator_on(call.context, call.in_shapes, call.in_types)
    except CynetError as error:
        if call.entry.name in str(error):
            raise
        raise with_message(error, f"operator {call.entry.name}: {error}") from error
    except Exception as error:
        raise wrap_error(error, f"operator {call.entry.name} with inputs {call.in_shapes}: "
                                f"{type(error).__name__}: {error}") from error
    if not isinstance(op, Operator):
        raise ArgumentTypeError(f"operator {call.entry.name}: create_operator gave "
                                f"{type(op).__name__}, expected an Operator")
    return op


cdef object _missing_input_error(OpEntry entry, str name, list wanted):
    return ArgumentError(
        f"operator {entry.name}: input '{name}' is missing; it takes {', '.join(wanted)}")


cdef list _order_inputs(OpEntry entry, list wanted, list positional, Py_ssize_t n_given,
                        tuple names):
    # The index of each wanted input among those given by name, or by position in the
    # order of `positional`.
    if len(set(names)) != len(names):
        raise ArgumentTypeError(
            f"operator {entry.name}: an input is given twice: {', '.join(names)}")
    if not names:
        if n_given > len(wanted):
            raise ArgumentError(too_many_text(f"operator {entry.name}", entry, positional, n_given))
        if n_given < len(wanted):
            raise _missing_input_error(entry, positional[n_given], positional)
        if positional == wanted:
            return None
        names = tuple(positional)
    place = dict(zip(names, range(n_given)))
    for name in names:
        if name not in wanted:
            raise ArgumentTypeError(
                f"operator {entry.name} has no input '{name}' with these parameters; "
                f"its inputs: {', '.join(wanted) or 'none'}")
    for name in wanted:
        if name not in place:
            raise _missing_input_error(entry, name, wanted)
    order = [place[name] for name in wanted]
    return None if order == list(range(n_given)) else order


cdef Call with_scalar(Call call, object number):  # with another `scalar`
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
    out = _copy_call(call)
    out.prop = copy(call.prop)
    out.prop.__dict__["scalar"] = value
    out.state = new_state(op, call.entry.name, call.node)
    return out


cdef Call _copy_call(Call call):
    # A copy of the Call without property, node and state.
    cdef Call out = Call.__new__(Call)
    out.entry, out.face, out.context, out.order = call.entry, call.face, call.context, call.order
    out.in_shapes, out.in_types = call.in_shapes, call.in_types
    out.dev_type, out.dev_id = call.dev_type, call.dev_id
    out.n_in, out.n_aux, out.python, out.quick = call.n_in, call.n_aux, call.python, call.quick
    out.n_out, out.n_visible, out.nbytes = call.n_out, call.n_visible, call.nbytes
    out.arrays, out.outs, out.backward = call.arrays, call.outs, call.backward
    out.resources, out.inplace = call.resources, call.inplace
    return out


def infer_outputs(prop, list wanted, list shapes, list types):
    """Infer the shapes and dtypes of an operator's outputs.

    prop: OperatorProperty
    wanted, shapes, types (list): Names, shapes and dtypes of inputs and states.

    Returns (str, list, list, list): the call in words; dtypes of inputs and states; shapes and
    dtypes of the outputs. Raises ArgumentError or ShapeError: the operator does not take these
    inputs.
    """
    cdef int n_in = len(prop.list_arguments())
    about = ", ".join([f"{n} {s} {t}" for n, s, t in zip(wanted, shapes, types)]) or "no inputs"
    where = f"operator {prop.op_name} on ({about})"
    outputs = prop.list_outputs()
    try:
        in_shapes, out_shapes, aux_shapes = prop.infer_shape(
            [known_shape(shape) for shape in shapes[:n_in]], [None] * len(outputs))
        in_types, out_types, aux_types = prop.infer_type(types[:n_in], [None] * len(outputs))
    except CynetError as error:
        reported = with_message(error, f"{where}: {error}")
        # chain the first traceback only if it shows code of the user
        raise reported from (error if prop.users else None)
    except Exception as error:
        if isinstance(error, IndexError) and not prop.users:  # a shape has too few axes
            raise ShapeError(f"{where}: the shapes have too few axes ({error})") from error
        raise wrap_error(error, f"{where}: {describe_error(error)}") from error
    for name, want, got in zip(wanted, [*in_shapes, *aux_shapes], shapes):
        if want is not None and plain_shape(want) != got:
            raise ShapeError(f"{where}: '{name}' has shape {got}, expected {plain_shape(want)}")
    for name, want, got in zip(wanted, [*in_types, *aux_types], types):
        if want is not None and want != got:
            raise ArgumentTypeError(f"{where}: '{name}' is {got}, expected {want}")
    return where, [t or got for t, got in zip(in_types, types)], out_shapes, out_types


cdef int _infer_call_outputs(Call call, list wanted, list shapes, list types) except -1:
    prop = call.prop
    outputs = prop.list_outputs()
    call.n_out, call.n_visible = len(outputs), prop.num_visible_outputs()
    where, call.in_types, out_shapes, out_types = infer_outputs(prop, wanted, shapes, types)
    for name, shape, kind in zip(outputs, out_shapes, out_types):
        if not is_known(shape) or any(n < 0 for n in shape):
            raise ShapeError(f"{where}: the shape of '{name}' is not determined (got {shape})")
        check_elements(shape, f"{where}: output '{name}'")
        _add_output_blob(call, plain_shape(shape), kind)
    call.in_shapes = [tuple(s) for s in shapes[:call.n_in]]
    return 0


cdef TBlob _new_blob(Call call, tuple shape, str kind) except *:
    # The TBlob of an array of the call, without data.
    cdef TBlob blob
    cdef int i
    memset(&blob, 0, sizeof(TBlob))
    blob.dev_type, blob.dev_id = call.dev_type, call.dev_id
    blob.ndim, blob.size, blob.dtype = len(shape), _count_elements(shape), dtype_flag(kind)
    for i, n in enumerate(shape):
        blob.shape[i] = n
    return blob


cdef int _add_output_blob(Call call, tuple shape, str kind) except -1:
    call.outs.push_back(_new_blob(call, shape, kind))
    call.nbytes += call.outs.back().size * <int64_t>dtype_size(call.outs.back().dtype)
    return 0


cdef int _set_resources_and_inplace(Call call) except -1:
    cdef int n_in = call.n_in, n_out = call.n_out
    for kind in call.prop.forward_resource(call.in_shapes):
        if kind == kRandom and not call.prop.graph.draws_in_prediction(call.prop):
            kind = RANDOM_IN_TRAINING
        call.resources.push_back(kind)
    call.inplace.resize(n_in * n_out, 0)
    pairs = call.prop.forward_inplace_option(list(range(n_in)), list(range(n_in, n_in + n_out)))
    for source, target in pairs:
        call.inplace[<size_t>(source * n_out + target - n_in)] = 1
    return 0
