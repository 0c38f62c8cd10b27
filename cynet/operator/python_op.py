"""NumpyOp and NDArrayOp: an operator that is an instance, called on symbols.

The older way to write an operator in Python. The instance describes itself (names, shapes) and
computes; calling it on symbols makes a node. Unlike a CustomOp such a node cannot be saved: it is
this process's object.
"""

import numpy as np

from ..errors import ArgumentError, CynetError, FormatError, dress
from ._base import Operator, get_operator, register_operator
from ._lend import lend, take_back
from .parameters import Str
from .property import OperatorProperty, is_known

_instances = {}  # str(id) -> instance: what a node's `info` parameter names
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
        self.info_ = str(id(self))
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
    any_parameters = True
    info = Str(doc="Which object; a number of this process.")

    def __init__(self, info=None, **kwargs):
        super().__init__(**({} if info is None else {"info": info}), **kwargs)
        if info not in _instances:
            raise FormatError(
                f"operator {self.op_name}: its Python object (info={info!r}) is not of this "
                "process; a graph with a NumpyOp or NDArrayOp cannot be loaded, a CustomOp can"
            )
        self.instance = _instances[info]
        self.where = type(self.instance).__name__

    def _call(self, method, *args):
        try:
            return getattr(self.instance, method)(*args)
        except Exception as error:
            raise dress(
                error, f"{self.where}: {method} raised {type(error).__name__}: {error}"
            ) from error

    def _names(self, method):
        names = self._call(method)
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            raise ArgumentError(
                f"{self.where}: {method} returned {names!r}; expected a list of str"
            )
        return list(names)

    def list_arguments(self):
        return self._names("list_arguments")

    def list_outputs(self):
        return self._names("list_outputs")

    def infer_shape(self, in_shapes, out_shapes):
        if in_shapes and not is_known(in_shapes[0]):
            return in_shapes, out_shapes, []
        found = self._call("infer_shape", [[] if s is None else list(s) for s in in_shapes])
        lengths = len(in_shapes), len(out_shapes)
        if (
            not isinstance(found, (list, tuple))
            or len(found) not in (2, 3)
            or not all(isinstance(f, (list, tuple)) for f in found)
            or (len(found[0]), len(found[1])) != lengths
        ):
            raise ArgumentError(
                f"{self.where}: infer_shape returned {found!r}; expected (inputs, outputs), "
                f"lists of lengths {lengths}"
            )
        return [self._shape(s) for s in found[0]], [self._shape(s) for s in found[1]], []

    def _shape(self, shape):
        try:
            out = tuple(int(n) for n in shape)
        except (TypeError, ValueError):
            out = (-1,)
        if any(n < 0 for n in out):
            raise ArgumentError(
                f"{self.where}: infer_shape returned the shape {shape!r}; expected a tuple of int"
            )
        return out or None

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        found = self._call(
            "declare_backward_dependency", list(out_grad), list(in_data), list(out_data)
        )
        known = {*out_grad, *in_data, *out_data}
        if not isinstance(found, (list, tuple)) or not set(found) <= known:
            raise ArgumentError(
                f"{self.where}: declare_backward_dependency returned {found!r}; expected ids "
                f"out of {sorted(known)}"
            )
        return list(found)

    def create_operator(self, ctx, in_shapes, in_types):
        if isinstance(self.instance, NDArrayOp):
            return _NDArrayOperator(self.instance)
        if ctx.device_type == "gpu":
            raise ArgumentError(f"{self.where}: a NumpyOp computes on the CPU, not on {ctx}")
        return _NumpyOperator(self.instance)


class _NumpyOperator(Operator):
    """Runs a NumpyOp on views of the tensors."""

    def __init__(self, instance):
        self.instance = instance

    def forward(self, ctx, in_data, req, out_data, aux_states):
        with _Targets(out_data, req) as targets:
            self.instance.forward(in_data=_views(in_data), out_data=targets)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        in_data = _views(in_data)
        with _Targets(in_grad, req) as targets:
            self.instance.backward(
                out_grad=_views(out_grad),
                in_data=in_data,
                out_data=_views(out_data),
                in_grad=targets,
            )


def _views(blobs):
    return [None if b is None else np.asarray(b) for b in blobs]


class _Targets:
    """What an operator that knows no requests may write: the memory itself, or a part that is added
    to it.

    A target nobody asked for is memory that is thrown away, since such an operator writes all of
    them.
    """

    def __init__(self, blobs, req):
        self.blobs = blobs
        self.req = req

    def __enter__(self):
        self.real = _views(self.blobs)
        self.given = [
            r if q in (1, 2) else (_Discarded() if r is None else np.zeros_like(r))
            for r, q in zip(self.real, self.req)
        ]
        return self.given

    def __exit__(self, kind, error, trace):
        if kind is None:
            for real, given, req in zip(self.real, self.given, self.req):
                if req == 3:
                    real += given


class _Discarded:
    """Takes any assignment and forgets it: the gradient of an input that needs none."""

    def __setitem__(self, key, value):
        pass


class _NDArrayOperator(Operator):
    """Runs an NDArrayOp: lends it the tensors as NDArrays."""

    def __init__(self, instance):
        self.instance = instance

    def forward(self, ctx, in_data, req, out_data, aux_states):
        owner = self.memory_owner
        data, out = lend(in_data, owner), lend(out_data, owner)
        parts = _parts(out, req)
        try:
            self.instance.forward(in_data=data, out_data=parts)
            _add_parts(out, parts, req)
        finally:
            take_back(data, out)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        owner = self.memory_owner
        lists = [lend(each, owner) for each in (out_grad, in_data, out_data, in_grad)]
        parts = _parts(lists[3], req)
        try:
            self.instance.backward(
                out_grad=lists[0], in_data=lists[1], out_data=lists[2], in_grad=parts
            )
            _add_parts(lists[3], parts, req)
        finally:
            take_back(*lists)


def _parts(arrays, req):
    """The arrays themselves, zeros in place of one that is added to, and something to discard
    for none."""
    return [
        _Discarded() if a is None else (a.zeros_like() if r == 3 else a)
        for a, r in zip(arrays, req)
    ]


def _add_parts(arrays, parts, req):
    for array, part, r in zip(arrays, parts, req):
        if r == 3:
            array[:] += part


register_operator(
    "_Native", type("NativeProperty", (InstanceProperty,), {"__doc__": InstanceProperty.__doc__})
)
register_operator(
    "_NDArray", type("NDArrayProperty", (InstanceProperty,), {"__doc__": InstanceProperty.__doc__})
)
