"""The arrays of a Parameter on its contexts, and access to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.guard import guarded
from ...base.tracing import active_trace, has_trace
from ...context import Context, current_context, read_context
from ..errors import DeferredInitializationError, StateError

if TYPE_CHECKING:
    from ... import ndarray as nd
    from ...ndarray.ndarray import _Gradient
    from ...typing import ContextLike

_UNINITIALIZED_TEXT = (
    "is not initialized; call initialize of the whole network: collect_params() has the parameters"
    " of all Blocks inside, params those of one Block alone"
)
_DEFERRED_TEXT = (
    "has no value yet: a dimension of its shape is unknown until the first forward pass. Pass a"
    " batch through the network, or say in_units, in_channels or the like"
)


@guarded(but=("data", "grad"))
class ParameterArrays:  # base of Parameter: its data and gradients
    """Base of Parameter: access to its arrays and gradients."""

    def data(self, ctx: ContextLike | None = None) -> nd.NDArray:
        """Return the array on a context.

        Parameters
        ----------
        ctx : Context, optional
            The device; the current one, or the only one, by default.

        Returns
        -------
        NDArray
            Its own memory: what is written to it changes the parameter.

        Raises
        ------
        StateError
            A RuntimeError: not initialized, or not on that context, or of storage type row_sparse.
        DeferredInitializationError
            Initialization waits for the shape.
        """
        if has_trace():
            return active_trace().symbol_of_parameter_data(self)
        if self._stype != "default":
            self._refuse_row_sparse("data")
        return self._check_and_get(self._data, ctx)

    def grad(self, ctx: ContextLike | None = None) -> _Gradient:
        """Return the gradient on `ctx`, an array that ``backward`` fills.

        Parameters
        ----------
        ctx : Context, optional
            The device; the current one, or the only one, by default.

        Returns
        -------
        NDArray

        Raises
        ------
        StateError, DeferredInitializationError
            It has no arrays yet.
        MismatchError
            Its `grad_req` is ``'null'``, or it is not on `ctx`.
        """
        if self._data is not None and self._grad is None:
            raise StateError(f"parameter '{self.name}' has no gradient: its grad_req is 'null'")
        return self._check_and_get(self._grad, ctx)

    def list_data(self) -> list[nd.NDArray]:
        """Return the arrays on all contexts."""
        self._refuse_row_sparse("list_data")
        return list(self._check_and_get(self._data, list))

    def list_grad(self) -> list[nd.NDArray]:
        """Return the gradients on all contexts.

        Raises
        ------
        StateError
            Its `grad_req` is ``'null'``.
        StateError, DeferredInitializationError
            It has no arrays yet.
        """
        if self._data is not None and self._grad is None:
            raise StateError(f"parameter '{self.name}' has no gradient: its grad_req is 'null'")
        return list(self._check_and_get(self._grad, list))

    def _is_builtin(self) -> bool:
        """Return whether no user overrides `data` or a similar method, so that `_data` may be
        read."""
        return not self._of_user and not self._is_patched

    def list_ctx(self) -> list[Context]:
        """Return the contexts, also where initialization is deferred.

        Raises
        ------
        StateError
            It is not initialized.
        """
        if self._data is None:
            if self._deferred_init:
                return list(self._deferred_init[1])
            raise StateError(f"parameter '{self.name}' is not initialized")
        return list(self._ctx_list)

    def _check_and_get(self, arr_list, ctx):
        """Return the array of a list that is on `ctx`, or all arrays for the class ``list``."""
        if has_trace() and not self._is_builtin():
            # raises an error, because the array's values would become constants
            active_trace().symbol_of_parameter_data(self)
        if arr_list is None:
            self._refuse_uninitialized()
        if ctx is list:
            return arr_list
        if ctx is None:
            if len(arr_list) == 1:
                return arr_list[0]
            ctx = current_context()
        ctx = read_context(ctx)
        positions = self._ctx_map[ctx.device_typeid & 1]
        position = positions.get(ctx.device_id)
        if position is None and len(positions) == 1 and ctx.device_typeid & 1:
            (only,) = positions.values()
            # device ids of pinned and shared memory do not distinguish CPU arrays
            if ctx.device_type != "cpu" or self._ctx_list[only].device_type != "cpu":
                position = only
        if position is not None:
            return arr_list[position]
        raise StateError(f"parameter '{self.name}' is not on {ctx}, but on {self._ctx_list}")

    def _refuse_uninitialized(self):
        # another thread may have initialized it in the meantime
        if self._deferred_init or self._data is not None:
            raise DeferredInitializationError(f"parameter '{self.name}' {_DEFERRED_TEXT}")
        raise StateError(f"parameter '{self.name}' {_UNINITIALIZED_TEXT}")
