"""GPT-2: a transformer that scores the next token of a sequence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError
from ....base.kinds import to_count
from ....initializer import Normal
from ... import nn
from ...block import HybridBlock
from ...nn.attention import causal_mask, mask_scores

if TYPE_CHECKING:
    from ....ndarray import NDArray

_GELU_SCALE = math.sqrt(2 / math.pi)  # GPT-2 was trained with the tanh approximation


def _gelu(F, x):
    return 0.5 * x * (1 + F.tanh(_GELU_SCALE * (x + 0.044715 * x * x * x)))


class _Attention(HybridBlock):
    """Causal self-attention; returns the output, keys and values."""

    def __init__(self, units, num_heads, dropout, **kwargs):
        super().__init__(**kwargs)
        self._heads, self._scale = num_heads, (units // num_heads) ** -0.5
        with self.name_scope():
            # one matrix product for queries, keys and values
            self.qkv = nn.Dense(3 * units, flatten=False, in_units=units, prefix="qkv_")
            self.proj = nn.Dense(units, flatten=False, in_units=units, prefix="proj_")
            self.dropout = nn.Dropout(dropout)

    def hybrid_forward(self, F: Any, x: Any, keys: Any = None, values: Any = None) -> Any:
        """Return the output (batch, length, units), keys and values (batch * heads, positions,
        units of a head)."""
        parts = F.reshape(self.qkv(x), shape=(0, 0, -4, 3 * self._heads, -1))
        parts = F.split(F.transpose(parts, axes=(0, 2, 1, 3)), num_outputs=3, axis=1)
        q, k, v = (F.reshape(each, shape=(-3, 0, 0)) for each in parts)
        start = 1
        if keys is not None:
            start += keys.shape[1]
            k, v = F.concat(keys, k, dim=1), F.concat(values, v, dim=1)
        scores = F.batch_dot(q * self._scale, k, transpose_b=True)
        weights = self.dropout(F.softmax(mask_scores(F, scores, causal_mask(F, scores, start))))
        out = F.reshape(F.batch_dot(weights, v), shape=(-4, -1, self._heads, 0, 0))
        out = F.reshape(F.transpose(out, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
        return self.dropout(self.proj(out)), k, v


class _DecoderLayer(HybridBlock):
    """Attention, then two Dense layers; both parts have a LayerNorm and a residual connection."""

    def __init__(self, units, num_heads, hidden_size, dropout, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.norm1 = nn.LayerNorm(in_channels=units, prefix="norm1_")
            self.attention = _Attention(units, num_heads, dropout, prefix="attention_")
            self.norm2 = nn.LayerNorm(in_channels=units, prefix="norm2_")
            self.wide = nn.Dense(hidden_size, flatten=False, in_units=units, prefix="wide_")
            self.narrow = nn.Dense(units, flatten=False, in_units=hidden_size, prefix="narrow_")
            self.dropout = nn.Dropout(dropout)

    def hybrid_forward(self, F: Any, x: Any, keys: Any = None, values: Any = None) -> Any:
        """Apply the layer; return the same tuple as :class:`_Attention`."""
        past = () if keys is None else (keys, values)
        out, keys, values = self.attention(self.norm1(x), *past)
        x = x + out
        return x + self.dropout(self.narrow(_gelu(F, self.wide(self.norm2(x))))), keys, values


class GPT2(HybridBlock):
    """GPT-2, the language model of Radford et al. 2019: scores of the next token at each position.

    Tokens are of shape (batch, length); scores are (batch, length, `vocab_size`), those at a place
    computed from this and earlier places alone. The last layer has the weights of the first one.
    :func:`generate` continues texts, :func:`from_hugging_face` reads trained weights.

    Parameters
    ----------
    units : int
        Width of the layers; a multiple of `num_heads`.
    num_layers, num_heads : int
        Number of layers, and of heads of the attention in each.
    hidden_size : int, optional
        Width between the two Dense layers of each layer; four times `units` by default.
    max_length : int
        Length of the longest sequence: each place has weights of its own.
    dropout : float
        Share of the sum of both embeddings, of the attention's weights and of what each part adds
        that training sets to 0.

    Raises
    ------
    ArgumentError
        A size is below 1, or `units` is not a multiple of `num_heads`.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.text.GPT2(50, units=16, num_layers=2, num_heads=2, max_length=8)
    >>> net.initialize()
    >>> net(mx.nd.array([[3, 1, 4]])).shape
    (1, 3, 50)
    """

    def __init__(
        self,
        vocab_size: int = 50257,
        units: int = 768,
        num_layers: int = 12,
        num_heads: int = 12,
        hidden_size: int | None = None,
        max_length: int = 1024,
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        hidden_size = 4 * to_count("GPT2: units", units) if hidden_size is None else hidden_size
        sizes = {"vocab_size": vocab_size, "units": units, "num_layers": num_layers}
        sizes |= {"num_heads": num_heads, "hidden_size": hidden_size, "max_length": max_length}
        for name, value in sizes.items():
            to_count(f"GPT2: {name}", value)
        if units % num_heads:
            raise ArgumentError(f"GPT2: units {units} is not a multiple of num_heads {num_heads}")
        self.vocab_size, self.max_length, self._units = vocab_size, max_length, units
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(vocab_size, units), init=Normal(0.02))
            self.place = nn.Embedding(
                max_length, units, weight_initializer=Normal(0.02), prefix="place_"
            )
            self.dropout = nn.Dropout(dropout)
            self.layers = nn.HybridSequential(prefix="")
            for i in range(num_layers):
                layer = _DecoderLayer(units, num_heads, hidden_size, dropout, prefix=f"layer{i}_")
                self.layers.add(layer)
            self.norm = nn.LayerNorm(in_channels=units, prefix="norm_")

    def __call__(self, tokens: Any) -> Any:
        """Compute the scores; raise an error for sequences longer than `max_length`."""
        self._check_length(tokens, 0)
        return super().__call__(tokens)

    def _check_length(self, x, past):
        shape = getattr(x, "shape", None)  # a Symbol has no shape
        if shape is not None and (len(shape) != 2 or past + shape[1] > self.max_length):
            raise ArgumentError(
                f"GPT2: tokens are of shape (batch, length), up to max_length {self.max_length}"
                f" of them, got {shape}" + (f" behind {past}" if past else "")
            )

    def _forward_with_cache(self, F, tokens, weight, past):
        """Return scores, and each layer's keys and values; `past` holds those of earlier tokens."""
        start = past[0][0].shape[1] if past else 0
        row = F.slice_axis(F.cast(tokens, dtype="float32"), axis=0, begin=0, end=1)
        positions = self.place(F.contrib.arange_like(row, axis=1, start=start))
        x = F.Embedding(tokens, weight, input_dim=self.vocab_size, output_dim=self._units)
        x = self.dropout(F.broadcast_add(x, F.expand_dims(positions, axis=0)))
        present = []
        for i, layer in enumerate(self.layers):
            x, keys, values = layer(x, *(past[i] if past else ()))
            present.append((keys, values))
        settings = {"num_hidden": self.vocab_size, "no_bias": True, "flatten": False}
        return F.FullyConnected(self.norm(x), weight, **settings), present

    def hybrid_forward(self, F: Any, tokens: Any, weight: Any) -> Any:
        """Compute the scores for tokens (batch, length)."""
        return self._forward_with_cache(F, tokens, weight, None)[0]

    def step(self, tokens: NDArray, past: list | None = None) -> tuple[NDArray, list]:
        """Compute the scores of new tokens, with cached keys and values of earlier tokens.

        Parameters
        ----------
        tokens : NDArray
            (batch, length): what comes next.
        past : list, optional
            What the step before gave as its second result.

        Returns
        -------
        NDArray
            The scores (batch, length, `vocab_size`).
        list
            Keys and values of all tokens so far, a pair for each layer.

        Examples
        --------
        >>> net = mx.gluon.model_zoo.text.GPT2(9, 8, num_layers=1, num_heads=2, max_length=8)
        >>> net.initialize()
        >>> scores, past = net.step(mx.nd.array([[3, 1, 4]]))
        >>> scores, past = net.step(mx.nd.array([[1]]), past)
        >>> mx.test_utils.almost_equal(scores[:, 0], net(mx.nd.array([[3, 1, 4, 1]]))[:, 3])
        True
        """
        from .... import ndarray

        self._check_length(tokens, past[0][0].shape[1] if past else 0)
        weight = self.weight.data(tokens.context)
        return self._forward_with_cache(ndarray, tokens, weight, past)
