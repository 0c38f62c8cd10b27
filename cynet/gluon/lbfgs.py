"""LBFGS: a quasi-Newton method for full-batch losses, by SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.compat import optional
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..base.kinds import to_count
from ..optimizer.settings import check_real
from .errors import StaleGradientError
from .parameter import Parameter, ParameterDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import NDArray


@guarded(but=("step",))
class LBFGS:
    """Minimizes a loss by L-BFGS with a line search, SciPy's ``L-BFGS-B`` (extra ``scipy``).

    For a loss that is the same at each call, as that of all data: neither Dropout nor batches that
    change. Each step starts anew, without curvatures of the step before; one step with a large
    `max_iter` is the usual form. The weights are one vector of float64 meanwhile.

    Parameters
    ----------
    params : ParameterDict or list of Parameter
        What to change; those with ``grad_req='null'`` stay as they are. On one device.
    max_iter : int
        Iterations of a step at most.
    max_eval : int, optional
        Calls of the closure in a step at most; 1.25 times `max_iter` when not given.
    tolerance_grad : float
        A step ends when no element of the gradient is larger.
    tolerance_change : float
        A step ends when the loss falls by a smaller part.
    history_size : int
        How many earlier iterations the curvature is taken from.

    Raises
    ------
    ArgumentError
        There is nothing to change, or a number is out of its range.
    ArgumentTypeError
        `params` are not Parameters, or a number is not one.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> x = mx.nd.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> y = mx.nd.array([[1], [3], [4], [6]])  # 2 a + 3 b + 1
    >>> loss = mx.gluon.loss.L2Loss()
    >>> def closure():
    ...     with mx.autograd.record():
    ...         error = loss(net(x), y).mean()
    ...     error.backward()
    ...     return error
    >>> optimizer = mx.gluon.LBFGS(net.collect_params(), max_iter=50)
    >>> optimizer.step(closure) < 1e-6
    True
    >>> net.weight.data().asnumpy().round(2).tolist(), optimizer.n_iter > 1
    ([[2.0, 3.0]], True)
    """

    def __init__(
        self,
        params: Any,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 10,
    ) -> None:
        if isinstance(params, (dict, ParameterDict)):
            params = params.values()
        self._params = [each for each in params if _check_parameter(each).grad_req != "null"]
        if not self._params:
            raise ArgumentError("LBFGS: there is no parameter that has a gradient")
        self._limit = to_count("LBFGS: max_iter", max_iter)
        calls = self._limit * 5 // 4 if max_eval is None else max_eval
        self._max_calls = to_count("LBFGS: max_eval", calls)
        self._history = to_count("LBFGS: history_size", history_size)
        for name, value in (("grad", tolerance_grad), ("change", tolerance_change)):
            check_real(f"LBFGS: tolerance_{name}", value)
            if not value >= 0:
                raise ArgumentError(f"LBFGS: tolerance_{name} must be at least 0, got {value}")
        self._tolerances = tolerance_grad, tolerance_change
        self.n_iter = 0  # number of iterations of the last step
        self.message = ""  # why the last step ended

    def step(self, closure: Callable[[], NDArray]) -> float:
        """Change the parameters until the loss is minimal or a limit is reached.

        Parameters
        ----------
        closure : callable
            Computes the loss under ``autograd.record()``, calls its ``backward()`` and returns it.

        Raises
        ------
        ArgumentTypeError
            The closure does not return one number.
        StaleGradientError
            The closure has not called ``backward``, or not through some parameter.
        """
        minimize = optional("scipy.optimize", "LBFGS").minimize
        best = [np.inf, None]

        def loss_and_gradient(values):
            self._set_parameters(values)
            loss = _loss_as_float(closure())
            if loss < best[0] or best[1] is None:
                best[:] = loss, values.copy()
            return loss, self._take_flat_gradient()

        of_gradient, of_change = self._tolerances
        found = minimize(
            loss_and_gradient,
            self._concat_flattened([each.data() for each in self._params]),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": self._limit,
                "maxfun": self._max_calls,
                "maxcor": self._history,
                "gtol": of_gradient,
                "ftol": of_change,
            },
        )
        self.n_iter, self.message = int(found.nit), str(found.message)
        self._set_parameters(best[1])
        return float(best[0])

    def _concat_flattened(self, arrays):
        return np.concatenate([each.asnumpy().astype(np.float64).ravel() for each in arrays])

    def _take_flat_gradient(self):
        for each in self._params:
            if not each.data()._fresh_grad:
                raise StaleGradientError(
                    f"LBFGS: the closure has not computed the gradient of parameter '{each.name}';"
                    " it records the loss and calls backward()"
                )
        out = self._concat_flattened([each.grad() for each in self._params])
        for each in self._params:
            each.data()._fresh_grad = False
            if each.grad_req == "add":
                each.zero_grad()
        return out

    def _set_parameters(self, values):
        start = 0
        for each in self._params:
            size = int(np.prod(each.shape))
            part = values[start : start + size].reshape(each.shape)
            each.set_data(nd.array(part, dtype=each.dtype))
            start += size


def _check_parameter(param):
    if not isinstance(param, Parameter):
        raise ArgumentTypeError(f"LBFGS: params are Parameters, got {shown(param)}")
    return param


def _loss_as_float(loss):
    try:
        return float(loss)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"LBFGS: the closure returns the loss, one number, got {shown(loss)}"
        ) from None
