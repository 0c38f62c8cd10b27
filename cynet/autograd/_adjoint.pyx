"""The transpose of a linear operator, as a recorded step.

``in_grad = B(out_grad)`` is linear in out_grad. Where the operator is linear in its inputs, what
goes back through B is the operator itself; where B multiplies by a constant, B. An input that a
linear one is multiplied with gets what the operator, on the gradient in place of that one, takes
back. So gradients of any order need no formula.
"""

from cpython.object cimport PyObject
from libcpp.vector cimport vector

from .._ndarray cimport NDArrayBase
from .._typedefs cimport kNullOp, kWriteTo
from ..ndarray._dispatch cimport Gradients, push_backward, run
from ..ndarray._resolve cimport Call, State
from ..ndarray._tape cimport GradInfo, CallNode, StepNode, is_recording
from ._arrays cimport filled_like, new_array_like

from ..base.errors import GradientError
from ..operator.second_order import Flat


cdef class AdjointNode(StepNode):  # a recorded backward call
    """The graph node of a backward call, which maps gradients of outputs to gradients of inputs."""

    cdef Call call
    cdef GradInfo info
    cdef bint is_train
    cdef list inputs_of_call, outputs_of_call, grads_of_call
    cdef list wanted         # indices of inputs whose gradients are this step's outputs
    cdef object rule         # Linear or Flat

    @property
    def name(self):
        return f"the gradient of operator {self.call.entry.name}"

    def release_references(self):
        self.inputs_of_call = self.outputs_of_call = self.grads_of_call = None

    def backward(self, grads, recorded):
        """Gradients of `grads_of_call` and the inputs; `grads` has one for each of `wanted`."""
        n_grads, n_in = len(self.grads_of_call), self.call.n_in
        back = [None] * (n_grads + n_in)
        given = {i: h for i, h in zip(self.wanted, grads) if h is not None}
        if isinstance(self.rule, Flat):
            for i, h in given.items():
                parts = record_adjoint(
                    self.call, self.info, self.is_train, self.inputs_of_call, self.outputs_of_call,
                    [h], [i], self.rule, self.inputs[n_grads:])
                back[0] = _add_unless_none(back[0], parts[i])
            return back
        partners = self.rule.partners
        if not any(partners.values()):
            arrays = [given.get(i) if i in self.wanted else self.inputs_of_call[i]
                      for i in range(n_in)]
            return self._run_operator(arrays, self.rule.affine) + [None] * n_in
        for i, h in given.items():
            keep = partners[i]
            arrays = [h if k == i else self.inputs_of_call[k] if k in keep or
                      k not in partners else None for k in range(n_in)]
            outs = self._run_operator(arrays, False)
            for k in range(n_grads):
                back[k] = _add_unless_none(back[k], outs[k])
            if keep:
                entries = [None if x is None else (<NDArrayBase>x).grad_entry for x in arrays]
                parts = record_adjoint(
                    self.call, self.info, self.is_train, arrays, [None] * n_grads,
                    self.grads_of_call, list(keep), self.rule, entries)
                for k in keep:
                    back[n_grads + k] = _add_unless_none(back[n_grads + k], parts[k])
        return back

    def _run_operator(self, arrays, affine):
        cdef list given = []
        cdef int i
        for i in range(self.call.n_in):
            array = arrays[i]
            given.append(filled_like(&self.call.arrays[i], 0, self.call.face) if array is None
                         else array)
        out = run(self.call, given, None)
        if affine:
            for i in self.wanted:
                given[i] = filled_like(&self.call.arrays[i], 0, self.call.face)
            out = [a - b for a, b in zip(out, run(self.call, given, None))]
        return out


cdef void _set_list_pointers(Gradients* arrays, vector[PyObject*]& pointers, vector[int]& requests,
                             int n_in, int n_out) noexcept:
    # Set where each list of pointers begins in the buffer that holds all of them.
    arrays.out_grad = pointers.data()
    arrays.in_data = arrays.out_grad + n_out
    arrays.out_data = arrays.in_data + n_in
    arrays.in_grad = arrays.out_data + n_out
    arrays.aux = arrays.in_grad + n_in
    arrays.req = requests.data()


cdef object _add_unless_none(a, b):
    return b if a is None else a if b is None else a + b


def record_adjoint(Call call, GradInfo info, bint is_train, list inputs, list outputs, list grads,
                   list wanted, rule, list entries):
    """The gradients of the inputs whose indices are in `wanted`, as backward computes them;
    recorded if the thread records.

    inputs, outputs (list of NDArray or None): What backward reads.
    grads (list of NDArray): Of the visible outputs.
    rule: Linear or Flat
    entries (list): What the inputs are in the graph: the result belongs to it even where it is
        constant.

    Returns list of NDArray or None: one for each input.
    """
    cdef Gradients arrays
    cdef vector[PyObject*] pointers
    cdef vector[int] requests
    cdef int n_in = call.n_in, n_out = call.n_out, i
    cdef NDArrayBase array
    cdef list out = [None] * n_in
    cdef AdjointNode node
    if call.state == NULL:
        raise GradientError(f"operator {call.entry.name} keeps a state: create_graph=True does not "
                            "go through it")
    pointers.assign(2 * (n_in + n_out) + call.n_aux, NULL)
    requests.assign(n_in, kNullOp)
    _set_list_pointers(&arrays, pointers, requests, n_in, n_out)
    for i in wanted:
        array = new_array_like(&call.arrays[i], call.face)
        out[i] = array
        arrays.in_grad[i], requests[i] = <PyObject*>array, kWriteTo
    for i in range(n_in):
        if info.reads[n_out + i] and inputs[i] is not None:
            arrays.in_data[i] = <PyObject*>inputs[i]
    for i in range(n_out):
        if info.reads[n_out + n_in + i] and outputs[i] is not None:
            arrays.out_data[i] = <PyObject*>outputs[i]
        if i < call.n_visible and info.reads[i]:
            arrays.out_grad[i] = <PyObject*>grads[i]
    push_backward(call, call.state, &info.resources, is_train, &arrays, None)
    if is_recording():
        node = AdjointNode.__new__(AdjointNode)
        node.call, node.info, node.is_train, node.rule = call, info, is_train, rule
        node.inputs_of_call, node.outputs_of_call, node.grads_of_call = inputs, outputs, grads
        node.wanted = wanted
        node.attach(grads, [out[i] for i in wanted])
        node.add_inputs(inputs, entries)
    return out


def record_gradients_as_operators(CallNode node, list grads, list wanted, parts):
    """Record gradients as operators, but with the values that the backward kernel computes.

    The two agree but for rounding, and but for where a formula has no number and backward has one:
    at corners, poles and ties, at infinity and NaN.

    node: CallNode
    grads (list of NDArray): Of the visible outputs.
    wanted (list of int): Indices of inputs.
    parts (list): For each input its gradient, a function that computes it, or None.

    Returns list of NDArray or None: in the graph they are what `parts` are.
    """
    cdef Call call = node.call
    cdef GradInfo info = node.info
    cdef State* state = node.state if node.state != NULL else call.state
    cdef Gradients arrays
    cdef vector[PyObject*] pointers
    cdef vector[int] requests
    cdef int n_in = call.n_in, n_out = call.n_out, i
    cdef NDArrayBase array, part
    found = [None] * n_in
    for i in wanted:
        found[i] = parts[i]() if callable(parts[i]) else parts[i]
    if state == NULL:
        return found
    pointers.assign(2 * (n_in + n_out) + call.n_aux, NULL)
    requests.assign(n_in, kNullOp)
    _set_list_pointers(&arrays, pointers, requests, n_in, n_out)
    out = [None] * n_in
    for i in range(n_in):
        if found[i] is not None or not info.honours_req:
            out[i] = array = new_array_like(&call.arrays[i], call.face)
            arrays.in_grad[i], requests[i] = <PyObject*>array, kWriteTo
        if node.arrays[i] is not None:
            arrays.in_data[i] = <PyObject*>node.arrays[i]
    for i in range(n_out):
        if node.arrays[n_in + i] is not None:
            arrays.out_data[i] = <PyObject*>node.arrays[n_in + i]
        if i < call.n_visible and info.reads[i]:
            arrays.out_grad[i] = <PyObject*>grads[i]
    for i in range(call.n_aux):
        arrays.aux[i] = <PyObject*>node.aux[i]
    push_backward(call, state, &info.resources, node.is_train, &arrays, node)
    for i in range(n_in):
        part, array = found[i], out[i]
        if part is None:
            out[i] = None
        else:
            array.grad_entry = (<NDArrayBase>part).grad_entry
    return out


cdef class AliasNode(StepNode):  # a second node for an array
    """A second graph node for an array, at which a walk over a part of the graph ends."""

    @property
    def name(self):
        return "an array"

    def backward(self, grads, recorded):
        return grads


def make_alias(NDArrayBase array):
    """Return a pair: the same array as the output of a new AliasNode, and the AliasNode."""
    cdef AliasNode node = AliasNode.__new__(AliasNode)
    out = (<object>array).detach()
    node.attach([array], [out])
    return out, node
