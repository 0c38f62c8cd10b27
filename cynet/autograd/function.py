"""Function: a computation in Python that defines its own gradient."""

from __future__ import annotations

from typing import Any

from ..base.errors import (
    ArgumentTypeError,
    CynetError,
    GradientError,
    ShapeError,
    UndefinedError,
    describe_error,
    shown,
    wrap_error,
)
from ..ndarray import NDArray, zeros
from ..ndarray._tape import StepNode, get_state, set_state, wants_gradient
from ..symbol import Symbol

__all__ = ["Function"]


class _CalledTwiceError(CynetError, AssertionError):
    """An error for calls that MXNet refuses by an assertion."""


class FunctionOfSymbolError(ArgumentTypeError):
    """A Function was called with a Symbol, as a Block does while it is traced."""


class Function:
    """An operation in Python whose gradient the user defines.

    A subclass defines ``forward(*inputs)`` and ``backward(*output_gradients)`` with NDArrays; one
    instance serves one call. While forward runs, nothing is recorded; ``is_training()`` stays.
    backward gets a gradient for each output (zeros where none comes) and returns one for each
    input.

    Attributes
    ----------
    saved_tensors : tuple of NDArray
        What `save_for_backward` was given.

    Examples
    --------
    >>> class Sigmoid(mx.autograd.Function):
    ...     def forward(self, x):
    ...         y = 1 / (1 + mx.nd.exp(-x))
    ...         self.save_for_backward(y)
    ...         return y
    ...     def backward(self, dy):
    ...         y, = self.saved_tensors
    ...         return dy * y * (1 - y)
    >>> x = mx.nd.zeros(1)
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Sigmoid()(x)
    >>> y.backward()
    >>> x.grad.asscalar()
    np.float32(0.25)
    """

    saved_tensors: tuple[NDArray, ...] = ()
    _called = False

    def save_for_backward(self, *args: NDArray) -> None:
        """Save arrays for backward, which reads them as `saved_tensors`.

        Parameters
        ----------
        *args : NDArray
            Arrays of forward that backward needs.
        """
        self.saved_tensors = args

    def forward(self, *inputs: Any) -> Any:
        """Compute the outputs: an NDArray, or a tuple or list of them.

        Parameters
        ----------
        *inputs : NDArray
            The arguments of the call.

        Returns
        -------
        NDArray, or tuple or list of NDArray
            The outputs.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise UndefinedError(f"{type(self).__name__} defines no forward")

    def backward(self, *output_grads: Any) -> Any:
        """The gradients of the inputs: an NDArray, or a tuple or list of them.

        Parameters
        ----------
        *output_grads : NDArray
            The gradient of each output.

        Returns
        -------
        NDArray, or tuple or list of NDArray
            The gradient of each input, of its shape.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise UndefinedError(f"{type(self).__name__} defines no backward")

    def __call__(self, *inputs: NDArray) -> Any:
        name = type(self).__name__
        if self._called:
            raise _CalledTwiceError(
                f"{name}: an instance of a Function is called once; make another for the next call"
            )
        self._called = True
        for i, value in enumerate(inputs):
            if isinstance(value, Symbol):
                raise FunctionOfSymbolError(
                    f"{name}: input {i} is {shown(value)}, and a Function computes with arrays: no"
                    " graph can hold it"
                )
            if not isinstance(value, NDArray):
                raise ArgumentTypeError(
                    f"{name}: input {i} must be an NDArray, got {shown(value)}; give other values "
                    "to __init__"
                )
        recorded = wants_gradient(list(inputs))
        flags = set_state(get_state() & ~1)
        try:
            result = self.forward(*inputs)
        finally:
            set_state(flags)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        for i, value in enumerate(outputs):
            if not isinstance(value, NDArray):
                raise ArgumentTypeError(
                    f"{name}.forward returned {shown(value)} for output {i}, expected an NDArray"
                )
        if not recorded:
            return result
        # an output that is also an input or another output becomes a new array of the same memory
        seen = {id(value) for value in inputs}
        for i, value in enumerate(outputs):
            if id(value) in seen:
                outputs[i] = value.detach()
            seen.add(id(value))
        _FunctionNode(self, inputs, outputs)
        return type(result)(outputs) if isinstance(result, (list, tuple)) else outputs[0]


class _FunctionNode(StepNode):
    """The node on the tape for a call of a Function."""

    def __init__(self, function, inputs, outputs):
        self.function = function
        self.like = [(x.shape, x.dtype, x.context) for x in inputs]
        self.out_like = [(x.shape, x.dtype, x.context) for x in outputs]
        self.attach(list(inputs), outputs)

    @property
    def name(self):
        return f"Function {type(self.function).__name__}"

    def backward(self, grads, recorded):
        name = type(self.function).__name__
        grads = [
            zeros(shape, ctx=ctx, dtype=dtype) if grad is None else grad
            for grad, (shape, dtype, ctx) in zip(grads, self.out_like)
        ]
        try:
            result = self.function.backward(*grads)
        except CynetError:
            raise
        except Exception as error:
            raise wrap_error(
                error,
                f"{name}.backward, recorded at {self.location()}, raised {describe_error(error)}",
            ) from error
        result = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(result) != len(self.like):
            raise GradientError(
                f"{name}.backward returned {len(result)} gradients, expected one for each of "
                f"{len(self.like)} inputs"
            )
        return [self._checked_gradient(i, value) for i, value in enumerate(result)]

    def _checked_gradient(self, i, value):
        name = f"{type(self.function).__name__}.backward"
        shape, dtype, context = self.like[i]
        if self.sources[i] is None:
            return None
        if not isinstance(value, NDArray):
            raise GradientError(
                f"{name} returned {shown(value)} for input {i}, expected an NDArray of shape "
                f"{shape}; zeros where there is no gradient"
            )
        if value.shape != shape:
            raise ShapeError(
                f"{name} returned a gradient of shape {value.shape} for input {i}, which has shape "
                f"{shape}"
            )
        return value.as_in_context(context).astype(dtype, copy=False)
