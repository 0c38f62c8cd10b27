"""Constant: a parameter that never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import initializer
from ... import ndarray as nd
from ...base.errors import shown, warn_user
from ...base.guard import guarded
from .parameter import Parameter

if TYPE_CHECKING:
    from ...typing import ArrayLike


@guarded
class Constant(Parameter):
    """A parameter that never changes and has no gradient.

    Parameters
    ----------
    name : str
        The whole name, with prefixes.
    value : NDArray or array_like
        The values; float32 unless it is an NDArray of another dtype.

    Examples
    --------
    >>> c = Constant("c", [[1, 2], [3, 4]])
    >>> c.initialize()
    >>> c.data().asnumpy().tolist(), c.grad_req
    ([[1.0, 2.0], [3.0, 4.0]], 'null')
    """

    def __init__(self, name: str, value: ArrayLike) -> None:
        if not isinstance(value, nd.NDArray):
            value = nd.array(value, dtype="float32")
        self.value = value
        super().__init__(
            name,
            grad_req="null",
            shape=value.shape,
            dtype=value.dtype,
            init=_ValuesInitializer(value),
            differentiable=False,
        )

    def __repr__(self) -> str:
        return f"Constant {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self) -> str:
        """Always ``'null'``."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        self._grad_req = "null"
        if req != "null":
            warn_user(
                f"constant '{self.name}' has no gradient: grad_req={shown(req)} changes nothing"
            )


class _ValuesInitializer(initializer.Initializer):  # fills with given values
    """Fills an array with given values."""

    def __init__(self, value):
        super().__init__(value=value.asnumpy().tolist())
        self.value = value

    def _init_weight(self, _, arr):
        arr[:] = self.value

    def dumps(self):
        return initializer.Constant(self.value).dumps()
