"""CallByCall: runs a graph operator by operator, for shapes that may not occur again.

Building a plan takes many times as long as such a run. So a graph that has a plan gets one for
other shapes only when these occurred so often that all their runs took about as long
(CYNET_RUNS_BEFORE_PLAN): in every case both together take at most twice the time of the better
choice. Times are estimated from the shapes, so results do not depend on the speed of the machine.
The runs are imperative calls of the operators, which autograd records.
"""

from libc.math cimport ceil

from .._core.face cimport ND, Face
from .._ndarray cimport NDArrayBase
from .._resource cimport kRandom
from ..engine.trace cimport tracing
from ..ndarray._dispatch cimport has_call_observer, run
from ..ndarray._resolve cimport Call, copy_call_for_node, call_of_node
from ..ndarray._tape cimport fill_grad_info

from ..base import config
from ..base.errors import CynetError
from ..graph.cost import BYTES_PER_SECOND, FLOPS_PER_SECOND
from ..graph.gradient import indices_read_by_backward
from ..operator.checks.shapes import EMPTY
from ..operator.property import is_known


_PLANNING_SECONDS_PER_OPERATOR = 4e-4  # approximate
_WORK_WITH_GRADIENTS = 3  # training takes about so many times as long as prediction

# seconds per operator of a planned run, from small networks (planning.md): they choose the number
# of runs after which a plan is made
_SECONDS_PER_PLANNED_OPERATOR = 1e-4  # approximate
_SECONDS_PER_CALL = 1.5e-6  # overhead of a call
_CACHE_BYTES_PER_SECOND = 5e10  # bytes a second
_MIN_RUNS, _MAX_RUNS = 2, 64


def is_call_by_call_due(runs, CallByCall calls=None):
    """Return whether the next run should be call by call, after `runs` runs of `calls` (None: not
    resolved yet)."""
    limit = config.get("CYNET_RUNS_BEFORE_PLAN")
    if limit == "auto":
        limit = runs + 1 if calls is None else calls.limit
    return runs < limit and not (tracing or has_call_observer())  # observers see plans


def resolve(structure, list inputs, dict shapes, dict dtypes, list arrays, context,
            bint gradients=False):
    """Return the CallByCall that runs a graph without a plan.

    structure: Structure
    inputs (list of str): Names of the arrays that a run takes.
    shapes, dtypes (dict of (Node, int) to tuple, str): Of all entries.
    arrays (list of NDArray): Some that it may be run on.
    context (Context): Of the outputs.
    gradients (bool): Whether runs are recorded.

    Returns CallByCall or None: None where a plan is needed: an operator runs Python, holds graphs,
    draws random numbers in prediction or is written out in others; there is one output twice, or an
    array without elements; or values are computed twice rather than saved for gradients. Where
    a plan is worth its time, since a run takes longer. And where an operator cannot be made:
    planning says so, and names the node.
    """
    if context.device_type == "gpu" or (gradients and config.get("CYNET_BACKWARD_DO_MIRROR")):
        return None
    if structure.calls is None:
        structure.calls = GraphCalls(structure, inputs)
    if not structure.calls.fits:
        return None
    for shape in shapes.values():
        if not is_known(shape) or EMPTY in shape:
            return None
    made = CallByCall(structure.calls, gradients)
    try:
        return made if made.resolve_calls(shapes, dtypes, arrays, context) else None
    except CynetError:
        return None


cdef class GraphCalls:  # the operator calls of a graph, without shapes
    """The calls of a graph without shapes: which operator reads and computes which values.

    structure: Structure
    inputs (list of str): Names of the arrays that a run takes.

    Attributes:
    fits (bool): Whether the graph can be run so.
    """

    cdef public bint fits
    cdef list rows       # (node, kind, input entries, output entries) of each operator
    cdef list sources    # for each call the indices of its input values
    cdef list made       # for each call the indices of its visible outputs
    cdef list dead       # for each call the indices of values not read later
    cdef list given      # indices of the values of a run's arguments
    cdef list heads
    cdef Py_ssize_t n_values
    cdef object structure
    cdef dict leading    # set of variables -> whether each output depends on one

    def __init__(self, structure, list inputs not None):
        structure.assign_kind_numbers()
        positions = {entry: i for i, entry in enumerate(structure.entries)}
        names = {node.name: positions[node, 0] for node in structure.variables}
        self.n_values, self.structure, self.leading = len(positions), structure, {}
        self.given = [names[name] for name in inputs]
        self.heads = [positions[entry] for entry in structure.heads]
        # each output gets memory of its own
        self.fits = len({*self.heads}.difference(names.values())) == len(self.heads)
        self.rows, self.sources, self.made, self.dead = [], [], [], []
        for row, kind in zip(structure.rows, structure.kinds):
            node, prop, sources, _, made = row
            if node.op is None:
                continue
            if prop.users or prop.decomposed or prop.reads_out or getattr(prop, "subgraphs", ()):
                self.fits = False
            self.rows.append((node, kind, sources, made))
            self.sources.append([positions[entry] for entry in sources])
            self.made.append([positions[entry] for entry in made[:prop.num_visible_outputs()]])
        self._find_last_uses()

    def needs_head_gradients(self, wanted):  # for each head: a bool
        """Return for each output whether it needs a gradient from the user: it depends on a
        variable in `wanted` and is no loss. As the gradient pass says."""
        found = self.leading.get(wanted)
        if found is None:
            needed = {(node, 0) for node in self.structure.variables if node.name in wanted}
            for node, _, sources, made in self.rows:
                prop, n_in, n_out = node.prop, node.num_args, len(made)
                apart = prop.graph.traits.shape_only
                if prop.differentiable and any(
                        entry in needed and i not in apart for i, entry in enumerate(sources[:n_in])
                ):
                    read = indices_read_by_backward(node, n_out, n_in)
                    needed.update(entry for i, entry in enumerate(made) if i in read)
            found = self.leading[wanted] = [entry in needed for entry in self.structure.heads]
        return found

    cdef int _find_last_uses(self) except -1:
        cdef Py_ssize_t i
        seen = set(self.heads)
        for i in range(len(self.rows) - 1, -1, -1):
            last = {*self.sources[i], *self.made[i]} - seen
            seen |= last
            self.dead.append(list(last))
        self.dead.reverse()
        return 0


cdef bint _draws_random_numbers(Call call):
    # Return whether a call draws random numbers in prediction.
    cdef int kind
    for kind in call.resources:
        if kind == kRandom:
            return True
    return False


cdef double _estimate_seconds(Call call, list outs) except -1:
    # Estimate the time of a call's arithmetic.
    prop = call.prop
    return prop.graph.flops(prop, call.in_shapes, [shape for shape, _ in outs]) / FLOPS_PER_SECOND


cdef int _count_runs_before_plan(Py_ssize_t operators, double seconds, bint gradients) noexcept:
    # Return the number of runs that take as long as a plan, each `seconds` and overhead.
    cdef double planned = _SECONDS_PER_PLANNED_OPERATOR * operators
    cdef double called = _SECONDS_PER_CALL * operators + seconds
    if gradients:
        planned, called = 2 * planned, _WORK_WITH_GRADIENTS * called
    return <int>min(max(ceil(planned / called), _MIN_RUNS), _MAX_RUNS) if operators else _MAX_RUNS


cdef class CallByCall:  # runs a graph's operators without a plan
    """The operators of a graph, resolved for the shapes and dtypes of its inputs (`resolved`).

    graph: GraphCalls
    gradients (bool): Whether runs are recorded.

    Attributes:
    runs (int): How often it was run.
    limit (int): How often it is to run before a plan is made, where CYNET_RUNS_BEFORE_PLAN is
        "auto".
    nbytes (int): About what it takes.
    """

    cdef readonly GraphCalls graph
    cdef bint gradients
    cdef list calls      # the Call of each operator
    cdef readonly int runs, limit
    cdef readonly Py_ssize_t nbytes

    def __init__(self, GraphCalls graph not None, bint gradients):
        self.graph, self.gradients, self.calls = graph, gradients, []

    cdef bint resolve_calls(self, dict shapes, dict dtypes, list arrays, context) except -1:
        # Resolve all calls; returns False if the graph needs a plan.
        cdef Call call
        cdef Face face = ND
        cdef NDArrayBase array
        cdef double seconds = 0
        cdef Py_ssize_t nbytes = 0
        for array in arrays:
            if array.face is not ND:
                face = array.face
                break
        alike = {}  # (kind, shapes, dtypes) -> (Call, seconds of arithmetic)
        for node, kind, sources, made in self.graph.rows:
            ins = [(shapes[entry], dtypes[entry]) for entry in sources]
            key = kind, *ins
            found = alike.get(key)
            if found is None:
                outs = [(shapes[entry], dtypes[entry]) for entry in made]
                call = call_of_node(node, face, context, ins, outs)
                if call.python or _draws_random_numbers(call):
                    self.graph.fits = False
                    return False
                if self.gradients:
                    fill_grad_info(call)
                found = alike[key] = call, _estimate_seconds(call, outs)
            else:
                call = copy_call_for_node(found[0], node)
            self.calls.append(call)
            seconds += found[1]
            nbytes += (<Call>found[0]).nbytes
        self.nbytes = 512 * len(self.calls) + 2048 * len(alike)
        self.limit = _count_runs_before_plan(
            len(self.calls), seconds + nbytes / _CACHE_BYTES_PER_SECOND, self.gradients)
        seconds += nbytes / BYTES_PER_SECOND
        if self.gradients:
            seconds *= _WORK_WITH_GRADIENTS
        return seconds < _PLANNING_SECONDS_PER_OPERATOR * len(self.calls)

    @property
    def cached_results(self):
        """The cached results that plans share (`PlanCache`): none here."""
        return ()

    def release_arena(self):
        """Release the calls, as a plan replaces them. The number of runs stays known."""
        self.calls, self.nbytes = None, 0

    def __call__(self, list arrays not None):
        """Run on arrays; returns new arrays. None if another thread has called `release_arena`."""
        cdef GraphCalls graph = self.graph
        cdef list values = [None] * graph.n_values, given
        cdef list calls = self.calls  # a reference: another thread may set self.calls to None
        cdef Py_ssize_t i, k
        if calls is None:
            return None
        for i, k in enumerate(graph.given):
            values[k] = arrays[i]
        for i in range(len(calls)):
            given = [values[k] for k in <list>graph.sources[i]]
            for k, array in zip(<list>graph.made[i], run(<Call>calls[i], given, None)):
                values[k] = array
            for k in <list>graph.dead[i]:
                values[k] = None
        self.runs += 1
        return [values[k] for k in graph.heads]
