"""The backward pass, from outputs to leaves, each node once (docs/architecture/autograd.md).

Nothing is changed before everything that backward reads has been found as it was recorded."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from .._core.saved_values cimport drop_unused_copies
from .._core.sparse_kind cimport dense_of, is_sparse
from .._ndarray cimport NDArrayBase, blob_shape
from .._typedefs cimport TBlob, kAddTo, kNullOp, kWriteTo
from ..ndarray._dispatch cimport Gradients, push_backward
from ..ndarray._resolve cimport Call, State
from ..ndarray._tape cimport (
    DETACHED, GradInfo, CallNode, Leaf, Node, StepNode, out_index, is_training, node_of, set_flags)
from ._arrays cimport (
    NOT_RECORDED, add_arrays, copy_of, copy_values, entries_of, fill, filled_like, check_head_grad,
    link_to_entry, entry_of_output, reshaped_like, sparse_module, new_array_like)

from .. import ndarray
from ..base.errors import GradientError
from ..base.kinds import check_flag
from ..base.observers import backward_observers
from ..engine.trace import Span
from ..operator.second_order import Flat, Formula, Linear, Rewrite
from ..operator.property import OperatorProperty
from ._adjoint import make_alias, record_gradients_as_operators, record_adjoint
from .hooks import apply_hooks

cdef enum:
    SHARED_BITS = 64  # bits of a node's `shared_grads`, one for each output
cdef uint64_t _walk_count = 0  # number of walks so far: the last walk's id
cdef set _running_walks = set()  # ids of the running walks
cdef list _observers = backward_observers  # functions called at nodes of a backward
BACKWARD_SPAN = Span("backward", "training")  # of a backward pass, in traces

cdef str _NO_LEAF_TEXT = (
    "backward: none of the arrays that the heads were computed from wants a gradient "
    "(grad_req 'null')")


# --- the walk -------------------------------------------------------------------------------------
cdef class Walk:  # one backward pass over a graph
    """One backward pass over a graph."""

    cdef uint64_t id
    cdef readonly bint retain
    cdef bint create
    # Leaf -> sum of its gradients so far, or None; no dict: gradients go to the leaves' arrays
    cdef dict wanted
    cdef set begun        # leaves whose gradient was written
    cdef list order       # nodes; each comes after its inputs
    cdef list late        # (entry or array, gradient): to deliver after the node's backward
    cdef vector[PyObject*] pointers
    cdef vector[int] requests

    def __cinit__(self):
        global _walk_count
        _walk_count += 1
        self.id = _walk_count
        self.begun, self.order, self.late = set(), [], []

    cdef int collect_nodes(self, list entries) except -1:
        # Fill `order`, mark needed nodes and check saved values, before any gradient is written.
        cdef list stack = []
        cdef Node node, child
        cdef bint others = len(_running_walks) > 0
        for entry in entries:
            child = node_of(entry)
            while True:
                if child is not None and child is not DETACHED and child.walk != self.id:
                    if child.inputs is None:
                        raise GradientError(
                            f"{child.name}, recorded at {child.location()}, is gone: an earlier "
                            "backward has let go of a part of this graph. "
                            + NOT_RECORDED.format("this array"))
                    if others and child.walk in _running_walks and not isinstance(child, Leaf):
                        raise GradientError(
                            f"{child.name}, recorded at {child.location()}: another backward is "
                            "going through the same graph")
                    child.walk, child.at, child.shared_grads = self.id, 0, 0
                    child.needed, child.grads = False, None
                    stack.append(child)
                if not stack:
                    break
                node = <Node>stack[len(stack) - 1]
                child = None
                if node.at < len(node.inputs) and not self.is_walk_end(node):
                    entry = node.inputs[node.at]
                    node.at += 1
                    if entry is not None and entry is not DETACHED:
                        child = node_of(entry)
                else:
                    stack.pop()
                    self.finish_node_visit(node)
        return 0

    cdef int finish_node_visit(self, Node node) except -1:
        # Called when all inputs of the node have been visited.
        if self.is_walk_end(node):
            node.needed = (node in self.wanted if self.wanted is not None
                           else (<Leaf>node).req != kNullOp)
            if node.hooks is not None:
                node.grads = [None]
        else:
            for entry in node.inputs:
                if entry is not None and node_of(entry).needed:
                    node.needed = True
                    break
            if node.needed:
                node.check_saved_arrays()
                node.grads = [None] * node.n_out
        self.order.append(node)
        return 0

    cdef int run(self) except -1:
        cdef Node node
        cdef Py_ssize_t i
        _running_walks.add(self.id)
        try:
            for i in range(len(self.order) - 1, -1, -1):
                node = <Node>self.order[i]
                if self.is_walk_end(node):
                    self.complete_leaf_grad(node)
                    continue
                if node.needed:
                    if node.hooks is not None:
                        self.call_hooks(node)
                    if type(node) is CallNode:
                        if self.create:
                            self.differentiate(<CallNode>node)
                        else:
                            self.backward_call(<CallNode>node)
                    else:
                        self.backward_node(node)
                    if _observers:
                        self._notify_observers(node)
                self.order[i] = None
                node.grads = None
                if not self.retain:
                    node.release()
                    node.hooks = None
        finally:
            _running_walks.discard(self.id)
            for node in self.order:
                if node is not None:
                    node.grads = None
            drop_unused_copies()
        return 0

    cdef int call_hooks(self, Node node) except -1:
        # Hooks get an array that nothing else shares, as they may write to it.
        for i, hooks in node.hooks.items():
            grad = node.grads[i]
            if grad is None or not hooks:
                continue
            if not self.create and (i >= SHARED_BITS or node.shared_grads >> i & 1):
                grad = copy_of(grad)
            node.grads[i] = apply_hooks(hooks, grad, node)
            if i < SHARED_BITS:
                node.shared_grads |= <uint64_t>1 << i
        return 0

    def _notify_observers(self, Node node):
        # Report the gradients of the node's inputs, as far as they are known, to observers.
        cdef Node source
        for i, entry in enumerate(node.inputs):
            source = node_of(entry) if self.wants_gradient(entry) else None
            if source is not None and not self.is_gradient_stored_at_once(source):
                _observers[0](node, i, source.grads[out_index(entry)])
            elif source is not None:
                _observers[0](node, i, (<Leaf>source).grad if self.wanted is None
                              else self.wanted[source])

    cdef bint is_walk_end(self, Node node):
        # A walk ends at a leaf, or at a variable that `grad` was called for.
        return isinstance(node, Leaf) or (self.wanted is not None and node in self.wanted)

    cdef bint is_gradient_stored_at_once(self, Node node) except -1:
        # True if the walk ends here and its gradient is stored at once, as no hook reads it before.
        return self.is_walk_end(node) and node.hooks is None

    cdef int complete_leaf_grad(self, Node node) except -1:
        # Finish a leaf: all parts of its gradient have been added.
        cdef Leaf leaf
        cdef NDArrayBase grad
        if node.hooks is not None and node.needed and node.grads[0] is not None:
            if self.has_row_gradient(node) and not is_sparse(&(<NDArrayBase>node.grads[0]).blob):
                node.grads[0] = sparse_module().to_row_sparse(node.grads[0])
            self.call_hooks(node)
            grad = node.grads[0]
            if self.wanted is not None:
                self.wanted[node] = grad
            else:
                self.write_leaf_grad(<Leaf>node, grad)
        if self.wanted is not None:
            if isinstance(node, Leaf) and node in self.wanted and self.wanted[node] is None:
                self.wanted[node] = self._zero_gradient_of(<Leaf>node)
            elif node in self.wanted and self.has_row_gradient(node) and not self.create:
                self.wanted[node] = sparse_module().to_row_sparse(self.wanted[node])
            return 0
        leaf = <Leaf>node
        if leaf.req != kNullOp:
            if leaf.req == kWriteTo and leaf not in self.begun:
                fill(leaf.grad, 0)
            leaf.fresh = True
        return 0

    cdef NDArrayBase _zero_gradient_of(self, Leaf leaf):
        if leaf.grad is not None and is_sparse(&leaf.grad.blob):
            return sparse_module().zero_gradient_like(leaf.grad)
        return filled_like(&leaf.like, 0, leaf.face)

    cdef bint has_row_gradient(self, object entry) except -1:
        # True if the entry's gradient is row_sparse, which operators cannot write.
        cdef Node node = node_of(entry)
        return isinstance(node, Leaf) and (<Leaf>node).grad is not None and is_sparse(
            &(<Leaf>node).grad.blob)

    cdef bint wants_gradient(self, object entry) except -1:
        cdef Node node
        if entry is None or entry is DETACHED:
            return False
        node = node_of(entry)
        if self.is_walk_end(node):
            return node in self.wanted if self.wanted is not None else (
                (<Leaf>node).req != kNullOp)
        return node.needed

    cdef NDArrayBase gradient_target(self, object entry, const TBlob* like, int* request):
        # The array that gets the gradient of an entry; `request` becomes kWriteTo or kAddTo.
        cdef Node node = node_of(entry)
        cdef Leaf leaf
        cdef NDArrayBase out
        cdef int i
        request[0] = kWriteTo
        if self.is_gradient_stored_at_once(node):
            if self.wanted is not None:
                out = self.wanted[node]
                if out is None:
                    self.wanted[node] = out = new_array_like(like, node.face)
                else:
                    request[0] = kAddTo
                return out
            leaf = <Leaf>node
            if leaf.req == kAddTo or leaf in self.begun:
                request[0] = kAddTo
            self.begun.add(leaf)
            return leaf.grad
        i = out_index(entry)
        out = node.grads[i]
        if out is None:
            out = new_array_like(like, node.face)
            node.grads[i] = out
            return out
        request[0] = kAddTo
        if i >= SHARED_BITS or node.shared_grads >> i & 1:
            out = copy_of(out)
            node.grads[i] = out
            if i < SHARED_BITS:
                node.shared_grads &= ~(<uint64_t>1 << i)
        return out

    cdef int add_gradient(self, object entry, NDArrayBase grad, bint is_shared) except -1:
        # Add `grad` to the gradient of an entry; `is_shared`: `grad` has other users.
        cdef Node node = node_of(entry)
        cdef NDArrayBase old
        cdef int i
        if self.is_gradient_stored_at_once(node):
            if self.wanted is not None:
                old = self.wanted[node]
                if old is not None:
                    self.wanted[node] = add_arrays(old, grad, None if self.create else old)
                else:
                    self.wanted[node] = copy_of(grad) if is_shared and not self.create else grad
                return 0
            return self.write_leaf_grad(<Leaf>node, grad)
        if is_sparse(&grad.blob) and not (
                self.has_row_gradient(node) or getattr(node, "takes_sparse", False)):
            grad, is_shared = dense_of(grad), False
        i = out_index(entry)
        old = node.grads[i]
        if old is None:
            node.grads[i] = grad
            if is_shared and i < SHARED_BITS:
                node.shared_grads |= <uint64_t>1 << i
        elif self.create or i >= SHARED_BITS or node.shared_grads >> i & 1:
            node.grads[i] = add_arrays(old, grad, None)
            if i < SHARED_BITS:
                node.shared_grads &= ~(<uint64_t>1 << i)
        else:
            node.grads[i] = add_arrays(old, grad, old)
        return 0

    cdef int write_leaf_grad(self, Leaf leaf, NDArrayBase grad) except -1:
        # Write `grad` to a leaf's array, or add it to what other paths wrote.
        if leaf.req == kAddTo or leaf in self.begun:
            add_arrays(leaf.grad, grad, leaf.grad)
        else:
            copy_values(leaf.grad, grad)
        self.begun.add(leaf)
        return 0

    def backward_node(self, Node node):
        # Run backward of a node that is no operator call: a copy, a Function, a hybridized block.
        cdef int i = 0
        if isinstance(node, StepNode) and (<object>node).direct and not self.create:
            (<object>node).write_grads(self, node.grads)
            self._deliver_late_gradients()
            return
        for grad in node.input_gradients(node.grads, self.create):
            if grad is not None and self.wants_gradient(node.inputs[i]):
                self.add_gradient(node.inputs[i], grad, True)
            i += 1

    def gradient_targets(self, StepNode node, list numbers):
        """(arrays, requests) for the gradients of a node's inputs whose indices are in `numbers`;
        None and 0 for an input that needs no gradient."""
        cdef list arrays = [], requests = []
        cdef int request, i
        for i in numbers:
            entry, request = node.inputs[i], kNullOp
            if not self.wants_gradient(entry):
                arrays.append(None)
            elif self.has_row_gradient(entry):
                arrays.append(new_array_like(&node.likes[i], node.face))
                self.late.append((entry, arrays[len(arrays) - 1]))
                request = kWriteTo
            else:
                arrays.append(self.gradient_target(entry, &node.likes[i], &request))
            requests.append(request)
        return arrays, requests

    # --- calls ------------------------------------------------------------------------------------
    cdef int backward_call(self, CallNode node) except -1:
        # Push the backward of a call, from its outputs' gradients to its inputs' gradients.
        cdef Call call = node.call
        cdef GradInfo info = node.info
        cdef int n_in = call.n_in, n_out = call.n_out, i
        cdef bint flows = not info.takes_grad
        cdef NDArrayBase array
        cdef Gradients arrays
        cdef list held = []
        cdef State* state = node.state if node.state != NULL else call.state
        if not info.differentiable:
            return 0
        for i in range(call.n_visible):
            flows = flows or (info.reads[i] and node.grads[i] is not None)
        if not flows and not info.moves_states:
            return 0
        if self._set_input_gradients(node, flows, &arrays, held) == 0 and flows:
            return 0
        for i in range(n_in):
            if node.arrays[i] is not None:
                arrays.in_data[i] = <PyObject*>node.arrays[i]
        for i in range(n_out):
            if node.arrays[n_in + i] is not None:
                arrays.out_data[i] = <PyObject*>node.arrays[n_in + i]
            if i < call.n_visible and info.reads[i]:
                array = node.grads[i]
                if array is None:
                    array = filled_like(&call.outs[i], 0, call.face)
                    held.append(array)
                arrays.out_grad[i] = <PyObject*>array
        for i in range(call.n_aux):
            arrays.aux[i] = <PyObject*>node.aux[i]
        if call.python:
            owner = (<object>state.op).memory_owner or []
            (<object>state.op).memory_owner = [
                *owner, *held, *node.grads, *[a for a in node.arrays if a is not None]]
        if state == NULL:  # a view of a stateful operator: views have no state
            raise GradientError(f"operator {call.entry.name} has nothing to go back with")
        push_backward(call, state, &info.resources, node.is_train, &arrays, node)
        return self._deliver_late_gradients()

    cdef int _set_input_gradients(
            self, CallNode node, bint flows, Gradients* arrays, list held) except -1:
        # Set the arrays and requests of the inputs' gradients; return how many the operator
        # computes. `held` gets the arrays, `late` those that are delivered afterwards.
        cdef Call call = node.call
        cdef GradInfo info = node.info
        cdef int n_in = call.n_in, i, takers = 0, computed = 0
        cdef bint is_shared
        cdef NDArrayBase array, grad
        self.pointers.assign(2 * (n_in + call.n_out) + call.n_aux, NULL)
        self.requests.assign(n_in, kNullOp)
        arrays.out_grad = self.pointers.data()
        arrays.in_data = arrays.out_grad + call.n_out
        arrays.out_data = arrays.in_data + n_in
        arrays.in_grad = arrays.out_data + call.n_out
        arrays.aux = arrays.in_grad + n_in
        arrays.req = self.requests.data()
        if info.view or info.passes:  # the output's gradient may be the inputs' gradient itself
            for i in range(n_in):
                if self._can_pass_gradient_to(node.inputs[i]):
                    takers += 1
        for i in range(n_in):
            entry = node.inputs[i]
            if not (flows and info.flows[i] and self.wants_gradient(entry)):
                if not info.honours_req:
                    array = new_array_like(&call.arrays[i], call.face)
                    held.append(array)
                    arrays.in_grad[i], arrays.req[i] = <PyObject*>array, kWriteTo
                    computed += 1
                continue
            if takers and self._can_pass_gradient_to(entry):
                grad = reshaped_like(node.grads[0], &call.arrays[i])
                is_shared = takers > 1 or node.shared_grads & 1 or grad is not node.grads[0]
                self.add_gradient(entry, grad, is_shared)
                continue
            if self.has_row_gradient(entry):
                grad = sparse_module().row_grad(call.prop, node.arrays[:n_in], node.grads[0], i)
                if grad is not None:
                    self.add_gradient(entry, grad, False)
                    continue
            computed += 1
            arrays.req[i] = kWriteTo
            if not info.honours_req or self.has_row_gradient(entry) or (
                    self._is_repeated_input(node, i, entry)):
                array = new_array_like(&call.arrays[i], call.face)
                self.late.append((entry, array))
            else:
                array = self.gradient_target(entry, &call.arrays[i], &arrays.req[i])
                if self._is_array_saved_by(node, array):  # backward reads the array itself
                    grad = new_array_like(&call.arrays[i], call.face)
                    if arrays.req[i] == kAddTo:
                        copy_values(grad, array)
                    self.late.append((array, grad))
                    array = grad
            held.append(array)
            arrays.in_grad[i] = <PyObject*>array
        return computed

    cdef int _deliver_late_gradients(self) except -1:
        # Deliver gradients in temporary arrays: to an entry, or into another array.
        if not self.late:
            return 0
        late, self.late = self.late, []
        for entry, array in late:
            if isinstance(entry, NDArrayBase):
                copy_values(entry, array)
            else:
                self.add_gradient(entry, array, False)
        return 0

    cdef bint _can_pass_gradient_to(self, object entry) except -1:
        # True if the entry may take a gradient's array itself; a leaf has an array of its own.
        cdef Node node
        if not self.wants_gradient(entry):
            return False
        node = node_of(entry)
        return not self.is_walk_end(node) and node.grads[out_index(entry)] is None

    cdef bint _is_repeated_input(self, CallNode node, int n, object entry):
        # True if input `n` was given before: one call must not write two gradients to one array.
        cdef int i
        for i in range(n):
            other = node.inputs[i]
            if other is not None and node_of(other) is node_of(entry) and (
                    out_index(other) == out_index(entry)):
                return True
        return False

    cdef bint _is_array_saved_by(self, CallNode node, NDArrayBase target):
        cdef NDArrayBase array
        for array in node.arrays:
            if array is not None and array.chunk == target.chunk:
                return True
        return False

    # --- create_graph -----------------------------------------------------------------------------
    cdef int differentiate(self, CallNode node) except -1:  # by recorded calls
        # Compute the gradients of a call by recorded calls, which can be differentiated again.
        cdef Call call = node.call
        cdef GradInfo info = node.info
        cdef int i, n_in = call.n_in
        cdef bint flows = not info.takes_grad
        cdef NDArrayBase array
        if not info.differentiable:
            return 0
        grads, inputs, outputs = [], [], []
        for i in range(call.n_visible):
            flows = flows or node.grads[i] is not None
            array = node.grads[i]
            if array is None:
                array = filled_like(&call.outs[i], 0, call.face)
            grads.append((<object>array).reshape(blob_shape(&call.outs[i])))
        if not flows or all(array.size == 0 for array in grads):  # an empty sum
            return 0
        for i in range(n_in):
            inputs.append(link_to_entry(node.arrays[i], node.inputs[i]))
        for i in range(call.n_out):
            array = node.arrays[n_in + i]
            outputs.append(array if i >= call.n_visible
                           else link_to_entry(array, entry_of_output(node, i)))
        wanted = [i for i in range(n_in) if info.flows[i] and self.wants_gradient(node.inputs[i])]
        parts = _gradient_as_calls(node, grads, inputs, outputs, wanted)
        for i in wanted:
            if parts[i] is not None:
                self.add_gradient(node.inputs[i], parts[i], True)
        return 0


cdef list _gradient_as_calls(CallNode node, list grads, list inputs, list outputs, list wanted):
    cdef Call call = node.call
    prop = call.prop
    if type(prop).differentiate is not OperatorProperty.differentiate:
        return record_gradients_as_operators(node, grads, wanted, prop.differentiate(
            ndarray, grads, inputs, outputs, list(call.in_shapes)))
    rule = prop.second_order
    if isinstance(rule, (Linear, Flat)):
        if isinstance(rule, Linear) and rule.partners:
            wanted = [i for i in wanted if i in rule.partners]
        return record_adjoint(call, node.info, node.is_train, inputs, outputs, grads, wanted, rule,
                              node.inputs)
    if isinstance(rule, Formula):
        parts = rule.gradients(prop, ndarray, grads, inputs, outputs)
        return record_gradients_as_operators(node, grads, wanted, parts)
    if isinstance(rule, Rewrite):
        parts = _differentiate_rewritten(node, rule.outputs, grads, inputs, outputs, wanted)
    if not isinstance(rule, Rewrite) or parts is None:
        prop.differentiate(ndarray, grads, inputs, outputs, list(call.in_shapes))  # raises
    return record_gradients_as_operators(node, grads, wanted, parts)


cdef list _differentiate_rewritten(CallNode node, how, list grads, list inputs, list outputs,
                                   list wanted):
    # Differentiate an equivalent graph of other operators, which begins at aliases of the inputs.
    cdef Call call = node.call
    cdef Walk walk
    cdef int i
    aliases, nodes = [], {}
    for i in range(call.n_in):
        array = inputs[i]
        if array is None:  # None: the gradient does not depend on the input
            array = filled_like(&call.arrays[i], 0, call.face)
            if i in wanted:
                array = link_to_entry(array, node.inputs[i])
        if i in wanted:
            array, nodes[i] = make_alias(array)
        aliases.append(array)
    hidden = outputs[call.n_visible:]
    made = how(call.prop, ndarray, aliases, [*(node.aux or ()), *hidden], node.is_train)
    if made is None:
        return None
    outs = [(out, grad) for out, grad in zip(made, grads) if out is not None]
    walk = Walk.__new__(Walk)
    walk.wanted = dict.fromkeys(nodes.values())
    walk.retain = walk.create = True
    heads = [out for out, _ in outs]
    entries = entries_of(heads)
    walk.collect_nodes(entries)
    _seed_head_gradients(walk, heads, entries, [grad for _, grad in outs])
    walk.run()
    return [walk.wanted[nodes[i]] if i in nodes else None for i in range(call.n_in)]


# --- entry points ---------------------------------------------------------------------------------
def check_optional_flags(where, flags):
    """Refuse flags that are not True, False or None, which stands for the default."""
    for name, value in flags.items():
        if value is not None:
            check_flag(where, name, value)


cdef int _seed_head_gradients(Walk walk, list heads, list entries, list grads) except -1:
    cdef NDArrayBase head
    for i, each in enumerate(heads):
        head = each
        if not walk.wants_gradient(entries[i]):
            continue
        if grads is None or grads[i] is None:
            if is_sparse(&head.blob):
                walk.add_gradient(entries[i], sparse_module().default_head_gradient(head), False)
            else:
                walk.add_gradient(entries[i], filled_like(&head.blob, 1, head.face), False)
            continue
        walk.add_gradient(entries[i], check_head_grad(head, grads[i], i), True)
    return 0


def backward(list heads, list grads, retain_graph, train_mode):
    """`walk_back` for users: it checks the flags, and traces show it."""
    check_optional_flags("backward", {"retain_graph": retain_graph, "train_mode": train_mode})
    with BACKWARD_SPAN:
        walk_back(heads, grads, retain_graph, train_mode)


def walk_back(list heads, list grads, bint retain, bint train_mode):
    """Fill the gradients of the variables that the outputs `heads` were computed from.

    heads: list of NDArray
    grads (list of NDArray or None, optional): Gradients of the heads; None stands for ones.
    retain (bool): Keep the graph.
    train_mode (bool): What ``autograd.is_training()`` returns in a Function's backward.
    """
    cdef Walk walk = Walk.__new__(Walk)
    cdef list entries = entries_of(heads)
    walk.retain = retain
    walk.collect_nodes(entries)
    for entry in entries:
        if walk.wants_gradient(entry):
            break
    else:
        raise GradientError(_NO_LEAF_TEXT)
    run_backward(walk, heads, entries, grads, train_mode)


def gradients(list heads, list grads, list variables, bint retain, bint create, bint train_mode):
    """The gradients of the outputs `heads` with respect to `variables`, as new arrays; with
    `create` they are recorded."""
    cdef Walk walk = Walk.__new__(Walk)
    cdef list entries = entries_of(heads), leaves = []
    cdef Node node
    for i, variable in enumerate(variables):
        entry = (<NDArrayBase>variable).grad_entry
        if entry is None:
            raise GradientError(NOT_RECORDED.format(f"variable {i}"))
        if not isinstance(entry, Leaf):
            raise GradientError(
                f"grad: variable {i} was not marked when it was used: call attach_grad() on it "
                "before it enters the computation")
        leaves.append(entry)
    walk.wanted = dict.fromkeys(leaves)
    walk.retain, walk.create = retain, create
    walk.collect_nodes(entries)
    for i, leaf in enumerate(leaves):
        node = leaf
        if node.walk != walk.id:
            raise GradientError(
                f"grad: the heads do not depend on variable {i}")
    run_backward(walk, heads, entries, grads, train_mode)
    return [walk.wanted[leaf] for leaf in leaves]


def gradients_at_nodes(list heads, list grads, list nodes, bint retain, bint create):
    """The gradients of the outputs `heads` at nodes; None for a node that no output depends on."""
    cdef Walk walk = Walk.__new__(Walk)
    chosen = [i for i, head in enumerate(heads)
              if (<NDArrayBase>head).grad_entry not in (None, DETACHED)]
    heads = [heads[i] for i in chosen]
    if grads is not None:
        grads = [grads[i] for i in chosen]
    entries = entries_of(heads)
    walk.wanted = dict.fromkeys(nodes)
    walk.retain, walk.create = retain, create
    walk.collect_nodes(entries)
    run_backward(walk, heads, entries, grads, is_training())
    return [walk.wanted[node] for node in nodes]


cdef int run_backward(Walk walk, list heads, list entries, list grads, bint train_mode) except -1:
    cdef int flags = set_flags((1 if walk.create else 0) | (2 if train_mode else 0))
    try:
        _seed_head_gradients(walk, heads, entries, grads)
        walk.run()
    finally:
        set_flags(flags)
    return 0
