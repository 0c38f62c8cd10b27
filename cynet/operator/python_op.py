"""NumpyOp and NDArrayOp: an operator that is an instance, called on symbols.

The older way to write an operator in Python. The instance describes itself (names, shapes) and
computes; calling it on symbols makes a node. Unlike a CustomOp such a node cannot be saved: it is
this process's object.
"""

import itertools
import weakref

import numpy as np

from ..errors import ArgumentError, CynetError, FormatError
from ._base import Operator, get_operator, register_operator
from ._lend import lend, scratch, take_back
from .checks import Checker, callback
from .parameters import Str
from .property import OperatorProperty, OpReq, is_known
from .shapes import plain

_OVERWRITE = (OpReq.write, OpReq.write_inplace)
# What a node's `info` parameter names; the nodes keep their instances alive.
_instances = weakref.WeakValueDictionary()
_numbers = itertools.count(1)
_face = {}  # 'compose': installed by the symbol package, which stands above this one


def install_compose(function):
    """Take ``function(entry, hint, args, kwargs)`` that makes a Symbol of an operator and its
    inputs."""
    _face["compose"] = function


class PythonOp:
    """Base of NumpyOp and NDArrayOp.

    Parameters
    ----------
    need_top_grad : bool
        Whether backward needs the outputs' gradients (False for a loss).
    """

    operator_name = None  # the registered operator a node of the instance has

    def __init__(self, need_top_grad=True):
        self.info_ = None
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args, **kwargs):
        """The symbol of this operator applied to symbols; ``name=`` and ``attr=`` as usual."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args, **kwargs):
        """The symbol of this operator applied to symbols."""
        if self.operator_name is None:
            raise CynetError(
                f"{type(self).__name__}: derive from NumpyOp or NDArrayOp to get a symbol"
            )
        if getattr(self, "info_", None) is None:
            self.info_ = str(next(_numbers))  # never used twice, unlike an id
        _instances[self.info_] = self
        entry = get_operator(self.operator_name)
        return _face["compose"](entry, args, {**kwargs, "info": self.info_})

    def forward(self, in_data, out_data):
        """Compute `out_data` from `in_data`; by default the input is copied."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad, in_data, out_data, in_grad):
        """Compute `in_grad`; by default it is 1."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape):
        """Two or three lists of shapes: inputs, outputs[, auxiliary states]."""
        return in_shape, [in_shape[0]]

    def list_outputs(self):
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self):
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self):
        """Whether backward needs the outputs' gradients."""
        return self.need_top_grad_

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """Which arrays backward reads: ids drawn from the lists given."""
        top = list(out_grad) if self.need_top_grad() else []
        return [*top, *in_data, *out_data]


class NumpyOp(PythonOp):
    """An operator on NumPy arrays, which are views of the real memory: assign with ``y[:] =
    ...``."""

    operator_name = "_Native"


class NDArrayOp(PythonOp):
    """An operator on NDArrays: any nd function and ``mx.rtc`` kernel may be used inside."""

    operator_name = "_NDArray"


class InstanceProperty(OperatorProperty):
    """An operator that a Python object of this process defines (NumpyOp, NDArrayOp)."""

    pure = False
    any_device = True
    any_parameters = True
    info = Str(doc="Which object; a number of this process.")

    def __init__(self, info=None, **kwargs):
        super().__init__(**({} if info is None else {"info": info}), **kwargs)
        if info not in _instances:
            raise FormatError(
                f"operator {self.op_name}: its Python object (info={info!r}) is not of this "
                "process; a graph with a NumpyOp or NDArrayOp cannot be loaded, a CustomOp can"
            )
        self.instance = instance = _instances[info]
        self.check = Checker(f"operator {type(instance).__name__}")

    def list_arguments(self):
        return self.check.names(callback(self.instance, "list_arguments"))

    def list_outputs(self):
        return self.check.names(callback(self.instance, "list_outputs"), least=1)

    def infer_shape(self, in_shapes, out_shapes):
        if in_shapes and not is_known(in_shapes[0]):
            return in_shapes, out_shapes, []
        method = callback(self.instance, "infer_shape")
        found = self.check.ask(method, [[] if s is None else list(plain(s)) for s in in_shapes])
        return self.check.shapes(method, found, (len(in_shapes), len(out_shapes), 0), in_shapes)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        method = callback(self.instance, "declare_backward_dependency")
        return self.check.ids(method, out_grad, in_data, out_data)

    def create_operator(self, ctx, in_shapes, in_types):
        kind = _NDArrayOperator if isinstance(self.instance, NDArrayOp) else _NumpyOperator
        if kind is _NumpyOperator and ctx.device_type == "gpu":
            raise ArgumentError(f"{self.check.where}: it computes on the CPU, not on {ctx}")
        return kind(self, ctx, list(zip(in_shapes, in_types)))


class _InstanceOperator(Operator):
    """What both have in common: such an operator knows no requests and writes all of its targets.

    It gets the memory itself where that is to be overwritten, and a part to be added up or thrown
    away elsewhere.
    """

    def __init__(self, prop, ctx, inputs):
        self.check = prop.check
        self.instance = prop.instance
        self.ctx = ctx
        self.inputs = inputs  # (shape, dtype) of each

    def _parts(self, arrays, req):
        return [
            a if r in _OVERWRITE else self.part(a, i) for i, (a, r) in enumerate(zip(arrays, req))
        ]

    def _add_parts(self, method, arrays, parts, given, req):
        self.check.written(method, given, parts)
        for array, part, r in zip(arrays, parts, req):
            if r == OpReq.add:
                array[:] += part


class _NumpyOperator(_InstanceOperator):
    """Runs a NumpyOp on views of the tensors."""

    def part(self, array, index):
        """A substitute for target `index`; `array` is None where that does not exist."""
        return np.zeros(*self.inputs[index]) if array is None else np.zeros_like(array)

    def forward(self, ctx, in_data, req, out_data, aux_states):
        real = _views(out_data)
        parts = self._parts(real, req)
        given = list(parts)
        method = callback(self.instance, "forward")
        self.check.ask(method, in_data=_views(in_data), out_data=given)
        self._add_parts(method, real, parts, given, req)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        real = _views(in_grad)
        parts = self._parts(real, req)
        given = list(parts)
        method = callback(self.instance, "backward")
        self.check.ask(
            method,
            out_grad=_views(out_grad),
            in_data=_views(in_data),
            out_data=_views(out_data),
            in_grad=given,
        )
        self._add_parts(method, real, parts, given, req)


def _views(blobs):
    return [None if b is None else np.asarray(b) for b in blobs]


class _NDArrayOperator(_InstanceOperator):
    """Runs an NDArrayOp: lends it the tensors as NDArrays."""

    def part(self, array, index):
        """A substitute for target `index`; `array` is None where that does not exist."""
        return scratch(*self.inputs[index], self.ctx) if array is None else array.zeros_like()

    def forward(self, ctx, in_data, req, out_data, aux_states):
        owner = self.memory_owner
        lists = lend(in_data, owner), lend(out_data, owner)
        self._run("forward", lists, req, in_data=lists[0], out_data=lists[1])

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        owner = self.memory_owner
        lists = tuple(lend(each, owner) for each in (out_grad, in_data, out_data, in_grad))
        names = ("out_grad", "in_data", "out_data", "in_grad")
        self._run("backward", lists, req, **dict(zip(names, lists)))

    def _run(self, method, lists, req, **arrays):
        """Call the method with copies of the lists; the last of them are the targets."""
        done = False
        method = callback(self.instance, method)
        target = list(arrays)[-1]
        try:
            parts = self._parts(lists[-1], req)
            given = {name: list(each) for name, each in arrays.items()}
            given[target] = list(parts)
            self.check.ask(method, **given)
            self._add_parts(method, lists[-1], parts, given[target], req)
            done = True
        finally:
            given = parts = None
            take_back(lists, quiet=not done)


register_operator(
    "_Native", type("NativeProperty", (InstanceProperty,), {"__doc__": InstanceProperty.__doc__})
)
register_operator(
    "_NDArray", type("NDArrayProperty", (InstanceProperty,), {"__doc__": InstanceProperty.__doc__})
)
