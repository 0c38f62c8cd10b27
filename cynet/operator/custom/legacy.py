"""NumpyOp and NDArrayOp: an operator that is an instance, called on symbols.

The older way to write an operator in Python. The instance describes itself (names, shapes) and
computes; calling it on symbols makes a node. Unlike a CustomOp such a node cannot be saved: it is
this process's object.
"""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import CynetError, FormatError, shown
from .._base import Operator, get_operator, register_operator
from ..checks.shapes import plain_shape
from ..parameters import Str
from ..precision import FLOAT32, Precision
from ..property import OperatorProperty, is_known
from ..second_order import Refused
from ._borrow import end_loans, lend
from .callback_checks import CallbackChecker, callback_of
from .custom import OneInputOneOutput
from .node import OutputGradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import Symbol

# The instances that nodes refer to by their `info` parameter; nodes keep their instances alive.
_instances = weakref.WeakValueDictionary()  # id -> PythonOp that nodes refer to
_instance_ids = itertools.count(1)  # ids of PythonOp objects


class PythonOp(OneInputOneOutput):
    """Base of `NumpyOp` and `NDArrayOp`: an operator that is an instance, called on symbols.

    A node of such an operator cannot be saved or loaded: it is this process's object. `CustomOp` is
    the newer way, without that limit.

    Parameters
    ----------
    need_top_grad : bool
        Whether backward needs the gradients of the outputs (False for a loss).

    Examples
    --------
    >>> class Cube(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = in_data[0] ** 3
    ...     def backward(self, out_grad, in_data, out_data, in_grad):
    ...         in_grad[0][:] = 3 * in_data[0] ** 2 * out_grad[0]
    >>> cubed = Cube()(mx.sym.var("x"), name="cube")
    >>> cubed.list_outputs()
    ['cube_output']
    >>> executor = cubed.bind(mx.cpu(), {"x": mx.nd.array([1, 2, 3])})
    >>> executor.forward()[0].asnumpy()
    array([ 1.,  8., 27.], dtype=float32)
    """

    operator_name = None  # name of the registered operator of the instance's nodes

    def __init__(self, need_top_grad: bool = True) -> None:
        self.info_ = None
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Any, **kwargs: Any) -> Symbol:
        """The symbol of this operator applied to symbols; ``name=`` and ``attr=`` as usual."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Symbol:
        """Apply the operator to symbols; calling the instance does the same.

        Parameters
        ----------
        *args, **kwargs
            The inputs, by position or by name, and ``name=`` and ``attr=`` as of any operator of
            ``mx.sym``.

        Raises
        ------
        CynetError
            If the class derives from neither `NumpyOp` nor `NDArrayOp`.

        Examples
        --------
        >>> mx.operator.NumpyOp().get_symbol(mx.sym.var("x"), name="copy").list_arguments()
        ['x']
        """
        if self.operator_name is None:
            raise CynetError(
                f"{type(self).__name__}: derive from NumpyOp or NDArrayOp to get a symbol"
            )
        if getattr(self, "info_", None) is None:
            self.info_ = str(next(_instance_ids))  # never used twice, unlike an id
        _instances[self.info_] = self
        entry = get_operator(self.operator_name)
        from ...symbol.register import function_of

        return function_of(entry.name, entry)(*args, **{**kwargs, "info": self.info_})

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        """Compute the outputs; by default the first input is copied.

        Parameters
        ----------
        in_data, out_data : list of numpy.ndarray or NDArray
            The inputs, to be read, and the outputs, to be written in place.

        Examples
        --------
        >>> x, y = np.ones(2), np.zeros(2)
        >>> mx.operator.NumpyOp().forward([x], [y])
        >>> y
        array([1., 1.])
        """
        out_data[0][:] = in_data[0]

    def backward(
        self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]
    ) -> None:
        """Compute the gradients of the inputs; by default 1 for the first.

        Parameters
        ----------
        out_grad : list of numpy.ndarray or NDArray
            The gradients of the outputs; ones if they are not requested.
        in_data, out_data : list of numpy.ndarray or NDArray
            The inputs and outputs of forward.
        in_grad : list of numpy.ndarray or NDArray
            An array for each input, to be written in place.

        Examples
        --------
        >>> gradient = np.zeros(2)
        >>> mx.operator.NumpyOp().backward([np.ones(2)], [np.ones(2)], [np.ones(2)], [gradient])
        >>> gradient
        array([1., 1.])
        """
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[list[int]]) -> tuple[Sequence[Any], ...]:
        """Infer all shapes from the inputs' shapes; by default the output has the first shape.

        Parameters
        ----------
        in_shape : list of list of int
            The shape of each input; an unknown one is empty.

        Returns
        -------
        (in_shapes, out_shapes) or (in_shapes, out_shapes, aux_shapes)
            Lists of shapes; the operator has no auxiliary states, so the third is empty.

        Examples
        --------
        >>> mx.operator.NumpyOp().infer_shape([[2, 3]])
        ([[2, 3]], [[2, 3]])
        """
        return in_shape, [in_shape[0]]

    def need_top_grad(self) -> bool:
        """Return whether backward needs the gradients of the outputs.

        Examples
        --------
        >>> mx.operator.NumpyOp(need_top_grad=False).need_top_grad()
        False
        """
        return self.need_top_grad_

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> Sequence[int]:
        """Return the arrays that backward reads: by default all, without gradients of outputs for a
        loss.

        Parameters
        ----------
        out_grad, in_data, out_data : list of int
            An id for each gradient of an output, each input and each output.

        Returns
        -------
        list of int
            Those of the ids that backward needs.

        Examples
        --------
        >>> mx.operator.NumpyOp(need_top_grad=False).declare_backward_dependency([0], [1], [2])
        [1, 2]
        """
        top = list(out_grad) if self.need_top_grad() else []
        return [*top, *in_data, *out_data]


class NumpyOp(PythonOp):
    """An operator on NumPy arrays, which are views of the real memory: assign with ``y[:] = ...``.

    On a GPU it computes on copies in the host's memory.

    Parameters
    ----------
    need_top_grad : bool
        Whether backward needs the gradients of the outputs (False for a loss).

    Examples
    --------
    >>> class Softplus(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = np.log1p(np.exp(in_data[0]))
    ...     def backward(self, out_grad, in_data, out_data, in_grad):
    ...         in_grad[0][:] = out_grad[0] / (1 + np.exp(-in_data[0]))
    >>> net = Softplus()(mx.sym.var("x"))
    >>> executor = net.simple_bind(mx.cpu(), x=(2,))
    >>> executor.forward(is_train=True, x=mx.nd.zeros((2,)))[0].asnumpy()
    array([0.6931472, 0.6931472], dtype=float32)
    >>> executor.backward(mx.nd.ones((2,)))
    >>> executor.grad_dict["x"].asnumpy()
    array([0.5, 0.5], dtype=float32)
    """

    operator_name = "_Native"


class NDArrayOp(PythonOp):
    """An operator on NDArrays: any function of ``mx.nd`` and ``mx.rtc`` kernel may be used inside.

    Parameters
    ----------
    need_top_grad : bool
        Whether backward needs the gradients of the outputs (False for a loss).

    Examples
    --------
    >>> class Double(mx.operator.NDArrayOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = 2 * in_data[0]
    ...     def backward(self, out_grad, in_data, out_data, in_grad):
    ...         in_grad[0][:] = 2 * out_grad[0]
    >>> executor = Double()(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array([1, 2])})
    >>> executor.forward()[0].asnumpy()
    array([2., 4.], dtype=float32)
    """

    operator_name = "_NDArray"


class InstanceProperty(OperatorProperty):  # operator of a NumpyOp or NDArrayOp
    """An operator that a Python object of this process defines (NumpyOp, NDArrayOp)."""

    pure = False
    honours_req = False
    any_device = True
    any_parameters = True
    info = Str(doc="Which object; a number of this process.")
    second_order = Refused("The gradient is a user's code.")
    amp = Precision(FLOAT32)

    def __init__(self, info=None, **kwargs):
        super().__init__(**({} if info is None else {"info": info}), **kwargs)
        if info not in _instances:
            raise FormatError(
                f"operator {self.op_name}: its Python object (info={shown(info)}) is not of this "
                "process; a graph with a NumpyOp or NDArrayOp cannot be loaded, a CustomOp can"
            )
        self.instance = instance = _instances[info]
        self.check = CallbackChecker(f"operator {type(instance).__name__}")

    def list_arguments(self):
        return self.check.parse_names(callback_of(self.instance, "list_arguments"))

    def list_outputs(self):
        return self.check.parse_names(callback_of(self.instance, "list_outputs"), least=1)

    def infer_shape(self, in_shapes, out_shapes):
        if in_shapes and not is_known(in_shapes[0]):
            return in_shapes, out_shapes, []
        method = callback_of(self.instance, "infer_shape")
        found = self.check.call(
            method, [[] if s is None else list(plain_shape(s)) for s in in_shapes]
        )
        lengths = len(in_shapes), len(out_shapes), 0
        return self.check.parse_shapes(method, found, lengths, in_shapes)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        method = callback_of(self.instance, "declare_backward_dependency")
        return self.check.parse_array_ids(method, out_grad, in_data, out_data)

    def create_operator(self, ctx, in_shapes, in_types):
        kind = _HostOperator if ctx.device_type == "gpu" else _NumpyOperator
        if isinstance(self.instance, NDArrayOp):
            kind = _NDArrayOperator
        return kind(self, ctx, in_shapes, in_types)


class _NumpyOperator(Operator):  # runs a NumpyOp on views of the tensors
    """Runs a NumpyOp on views of the tensors."""

    def __init__(self, prop, ctx, in_shapes, in_types):
        self.check = prop.check
        self.instance = prop.instance
        self.outputs = OutputGradients(prop, ctx, in_shapes, in_types)

    def forward(self, ctx, in_data, req, out_data, aux_states):
        self._call_method("forward", in_data=_numpy_views(in_data), out_data=_numpy_views(out_data))

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        self._call_method(
            "backward",
            out_grad=self.outputs.fill_missing(
                _numpy_views(out_grad), lambda s, t, ctx: np.ones(s, t)
            ),
            in_data=_numpy_views(in_data),
            out_data=_numpy_views(out_data),
            in_grad=_numpy_views(in_grad),
        )

    def _call_method(self, method, **arrays):
        """Call the method with copies of the lists; the last list holds the targets."""
        method = callback_of(self.instance, method)
        given = {name: list(each) for name, each in arrays.items()}
        target = list(arrays)[-1]
        self.check.call(method, **given)
        self.check.refuse_replaced_arrays(method, given[target], arrays[target])


def _numpy_views(blobs):
    return [None if b is None else np.asarray(b) for b in blobs]


class _NDArrayOperator(_NumpyOperator):  # runs an NDArrayOp
    """Runs an NDArrayOp: lends it the tensors as NDArrays."""

    def forward(self, ctx, in_data, req, out_data, aux_states):
        owner = self.memory_owner
        self._call_with_loans(
            "forward", in_data=lend(in_data, owner), out_data=lend(out_data, owner, True)
        )

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        owner = self.memory_owner
        self._call_with_loans(
            "backward",
            out_grad=self.outputs.fill_missing(lend(out_grad, owner)),
            in_data=lend(in_data, owner),
            out_data=lend(out_data, owner),
            in_grad=lend(in_grad, owner, True),
        )

    def _call_with_loans(self, method, **arrays):
        done = False
        try:
            self._call_method(method, **arrays)
            done = True
        finally:
            end_loans(tuple(arrays.values()), quiet=not done)


class _HostOperator(_NDArrayOperator):  # runs a NumpyOp on copies of GPU tensors
    """Runs a NumpyOp on copies in the host's memory of tensors on a GPU."""

    def _call_method(self, method, **arrays):
        copies = {
            name: [None if each is None else each.asnumpy() for each in given]
            for name, given in arrays.items()
        }
        super()._call_method(method, **copies)
        target = list(arrays)[-1]
        for array, copy in zip(arrays[target], copies[target]):
            if array is not None:
                array[:] = copy


register_operator(
    "_Native", type("NativeProperty", (InstanceProperty,), {"__doc__": InstanceProperty.__doc__})
)
register_operator(
    "_NDArray", type("NDArrayProperty", (InstanceProperty,), {"__doc__": InstanceProperty.__doc__})
)
