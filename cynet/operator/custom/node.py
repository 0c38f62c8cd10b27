"""The operator ``Custom``: a registered CustomOpProp as a node of a network."""

import atexit
import inspect

from ...base.dtype import scalar_type
from ...base.errors import ArgumentError
from .._base import Operator, register_operator
from ..checks.shapes import plain_shape
from ..graph_hooks import GraphHooks
from ..parameters import Str
from ..precision import FLOAT32, Precision
from ..property import OperatorProperty, is_known
from ..second_order import Refused
from ._borrow import end_loans, lend, ones
from .callback_checks import Callback, CallbackChecker, callback_of
from .custom import CUSTOM_OPERATORS, REQUEST_NAMES, CustomOp


class CustomProperty(OperatorProperty):  # node of a user's CustomOpProp
    """Apply an operator registered with ``mx.operator.register``.

    Inputs, outputs and parameters are those of the CustomOpProp registered as `op_type`.
    """

    any_parameters = True
    pure = False
    honours_req = False
    any_device = True
    graph = GraphHooks(bfloat16_loops=True)  # a user's code may compute with bfloat16 arrays
    op_type = Str(doc="Name the CustomOpProp was registered under.")
    second_order = Refused("The gradient is a user's code.")
    amp = Precision(FLOAT32)
    example = """
    >>> class Twice(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], 2 * in_data[0])
    ...
    >>> @mx.operator.register("twice_of_example")
    ... class TwiceProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Twice()
    ...
    >>> mx.nd.Custom(mx.nd.array([1, 2]), op_type="twice_of_example")
    [2. 4.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, /, op_type=None, **kwargs):
        super().__init__(**({} if op_type is None else {"op_type": op_type}))
        self.kwargs = {k: str(v) for k, v in kwargs.items()}
        self.check = check = CallbackChecker(f"custom operator '{op_type}'")
        cls = CUSTOM_OPERATORS.get(op_type)
        _require_parameters(op_type, cls, self.kwargs)
        self.custom = check.call(Callback(cls, f"{cls.__name__}(**{self.kwargs})"), **self.kwargs)
        self.arguments = check.parse_names(callback_of(self.custom, "list_arguments"))
        self.outputs = check.parse_names(callback_of(self.custom, "list_outputs"), least=1)
        self.states = check.parse_names(callback_of(self.custom, "list_auxiliary_states"))
        self.lengths = len(self.arguments), len(self.outputs), len(self.states)

    def params(self):
        return {"op_type": self.op_type, **self.kwargs}

    def list_arguments(self):
        return list(self.arguments)

    def list_outputs(self):
        return list(self.outputs)

    def list_auxiliary_states(self):
        return list(self.states)

    def infer_shape(self, in_shapes, out_shapes):
        if in_shapes and not is_known(in_shapes[0]):
            return in_shapes, out_shapes, [None] * self.lengths[2]
        method = callback_of(self.custom, "infer_shape")
        found = self.check.call(
            method, [[] if s is None else list(plain_shape(s)) for s in in_shapes]
        )
        return self.check.parse_shapes(method, found, self.lengths, in_shapes)

    def infer_type(self, in_types, out_types):
        if in_types and in_types[0] is None:
            return in_types, out_types, [None] * self.lengths[2]
        method = callback_of(self.custom, "infer_type")
        found = self.check.call(method, [None if t is None else scalar_type(t) for t in in_types])
        return self.check.parse_types(method, found, self.lengths, None not in in_types)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        method = callback_of(self.custom, "declare_backward_dependency")
        return self.check.parse_array_ids(method, out_grad, in_data, out_data)

    def create_operator(self, ctx, in_shapes, in_types):
        method = callback_of(self.custom, "create_operator")
        types = [scalar_type(t) for t in in_types]
        op = self.check.call(method, ctx, [list(s) for s in in_shapes], types)
        if not isinstance(op, CustomOp):
            self.check.refuse_result(method, op, "a CustomOp")
        return CustomOperator(self, op, ctx, in_shapes, in_types)


class OutputGradients:  # ones for gradients that are missing
    """Supplies ones for gradients of outputs that backward does not get."""

    def __init__(self, prop, ctx, in_shapes, in_types):
        self.prop, self.ctx, self.inputs = prop, ctx, (list(in_shapes), list(in_types))
        self.kinds = None

    def fill_missing(self, arrays, make=ones):
        """Return `arrays` with an array of ones for every None."""
        if all(each is not None for each in arrays):
            return arrays
        if self.kinds is None:
            unknown = [None] * len(arrays)
            shapes = self.prop.infer_shape(self.inputs[0], unknown)[1]
            self.kinds = list(zip(shapes, self.prop.infer_type(self.inputs[1], unknown)[1]))
        return [
            make(*kind, self.ctx) if array is None else array
            for array, kind in zip(arrays, self.kinds)
        ]


class CustomOperator(Operator):  # runs a user's CustomOp
    """Runs a CustomOp: lends it the tensors as NDArrays."""

    def __init__(self, prop, op, ctx, in_shapes, in_types):
        self.check = prop.check
        self.op = op
        self.outputs = OutputGradients(prop, ctx, in_shapes, in_types)

    def forward(self, ctx, in_data, req, out_data, aux_states):
        owner = self.memory_owner
        lent = {
            "in_data": lend(in_data, owner),
            "out_data": lend(out_data, owner, True),
            "aux": lend(aux_states, owner, True),
        }
        self._call_method("forward", "out_data", lent, req, is_train=ctx.is_train)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        owner = self.memory_owner
        lent = {
            "out_grad": self.outputs.fill_missing(lend(out_grad, owner)),
            "in_data": lend(in_data, owner),
            "out_data": lend(out_data, owner),
            "in_grad": lend(in_grad, owner, True),
            "aux": lend(aux_states, owner, True),
        }
        self._call_method("backward", "in_grad", lent, req)

    def _call_method(self, method, target, lent, req, **more):
        """Call the method with copies of the lists; `target` names the list of arrays to write."""
        given, done = {name: list(each) for name, each in lent.items()}, False
        try:
            method = callback_of(self.op, method)
            self.check.call(method, req=[REQUEST_NAMES[r] for r in req], **given, **more)
            self.check.refuse_replaced_arrays(method, given[target], lent[target])
            done = True
        finally:
            del given
            end_loans(tuple(lent.values()), quiet=not done)


# the cache holds objects of users: see definition_checks.release_operators
atexit.register(register_operator("Custom", CustomProperty).cache.clear)


def _require_parameters(op_type, cls, given):
    """Refuse a call without a parameter that the CustomOpProp requires."""
    taken = list(inspect.signature(cls.__init__).parameters.values())[1:]
    for each in taken:
        named = each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        if named and each.default is each.empty and each.name not in given:
            raise ArgumentError(
                f"custom operator '{op_type}': required parameter '{each.name}' of {cls.__name__} "
                f"is missing: Custom(..., op_type='{op_type}', {each.name}=...)"
            )
