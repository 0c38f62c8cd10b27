"""The tape: flags of threads, nodes, and functions that record them (contract in the .pxd)."""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memset

from .._core.saved_values cimport (
    add_checksum, add_recorded_steps, find_older_copy, was_changed_outside
)
from ..engine.live_objects cimport count_live, live_counter
from ..engine.records cimport expected_write_count, pushed_write_count
from .._core.sparse_kind cimport is_sparse
from .._ndarray cimport NDArrayBase, blob_shape, do_overlap, new_view, same_shape
from .._typedefs cimport TBlob, kAddTo, kNullOp, kWriteTo
from ._resolve cimport Call, State, drop_state

from .._ndarray import device_context
from ..base.dtype import NAMES
from ..base.errors import (
    PACKAGE, ArgumentError, ArgumentTypeError, GradientError, NotFoundError, ShapeError, shown,
)

cdef extern from "_tape.h":
    int cynet_flags
    uint64_t cynet_scope
    object cynet_user_code(object package, int* place)
    int cynet_line_number(object code, int place)

live_records = live_counter()  # counts live steps that keep arrays

cdef enum:
    RECORDING = 1  # flag: this thread records
    TRAINING = 2  # flag: this thread trains

cdef int n_flagged = 0  # number of threads that record or train
cdef uint64_t _scope_count = 0  # record scopes that have begun


# --- flags ----------------------------------------------------------------------------------------
cdef bint is_recording() noexcept:
    return cynet_flags & RECORDING


cdef bint is_training() noexcept:
    return (cynet_flags & TRAINING) != 0


cdef int set_flags(int flags) noexcept:  # RECORDING, TRAINING; returns the old flags
    global cynet_flags, n_flagged
    cdef int old = cynet_flags
    cynet_flags = flags
    if flags and not old:
        n_flagged += 1
    elif old and not flags:
        n_flagged -= 1
    return old


def get_state():
    """The flags of this thread: 1 if it records, plus 2 if it trains."""
    return cynet_flags


def set_state(int flags):
    """Set this thread's flags; returns the old flags."""
    return set_flags(flags)


def begin_record_scope():
    """Begin a record scope in this thread; returns the id of the scope around it."""
    global _scope_count, cynet_scope
    before = cynet_scope
    _scope_count += 1
    cynet_scope = _scope_count
    return before


def resume_scope(uint64_t number):
    """Make a scope, by the id that `begin_record_scope` returned, this thread's scope again."""
    global cynet_scope
    cynet_scope = number


# --- nodes ----------------------------------------------------------------------------------------
@cython.trashcan(True)
cdef class Node:  # a recorded step of autograd's graph
    """A recorded step."""

    def __cinit__(self):
        self.inputs = []
        self.n_out, self.scope = 1, cynet_scope

    cdef int check_saved_arrays(self) except -1:
        return 0

    cdef int release(self) except -1:
        self.inputs = self.grads = None
        return 0

    cdef list input_gradients(self, list grads, bint recorded):
        raise GradientError(f"no gradient goes through {self}")

    def user_line(self):
        """(file, line) of the user's code that recorded the node."""
        if self.code is None:
            return "an unknown file", 0
        return self.code.co_filename, cynet_line_number(self.code, self.place)

    def location(self):
        """The line of the user's code that recorded the node, as "file:line"."""
        return "{}:{}".format(*self.user_line())

    @property
    def sources(self):
        """For each input (node, index of its output), or None if no gradient flows there; None for
        a node that was freed."""
        if self.inputs is None:
            return None
        return [None if e is None else (node_of(e), out_index(e)) for e in self.inputs]

    @property
    def name(self):
        """The name of the node in errors."""
        return type(self).__name__

    @property
    def symbol_name_and_params(self):
        """(operator's name, its parameters), or None where it is no operator."""
        return None


cdef Node DETACHED = Node()  # graph entry of detached arrays

cdef object live_graph_entry(NDArrayBase array):
    cdef Node node
    entry = array.grad_entry
    if entry is None:
        return None
    node = node_of(entry)
    if node.inputs is None and node.scope != cynet_scope:
        array.grad_entry = entry = None
    return entry


cdef class Output:  # graph entry: output `index` of a node
    """An output of a node that has several outputs."""


cdef class Leaf(Node):  # graph entry of an array with a gradient
    """An array that a gradient is computed for."""

    @property
    def grad_req(self):
        return ("null", "write", None, "add")[self.req]

    @property
    def shape(self):
        return blob_shape(&self.like)

    @property
    def name(self):
        return f"a variable of shape {blob_shape(&self.like)}"


@cython.trashcan(True)
cdef class SavingNode(Node):  # a node that keeps arrays for backward
    """A node with arrays that backward reads."""

    def __dealloc__(self):
        self.end_saving()

    cdef void end_saving(self) noexcept:
        if self.open:
            self.open = False
            add_recorded_steps(-1)
            count_live(-1)

    cdef int save(self, NDArrayBase array) except -1:
        if not self.open:
            self.open = True
            add_recorded_steps(1)
            count_live(1)
        if array is not None and array.chunk.exposed.load():
            self.marks = add_checksum(self.marks, len(self.arrays), array)
        self.arrays.append(array)
        self.writes.push_back(0 if array is None else expected_write_count(array.chunk.var))
        return 0

    cdef int check_saved_arrays(self) except -1:
        cdef NDArrayBase array
        cdef size_t i = 0
        for array in self.arrays:
            if array is not None and not self.ignores_writes_to(i) and (
                    pushed_write_count(array.chunk.var) != self.writes[i]
                    or was_changed_outside(self.marks, i, array)):
                self.restore_old_values(i)
            i += 1
        return 0

    cdef int release(self) except -1:
        self.inputs = self.grads = self.arrays = None
        self.end_saving()
        return 0

    cdef bint ignores_writes_to(self, size_t i) noexcept:
        return False

    cdef int restore_old_values(self, size_t i) except -1:
        cdef NDArrayBase array = self.arrays[i], older
        older = find_older_copy(array, self.writes[i])
        if older is None:
            self._raise_overwritten(i)
        self.arrays[i], self.writes[i] = older, pushed_write_count(older.chunk.var)
        return 0

    def _raise_overwritten(self, size_t i):
        cdef NDArrayBase array = self.arrays[i]
        raise GradientError(
            f"{self.name}, recorded at {self.location()}: {self.array_name(i)} of shape "
            f"{blob_shape(&array.blob)} was changed in place after it was recorded, so its "
            "gradient would be wrong; change it after backward, or use a copy of it")

    def array_name(self, i):
        """The name by which errors call the array."""
        return f"array {i}"


@cython.trashcan(True)
cdef class CallNode(SavingNode):  # a recorded Call
    """A recorded call of an operator."""

    def __dealloc__(self):
        if self.state != NULL:
            drop_state(self.state)

    cdef bint ignores_writes_to(self, size_t i) noexcept:
        return i < <size_t>self.call.n_in and self.info.fixed[i]

    cdef int release(self) except -1:
        SavingNode.release(self)
        self.aux = None
        if self.state != NULL:
            drop_state(self.state)
            self.state = NULL
        return 0

    @property
    def name(self):
        return f"operator {self.call.entry.name}"

    def array_name(self, i):
        names = [*self.call.prop.list_arguments(), *self.call.prop.list_outputs()]
        kind = "input" if i < self.call.n_in else "output"
        return f"{kind} '{names[i]}'"

    @property
    def symbol_name_and_params(self):
        return self.call.entry.name, self.call.prop.params()


cdef class CopyNode(Node):  # a recorded copy
    """A copy with another dtype or on another device."""

    cdef list input_gradients(self, list grads, bint recorded):
        if grads[0] is None:
            return [None]
        context = device_context(self.like.dev_type, self.like.dev_id)
        grad = grads[0].as_in_context(context)
        return [grad.astype(NAMES[self.like.dtype], copy=False)]

    @property
    def name(self):
        return "a copy"

    @property
    def symbol_name_and_params(self):
        return "Cast", {"dtype": NAMES[self.like.dtype]}


cdef class StepNode(SavingNode):  # a node whose backward is Python
    """A node whose backward is written in Python: a subclass defines ``backward(grads, recorded)``,
    which returns a gradient or None for each input; or, if `direct`, ``write_grads(walk, grads)``,
    which writes to the arrays of ``walk.gradient_targets``."""

    direct = False

    def attach(self, list inputs, list outputs, list read=None):
        """Insert the node between `inputs` and `outputs` in the graph; backward reads the arrays in
        `read`, and raises if they were written since."""
        cdef NDArrayBase array
        self.code = cynet_user_code(PACKAGE, &self.place)
        self.face = (<NDArrayBase>(outputs or inputs)[0]).face
        for array in inputs:
            self.inputs.append(live_graph_entry(array))
            self.likes.push_back(array.blob)
        self.arrays = []
        for array in read or ():
            self.save(_view_without_entry(array))
        link_outputs_to_node(self, outputs)

    def linked_arrays(self, list arrays):
        """`arrays` linked to the graph entries that this node recorded for its inputs; arrays
        beyond the inputs unchanged."""
        cdef NDArrayBase array, out
        cdef list found = []
        cdef Py_ssize_t i, n = len(self.inputs)
        for i, array in enumerate(arrays):
            out = array
            if i < n and array.grad_entry is not self.inputs[i]:
                out = _view_without_entry(array)
                out.grad_entry = self.inputs[i]
            found.append(out)
        return found

    def add_inputs(self, list arrays, list entries):
        """Add inputs; one whose array is None has only its graph entry."""
        cdef NDArrayBase array
        cdef TBlob unknown
        memset(&unknown, 0, sizeof(unknown))
        for array, entry in zip(arrays, entries):
            self.inputs.append(entry)
            self.likes.push_back(unknown if array is None else array.blob)

    cdef int restore_old_values(self, size_t i) except -1:
        SavingNode.restore_old_values(self, i)
        self.on_array_replaced(i, self.arrays[i])
        return 0

    def on_array_replaced(self, i, array):
        """Replace array `i` that backward reads by `array`, which has its recorded values."""

    cdef int release(self) except -1:
        SavingNode.release(self)
        self.release_references()
        return 0

    def release_references(self):
        """Release the references of a subclass."""

    cdef list input_gradients(self, list grads, bint recorded):
        return self.backward(grads, recorded)


cdef class EmptyNode(StepNode):  # records a part without elements
    """The node of a part without elements, whose gradient is zeros."""

    @property
    def name(self):
        return "an array without elements"

    def backward(self, grads, recorded):
        return [None]


def record_empty_part(NDArrayBase source, NDArrayBase part):
    """Record that `part`, which has no elements, is a part of `source`."""
    EmptyNode().attach([source], [part])
    return part


def wants_gradient(list arrays):
    """True if this thread records and a gradient may be wanted through one of the arrays."""
    return bool(n_flagged and is_recording() and any([gradient_request(each) for each in arrays]))


# --- what a gradient takes ------------------------------------------------------------------------
cdef int fill_grad_info(Call call) except -1:
    cdef GradInfo out = GradInfo.__new__(GradInfo)
    cdef int n_in = call.n_in, n_out = call.n_out, i
    prop = call.prop
    traits = prop.graph.traits
    ids = list(range(2 * n_out + n_in))
    used = set(prop.declare_backward_dependency(
        ids[:n_out], ids[n_out:n_out + n_in], ids[n_out + n_in:]))
    if not used <= set(ids):
        raise ArgumentError(
            f"operator {call.entry.name}: declare_backward_dependency returned "
            f"{sorted(used - set(ids), key=str)}, expected some of the ids it was given")
    out.differentiable = prop.differentiable
    out.honours_req = prop.honours_req
    out.moves_states = call.n_aux and not (traits.moves_states and prop.honours_req)
    out.view, out.passes = traits.view, traits.passes_gradient
    for i in ids:
        out.reads.push_back(i in used)
    for i in range(call.n_visible):
        out.takes_grad = out.takes_grad or out.reads[i]
    fixed = prop.graph.fixed_inputs(prop)
    names = prop.list_arguments()
    for i in range(n_in):
        out.flows.push_back(i not in traits.shape_only)
        out.fixed.push_back(names[i] in fixed)
    for kind in prop.backward_resource(call.in_shapes):
        out.resources.push_back(kind)
    call.backward = out
    return 0


# --- recording ------------------------------------------------------------------------------------
cdef inline bint _wants_gradient(object entry):
    # True if a gradient may flow through the entry.
    return entry is not DETACHED and not (type(entry) is Leaf and (<Leaf>entry).req == kNullOp)


cdef int link_outputs_to_node(Node node, list outs) except -1:
    cdef NDArrayBase array
    cdef Output output
    cdef int i = 0
    node.n_out = len(outs)
    for array in outs:
        if node.n_out == 1:
            array.grad_entry = node
            return 0
        output = Output.__new__(Output)
        output.node, output.index = node, i
        array.grad_entry = output
        i += 1
    return 0


cdef NDArrayBase _view_without_entry(NDArrayBase array):
    # A view without graph entry: a node that holds its own outputs is never freed.
    return new_view(array, array.blob.shape, array.blob.ndim, 0)


cdef int record_call(Call call, PyObject** arrays, PyObject** outs, State* state,
                     bint is_train) except -1:
    cdef CallNode node
    cdef GradInfo info
    cdef NDArrayBase array
    cdef int i, k, n_in = call.n_in, n_out = call.n_out
    cdef bint wanted = False, known = False
    cdef list visible
    if call.backward is None:
        fill_grad_info(call)
    info = call.backward
    node = CallNode.__new__(CallNode)
    node.call, node.info, node.state, node.is_train = call, info, state, is_train
    node.face = call.face
    node.code = cynet_user_code(PACKAGE, &node.place)
    for i in range(n_in):
        entry = live_graph_entry(<NDArrayBase>arrays[i])
        if entry is not None:
            known = True
            wanted = wanted or _wants_gradient(entry)
        node.inputs.append(entry)
    if not wanted:
        for i in range(call.n_visible):
            (<NDArrayBase>outs[i]).grad_entry = DETACHED if known else None
        return 0
    node.arrays = []
    if info.differentiable:
        for i in range(n_in):
            array = <NDArrayBase>arrays[i] if info.reads[n_out + i] else None
            if array is not None:
                for k in range(n_out):
                    if do_overlap(array, <NDArrayBase>outs[k]):
                        raise GradientError(
                            f"operator {call.entry.name}: its gradient reads the input "
                            f"'{call.prop.list_arguments()[i]}', so the result must not be "
                            "written over it while autograd records")
            node.save(array)
        for i in range(n_out):
            array = <NDArrayBase>outs[i] if info.reads[n_out + n_in + i] else None
            node.save(array if array is None or i >= call.n_visible else _view_without_entry(array))
        if call.n_aux:
            node.aux = [<object>arrays[n_in + i] for i in range(call.n_aux)]
    if call.n_visible == 1:
        (<NDArrayBase>outs[0]).grad_entry = node
        return 0
    visible = [<object>outs[i] for i in range(call.n_visible)]
    return link_outputs_to_node(node, visible)


cdef int record_view(Call call, NDArrayBase source, NDArrayBase view) except -1:
    cdef PyObject* arrays[1]
    cdef PyObject* outs[1]
    arrays[0], outs[0] = <PyObject*>source, <PyObject*>view
    return record_call(call, arrays, outs, NULL, False)


cdef int record_copy(NDArrayBase source, NDArrayBase target) except -1:
    cdef CopyNode node
    entry = live_graph_entry(source)
    if entry is None or not _wants_gradient(entry):
        target.grad_entry = None if entry is None else DETACHED
        return 0
    node = CopyNode.__new__(CopyNode)
    node.code = cynet_user_code(PACKAGE, &node.place)
    node.inputs.append(entry)
    node.like, node.face = source.blob, source.face
    node.like.data = NULL
    target.grad_entry = node
    return 0


cdef int gradient_request(NDArrayBase array) noexcept:
    entry = live_graph_entry(array)
    if entry is None or not _wants_gradient(entry):
        return kNullOp
    return (<Leaf>entry).req if type(entry) is Leaf else kWriteTo


def record_copy_of(NDArrayBase source, NDArrayBase target):
    """Record that `target` is a copy of `source`, if this thread records."""
    if n_flagged and source.grad_entry is not None and is_recording():
        record_copy(source, target)


cdef int refuse_write(NDArrayBase array) except -1:
    if array.grad_entry is not None and is_recording() and live_graph_entry(array) is not None:
        raise GradientError(
            f"this array of shape {blob_shape(&array.blob)} belongs to a graph that autograd "
            "records, so it must not be written (+=, x[i] = y, out=x and the like) inside a record "
            "scope; make a new array, or write outside the scope after backward")
    return 0


cdef int refuse_part_write(NDArrayBase value) except -1:
    if value.grad_entry is not None and is_recording() and live_graph_entry(value) is not None:
        raise GradientError(
            "a value of a graph that autograd records cannot be written into a part of an array "
            "(x[i] = y), since no gradient would reach it; join parts with concat or stack, choose "
            "with where")
    return 0


def is_tracked(NDArrayBase array):
    """True if a result computed from `array` now belongs to a graph."""
    return n_flagged and is_recording() and live_graph_entry(array) is not None


def check_writable(NDArrayBase array):
    """Raise when this thread records and the array belongs to a graph: it must not be written."""
    if n_flagged:
        refuse_write(array)


# --- variables ------------------------------------------------------------------------------------
cdef dict _REQUESTS = {"null": kNullOp, "write": kWriteTo, "add": kAddTo}  # grad_req -> OpReq


def mark_variable(NDArrayBase array not None, NDArrayBase grad, str req):
    """Make `array` a leaf whose gradient goes to `grad`; what it was computed from is forgotten."""
    cdef Leaf leaf = Leaf.__new__(Leaf)
    request = _REQUESTS.get(req)
    if request is None:
        raise NotFoundError(
            f"grad_req is {shown(req)}; expected 'write', 'add' or 'null'")
    if grad is not None and (is_sparse(&array.blob) or is_sparse(&grad.blob)):
        if (<object>array).shape != (<object>grad).shape:
            raise ShapeError(f"the gradient of a variable of shape {(<object>array).shape} has "
                             f"shape {(<object>grad).shape}")
    elif grad is not None and not same_shape(&array.blob, &grad.blob):
        raise ShapeError(f"the gradient of a variable of shape {blob_shape(&array.blob)} has shape "
                         f"{blob_shape(&grad.blob)}")
    if grad is not None and grad.blob.dtype != array.blob.dtype:
        raise ArgumentTypeError(f"the gradient of a {NAMES[array.blob.dtype]} variable is "
                                f"{NAMES[grad.blob.dtype]}")
    leaf.like, leaf.face = array.blob, array.face
    leaf.like.data = NULL
    leaf.grad, leaf.req = grad, _REQUESTS["null"] if grad is None else request
    array.grad_entry = leaf


def leaf_of(NDArrayBase array):
    """The Leaf of an array that has a gradient, else None."""
    entry = array.grad_entry
    return entry if isinstance(entry, Leaf) else None


def hooks_and_index(NDArrayBase array not None):
    """(hooks of all outputs of an array's node, by index; the index of this array)."""
    cdef Node node
    entry = live_graph_entry(array)
    if entry is None or not _wants_gradient(entry):
        raise GradientError(
            f"register_hook: no gradient goes to this array of shape {(<object>array).shape}: call "
            "attach_grad() on it, or compute it in a record scope from an array with a gradient; "
            "executors, as those of a Module, compute gradients elsewhere")
    node = node_of(entry)
    if node.inputs is None:
        raise GradientError(f"register_hook: {node.name}, recorded at {node.location()}, is gone: "
                            "an earlier backward has let go of its graph")
    if node.hooks is None:
        node.hooks = {}
    return node.hooks, out_index(entry)


def link_rows_to_graph(NDArrayBase array not None, NDArrayBase part not None):
    """Link `part`, rows of `array`, to the graph entry of `array`."""
    part.grad_entry = array.grad_entry
    return part


def computed_by(NDArrayBase array not None):
    """(node, index of the output) that computed the array, or None."""
    e = array.grad_entry
    return None if e is None else (node_of(e), out_index(e))
