"""Attention with several heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError
from ..block import HybridBlock
from .basic_layers import Dense, Dropout
from .positions import RotaryPosition

if TYPE_CHECKING:
    from ...typing import InitializerLike
    from ..parameter import ParameterDict

__all__ = ["MultiHeadAttention"]

_MASK_PENALTY = 3e4  # subtracted from masked scores; fits float16


def causal_mask(F, scores, start=1):
    """Return a mask (1, queries, keys): query i attends to the first `start` + i keys."""
    ones = F.ones_like(F.slice_axis(scores, axis=0, begin=0, end=1))
    # position indices in float32: bfloat16 is exact only up to 256
    column = F.cast(F.slice_axis(ones, axis=2, begin=0, end=1), dtype="float32")
    lengths = F.contrib.arange_like(column, axis=1, start=start)
    rows = F.SequenceMask(F.reshape(ones, shape=(-3, 0)), lengths, use_sequence_length=True, axis=1)
    return F.expand_dims(rows, axis=0)


def mask_scores(F, scores, mask):
    """Lower the scores, (batch, queries, keys), of keys that `mask` excludes."""
    return F.broadcast_add(scores, (mask - 1) * _MASK_PENALTY)


class MultiHeadAttention(HybridBlock):
    """Multi-head attention: means of values, weighted by how well keys match a query.

    Inputs are of shape (batch, length, units). `key` is `query`, and `value` is `key`, if they are
    not given. `mask`, of shape (batch, length of query, length of key), is 1 where a query may look
    and 0 where not.

    Parameters
    ----------
    units : int
        Width of the output and of all heads together; a multiple of `num_heads`.
    num_heads : int
        Number of heads.
    dropout : float
        Share of the attention weights that training sets to 0.
    causal : bool
        Whether a query ignores the keys at later positions.
    use_bias : bool
        Whether the four projections have a bias.
    rotary : bool
        Whether queries and keys are rotated by their positions, see `RotaryPosition`.
    weight_initializer : Initializer or str, optional
        Initializer of the projections' weights.

    Raises
    ------
    ArgumentError
        `units` is not a multiple of `num_heads`.

    Examples
    --------
    >>> layer = mx.gluon.nn.MultiHeadAttention(units=8, num_heads=2, causal=True)
    >>> layer.initialize()
    >>> x = mx.nd.random.normal(shape=(2, 5, 8))  # batch of 2, length 5
    >>> y = layer(x)
    >>> y.shape
    (2, 5, 8)
    >>> x[:, 3:] = 0  # causal=True: positions 0 to 2 do not see 3 and 4
    >>> mx.test_utils.almost_equal(layer(x)[:, :3], y[:, :3])
    True
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        dropout: float = 0.0,
        causal: bool = False,
        use_bias: bool = True,
        rotary: bool = False,
        weight_initializer: InitializerLike | None = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if num_heads < 1 or units < 1 or units % num_heads:
            raise ArgumentError(
                f"MultiHeadAttention: expected units to be a multiple of num_heads {num_heads},"
                f" got {units}"
            )
        self._heads, self._scale, self._causal = num_heads, (units // num_heads) ** -0.5, causal
        settings = {
            "flatten": False,
            "use_bias": use_bias,
            "weight_initializer": weight_initializer,
        }
        with self.name_scope():
            self.query_proj = Dense(units, prefix="query_", **settings)
            self.key_proj = Dense(units, prefix="key_", **settings)
            self.value_proj = Dense(units, prefix="value_", **settings)
            self.out_proj = Dense(units, prefix="out_", **settings)
            self.dropout = Dropout(dropout) if dropout else None
            self.rotary = RotaryPosition(units // num_heads, prefix="rotary_") if rotary else None

    def _split_heads(self, F, x):
        """Reshape (batch, length, units) to (batch * heads, length, units of a head)."""
        x = F.reshape(x, shape=(0, 0, -4, self._heads, -1))
        return F.reshape(F.transpose(x, axes=(0, 2, 1, 3)), shape=(-3, 0, 0))

    def hybrid_forward(
        self, F: Any, query: Any, key: Any = None, value: Any = None, mask: Any = None
    ) -> Any:
        """Compute the output, (batch, length of query, units)."""
        key = query if key is None else key
        value = key if value is None else value
        q = self._split_heads(F, self.query_proj(query) * self._scale)
        k, v = (
            self._split_heads(F, self.key_proj(key)),
            self._split_heads(F, self.value_proj(value)),
        )
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        scores = F.batch_dot(q, k, transpose_b=True)
        if mask is not None:
            heads = F.broadcast_axis(F.expand_dims(mask, axis=1), axis=1, size=self._heads)
            heads = F.reshape(heads, shape=(-3, 0, 0))
            scores = mask_scores(F, scores, heads)
        if self._causal:
            scores = mask_scores(F, scores, causal_mask(F, scores))
        weights = F.softmax(scores)
        if self.dropout is not None:
            weights = self.dropout(weights)
        out = F.reshape(F.batch_dot(weights, v), shape=(-4, -1, self._heads, 0, 0))
        out = F.reshape(F.transpose(out, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
        return self.out_proj(out)
