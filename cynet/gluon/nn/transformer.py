"""Transformer encoder and decoder, and their layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError, shown
from ...base.guard import guarded
from ...base.kinds import to_count
from ...operator.paragraphs import with_paragraphs
from ..block import HybridBlock
from .activations import GELU, Activation
from .attention import MultiHeadAttention
from .basic_layers import Dense, Dropout
from .containers import HybridSequential
from .norm_layers import LayerNorm

if TYPE_CHECKING:
    from ..parameter import ParameterDict

__all__ = ["TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder"]
__all__ += ["TransformerEncoderLayer"]

_PREFIX_DOC = """prefix : str, optional
    Prefix of the parameters' names; by default made from the class's name and a number.
params : ParameterDict, optional
    Dictionary whose parameters are shared, by name.

"""
_with_shared_docs = with_paragraphs(
    network="""hidden_size : int
    Width between the two Dense layers of the feed-forward network.
dropout : float
    Share of the attention weights, and of the outputs of the parts, that training sets to 0.
activation : str
    Activation of the feed-forward network, ``'relu'`` or ``'gelu'``.
pre_norm : bool
    Normalize before each part; False normalizes after each residual sum.
causal : bool
    Whether a position ignores later ones.""",
    of_a_layer=_PREFIX_DOC
    + """Raises
------
ArgumentError
    `units` is not a multiple of `num_heads`, `hidden_size` is below 1, or `activation` is
    neither 'relu' nor 'gelu'.""",
    sizes="""num_layers : int
    Number of layers.
units : int
    Width of inputs and outputs; a multiple of `num_heads`.
num_heads : int
    Number of heads of each attention.
hidden_size : int
    Width between the two Dense layers of each feed-forward network.""",
    of_a_stack=_PREFIX_DOC
    + """Raises
------
ArgumentError
    `num_layers` or `hidden_size` is below 1, `units` is not a multiple of `num_heads`, or
    `activation` is neither 'relu' nor 'gelu'.""",
)


@guarded(but=("hybrid_forward",))
class _TransformerLayer(HybridBlock):
    """Base of transformer layers: attentions and a feed-forward network, with residual sums."""

    _attentions = ("self_attn",)

    def __init__(
        self,
        units: int,
        num_heads: int,
        hidden_size: int,
        dropout: float = 0.1,
        activation: str = "relu",
        pre_norm: bool = False,
        causal: bool = False,
        rotary: bool = False,
        epsilon: float = 1e-5,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        to_count(f"{type(self).__name__}: hidden_size", hidden_size)
        if not isinstance(activation, str) or activation not in ("relu", "gelu"):
            raise ArgumentError(
                f"{type(self).__name__}: activation must be 'relu' or 'gelu', got"
                f" {shown(activation)}"
            )
        self._pre_norm = pre_norm
        with self.name_scope():
            for name in self._attentions:
                own = {"causal": causal, "rotary": rotary} if name == "self_attn" else {}
                layer = MultiHeadAttention(
                    units, num_heads, dropout=dropout, prefix=f"{name}_", **own
                )
                setattr(self, name, layer)
            self.linear1 = Dense(hidden_size, flatten=False, prefix="linear1_")
            self.activation = GELU() if activation == "gelu" else Activation("relu")
            self.linear2 = Dense(units, flatten=False, prefix="linear2_")
            for i in range(1, len(self._attentions) + 2):
                setattr(self, f"norm{i}", LayerNorm(epsilon=epsilon, prefix=f"norm{i}_"))
            self.dropout = Dropout(dropout) if dropout else None

    def _apply_dropout(self, x):
        return x if self.dropout is None else self.dropout(x)

    def _apply_sublayer(self, x, norm, part):
        """Return the residual sum of `x` and `part`'s output, normalized before or after `part`."""
        if self._pre_norm:
            return x + self._apply_dropout(part(norm(x)))
        return norm(x + self._apply_dropout(part(x)))

    def _feed_forward(self, x):
        return self.linear2(self._apply_dropout(self.activation(self.linear1(x))))


@_with_shared_docs
class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward network, each with a residual sum and a LayerNorm.

    Inputs and outputs are of shape (batch, length, units). `mask`, of shape (batch, length,
    length), is 1 where a position may look and 0 where not. With the same weights it computes what
    PyTorch's ``nn.TransformerEncoderLayer`` computes.

    Parameters
    ----------
    units : int
        Width of inputs and outputs; a multiple of `num_heads`.
    num_heads : int
        Number of heads of the attention.
    {network}
    rotary : bool
        Whether queries and keys are rotated by their positions, see `RotaryPosition`.
    epsilon : float
        Added to the variances of the LayerNorms.
    {of_a_layer}

    Examples
    --------
    >>> layer = mx.gluon.nn.TransformerEncoderLayer(units=8, num_heads=2, hidden_size=16)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 5, 8))).shape
    (2, 5, 8)
    """

    def hybrid_forward(self, F: Any, x: Any, mask: Any = None) -> Any:
        """Compute the output, (batch, length, units)."""
        x = self._apply_sublayer(x, self.norm1, lambda x: self.self_attn(x, x, x, mask))
        return self._apply_sublayer(x, self.norm2, self._feed_forward)


@_with_shared_docs
class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to an encoder's output, and a feed-forward network, each with a
    residual sum and a LayerNorm.

    Inputs and outputs are of shape (batch, length, units), `memory` is (batch, length of memory,
    units). `mask`, (batch, length, length), and `memory_mask`, (batch, length, length of memory),
    are 1 where a position may look and 0 where not. With the same weights it computes what
    PyTorch's ``nn.TransformerDecoderLayer`` computes.

    Parameters
    ----------
    units : int
        Width of inputs and outputs; a multiple of `num_heads`.
    num_heads : int
        Number of heads of both attentions.
    {network}
    rotary : bool
        Whether queries and keys of the self-attention are rotated by their positions.
    epsilon : float
        Added to the variances of the LayerNorms.
    {of_a_layer}

    Examples
    --------
    >>> layer = mx.gluon.nn.TransformerDecoderLayer(units=8, num_heads=2, hidden_size=16)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 5, 8)), mx.nd.ones((2, 3, 8))).shape
    (2, 5, 8)
    """

    _attentions = ("self_attn", "cross_attn")

    def __init__(
        self,
        units: int,
        num_heads: int,
        hidden_size: int,
        dropout: float = 0.1,
        activation: str = "relu",
        pre_norm: bool = False,
        causal: bool = True,
        rotary: bool = False,
        epsilon: float = 1e-5,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            units,
            num_heads,
            hidden_size,
            dropout,
            activation,
            pre_norm,
            causal,
            rotary,
            epsilon,
            prefix,
            params,
        )

    def hybrid_forward(
        self, F: Any, x: Any, memory: Any, mask: Any = None, memory_mask: Any = None
    ) -> Any:
        """Compute the output, (batch, length, units)."""
        x = self._apply_sublayer(x, self.norm1, lambda x: self.self_attn(x, x, x, mask))
        x = self._apply_sublayer(
            x, self.norm2, lambda x: self.cross_attn(x, memory, memory, memory_mask)
        )
        return self._apply_sublayer(x, self.norm3, self._feed_forward)


@guarded(but=("hybrid_forward",))
class _TransformerStack(HybridBlock):
    """A stack of layers; a LayerNorm follows the last if layers normalize their input first."""

    _layer: type[_TransformerLayer] = TransformerEncoderLayer

    def __init__(
        self,
        num_layers: int,
        units: int,
        num_heads: int,
        hidden_size: int,
        dropout: float = 0.1,
        activation: str = "relu",
        pre_norm: bool = False,
        causal: bool = False,
        rotary: bool = False,
        epsilon: float = 1e-5,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        to_count(f"{type(self).__name__}: num_layers", num_layers)
        own = units, num_heads, hidden_size, dropout, activation, pre_norm, causal, rotary, epsilon
        with self.name_scope():
            self.layers = HybridSequential(prefix="")
            for i in range(num_layers):
                self.layers.add(self._layer(*own, prefix=f"layer{i}_"))
            self.norm = LayerNorm(epsilon=epsilon, prefix="norm_") if pre_norm else None


@_with_shared_docs
class TransformerEncoder(_TransformerStack):
    """A stack of `num_layers` TransformerEncoderLayers, and a final LayerNorm if `pre_norm`.

    Parameters
    ----------
    {sizes}
    dropout, activation, pre_norm, causal, rotary, epsilon
        See `TransformerEncoderLayer`.
    {of_a_stack}

    Examples
    --------
    Sequences of different lengths are padded, and the mask leaves the padding out:

    >>> net = mx.gluon.nn.TransformerEncoder(num_layers=2, units=8, num_heads=2, hidden_size=16)
    >>> net.initialize()
    >>> x, lengths = mx.nd.ones((2, 5, 8)), mx.nd.array([5, 3])
    >>> looked_at = mx.nd.arange(5).reshape((1, 1, 5)) < lengths.reshape((2, 1, 1))
    >>> net(x, looked_at.broadcast_to((2, 5, 5))).shape
    (2, 5, 8)
    """

    def hybrid_forward(self, F: Any, x: Any, mask: Any = None) -> Any:
        """Compute the output, (batch, length, units)."""
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.norm is None else self.norm(x)


@_with_shared_docs
class TransformerDecoder(_TransformerStack):
    """A stack of `num_layers` TransformerDecoderLayers, and a final LayerNorm if `pre_norm`.

    Parameters
    ----------
    {sizes}
    dropout, activation, pre_norm, causal, rotary, epsilon
        See `TransformerDecoderLayer`.
    {of_a_stack}

    Examples
    --------
    >>> net = mx.gluon.nn.TransformerDecoder(num_layers=2, units=8, num_heads=2, hidden_size=16)
    >>> net.initialize()
    >>> net(mx.nd.ones((2, 5, 8)), mx.nd.ones((2, 3, 8))).shape
    (2, 5, 8)
    """

    _layer = TransformerDecoderLayer

    def __init__(
        self,
        num_layers: int,
        units: int,
        num_heads: int,
        hidden_size: int,
        dropout: float = 0.1,
        activation: str = "relu",
        pre_norm: bool = False,
        causal: bool = True,
        rotary: bool = False,
        epsilon: float = 1e-5,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            num_layers,
            units,
            num_heads,
            hidden_size,
            dropout,
            activation,
            pre_norm,
            causal,
            rotary,
            epsilon,
            prefix,
            params,
        )

    def hybrid_forward(
        self, F: Any, x: Any, memory: Any, mask: Any = None, memory_mask: Any = None
    ) -> Any:
        """Compute the output, (batch, length, units)."""
        for layer in self.layers:
            x = layer(x, memory, mask, memory_mask)
        return x if self.norm is None else self.norm(x)
