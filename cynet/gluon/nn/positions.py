"""Position encodings of a sequence for attention, which ignores order: sinusoidal and rotary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ArgumentError, shown
from ...base.kinds import to_count
from ...optimizer.settings import check_real
from ..block import HybridBlock
from .basic_layers import Dropout

if TYPE_CHECKING:
    from ...typing import NumpyArray
    from ..parameter import ParameterDict

__all__ = ["RotaryPosition", "SinusoidalPosition"]


def _position_angles(who, units, max_length, base) -> NumpyArray:
    """Return position times frequency, float64, (max_length, units / 2)."""
    for name, value in (("units", units), ("max_length", max_length)):
        to_count(f"{who}: {name}", value)
    if units % 2:
        raise ArgumentError(f"{who}: units must be even, got {units}")
    check_real(f"{who}: base", base)
    if not 0 < base < np.inf:
        raise ArgumentError(f"{who}: base must be above 0, got {shown(base)}")
    return np.outer(np.arange(max_length), float(base) ** (-np.arange(0, units, 2) / units))


class SinusoidalPosition(HybridBlock):
    """Adds sines and cosines of the position to inputs of shape (batch, length, units).

    ``sin(p / base ** (2 * i / units))`` to entry ``2 * i`` at position p, the cosine of the same to
    the next one. Vaswani et al., https://arxiv.org/abs/1706.03762.

    Parameters
    ----------
    units : int
        Size of the vectors; even.
    max_length : int
        Length of the longest sequence; longer ones are refused.
    dropout : float
        Share of the sum that training sets to 0.
    base : float
        Wavelengths grow from 2 pi to about ``2 pi * base`` positions.

    Raises
    ------
    ArgumentError
        `units` is odd or below 1, `max_length` is below 1, or `base` is not above 0.

    Examples
    --------
    >>> layer = mx.gluon.nn.SinusoidalPosition(units=4)
    >>> layer.initialize()
    >>> layer(mx.nd.zeros((1, 2, 4)))[0].asnumpy().round(3).tolist()[0]
    [0.0, 1.0, 0.0, 1.0]
    """

    def __init__(
        self,
        units: int,
        max_length: int = 2048,
        dropout: float = 0.0,
        base: float = 10000.0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        angles = _position_angles("SinusoidalPosition", units, max_length, base)
        table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(1, max_length, units)
        with self.name_scope():
            self.table = self.params.get_constant("table", table.astype("float32"))
            self.dropout = Dropout(dropout) if dropout else None

    def hybrid_forward(self, F: Any, x: Any, table: Any) -> Any:
        """Add the encodings of the positions to `x`, (batch, length, units)."""
        out = F.broadcast_add(x, F.slice_like(table, x, axes=(1,)))
        return out if self.dropout is None else self.dropout(out)


class RotaryPosition(HybridBlock):
    """Rotates pairs of entries of queries or keys, (batch, length, units), by angles that rise with
    the position, so that attention scores depend on distances.

    The pair i is rotated by ``p * base ** (-2 * i / units)`` at position p. Su et al.,
    https://arxiv.org/abs/2104.09864. ``MultiHeadAttention(rotary=True)`` has one.

    Parameters
    ----------
    units : int
        Size of one head; even.
    max_length : int
        Length of the longest sequence; longer ones are refused.
    base : float
        Angles fall from 1 to about ``1 / base`` radians a position.
    interleaved : bool
        Pairs are entries ``2 * i`` and ``2 * i + 1``, as in the paper; False: ``i`` and
        ``i + units / 2``, as LLaMA's weights in the form of Hugging Face need it.

    Raises
    ------
    ArgumentError
        `units` is odd or below 1, `max_length` is below 1, or `base` is not above 0.

    Examples
    --------
    >>> layer = mx.gluon.nn.RotaryPosition(units=2)
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1, 0], [1, 0]]]))[0].asnumpy().round(3)[1].tolist()
    [0.5400000214576721, 0.8410000205039978]
    """

    def __init__(
        self,
        units: int,
        max_length: int = 2048,
        base: float = 10000.0,
        interleaved: bool = True,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        angles = _position_angles("RotaryPosition", units, max_length, base)
        table = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)[None]
        self._half, self._interleaved = units // 2, interleaved
        with self.name_scope():
            self.table = self.params.get_constant("table", table.astype("float32"))

    def hybrid_forward(self, F: Any, x: Any, table: Any) -> Any:
        """Rotate `x`, (batch, length, units)."""
        table, half = F.slice_like(table, x, axes=(1,)), self._half
        cos = F.slice_axis(table, axis=2, begin=0, end=half)
        sin = F.slice_axis(table, axis=2, begin=half, end=2 * half)
        if self._interleaved:
            pairs = F.reshape(x, shape=(0, 0, -4, half, 2))
            first = F.reshape(F.slice_axis(pairs, axis=3, begin=0, end=1), shape=(0, 0, -3))
            second = F.reshape(F.slice_axis(pairs, axis=3, begin=1, end=2), shape=(0, 0, -3))
        else:
            first = F.slice_axis(x, axis=2, begin=0, end=half)
            second = F.slice_axis(x, axis=2, begin=half, end=2 * half)
        turned = (
            F.broadcast_mul(first, cos) - F.broadcast_mul(second, sin),
            F.broadcast_mul(first, sin) + F.broadcast_mul(second, cos),
        )
        if self._interleaved:
            return F.reshape(F.stack(*turned, axis=3), shape=(0, 0, -3))
        return F.concat(*turned, dim=2)
