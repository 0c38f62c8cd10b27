"""BERT: a transformer that reads a text in both directions."""

from __future__ import annotations

from typing import Any

from ....base.errors import ArgumentError
from ....base.kinds import to_count
from ....initializer import Normal
from ... import nn
from ...block import HybridBlock


class BERT(HybridBlock):
    """BERT, the text encoder of Devlin et al. 2018: a vector for each token, and one for the whole
    text.

    Inputs are tokens (batch, length), their types (0 for the first of two texts, 1 for the second)
    and a mask, 1 where a token is and 0 where padding; both of the same shape, and both may be left
    out. Outputs are (batch, length, `units`), and (batch, `units`) made of the first place, or with
    `classes` the scores (batch, `classes`) alone. :func:`from_hugging_face` reads trained weights.

    Parameters
    ----------
    units : int
        Width of the layers; a multiple of `num_heads`.
    num_layers, num_heads, hidden_size : int
        Settings of the encoder, see :class:`TransformerEncoder`.
    max_length : int
        Length of the longest sequence: each place has weights of its own.
    token_types : int
        Number of types.
    dropout : float
        Share of the embeddings' sum, of the attention's weights, of what each part adds and of the
        classifier's input that training sets to 0.
    activation : str
        ``'gelu'`` or ``'relu'``.
    epsilon : float
        Added to the variances of the LayerNorms.
    classes : int, optional
        Number of classes of a classifier on top.

    Raises
    ------
    ArgumentError
        A size is below 1, or `units` is not a multiple of `num_heads`.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.text.BERT(50, 16, 2, 2, hidden_size=32, max_length=8, classes=3)
    >>> net.initialize()
    >>> tokens = mx.nd.array([[2, 7, 9, 3], [2, 5, 3, 0]])
    >>> mask = mx.nd.array([[1, 1, 1, 1], [1, 1, 1, 0]])
    >>> net(tokens, None, mask).shape
    (2, 3)
    """

    def __init__(
        self,
        vocab_size: int = 30522,
        units: int = 768,
        num_layers: int = 12,
        num_heads: int = 12,
        hidden_size: int = 3072,
        max_length: int = 512,
        token_types: int = 2,
        dropout: float = 0.1,
        activation: str = "gelu",
        epsilon: float = 1e-12,
        classes: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        sizes = {"vocab_size": vocab_size, "max_length": max_length, "token_types": token_types}
        sizes |= {} if classes is None else {"classes": classes}
        for name, value in sizes.items():
            to_count(f"BERT: {name}", value)
        self.max_length, init = max_length, Normal(0.02)
        with self.name_scope():
            self.word = nn.Embedding(vocab_size, units, weight_initializer=init, prefix="word_")
            self.place = nn.Embedding(max_length, units, weight_initializer=init, prefix="place_")
            self.type = nn.Embedding(token_types, units, weight_initializer=init, prefix="type_")
            self.norm = nn.LayerNorm(epsilon=epsilon, in_channels=units, prefix="norm_")
            self.dropout = nn.Dropout(dropout)
            self.encoder = nn.TransformerEncoder(
                num_layers,
                units,
                num_heads,
                hidden_size,
                dropout=dropout,
                activation=activation,
                epsilon=epsilon,
                prefix="encoder_",
            )
            settings = {"in_units": units}
            self.pooler = nn.Dense(units, activation="tanh", prefix="pooler_", **settings)
            self.output = (
                None if classes is None else nn.Dense(classes, prefix="output_", **settings)
            )

    def __call__(self, tokens: Any, *more: Any) -> Any:
        """Compute the outputs; raise an error for sequences longer than `max_length`."""
        shape = getattr(tokens, "shape", None)  # a Symbol has no shape
        if shape is not None and (len(shape) != 2 or shape[1] > self.max_length):
            raise ArgumentError(
                f"BERT: tokens are of shape (batch, length), up to max_length {self.max_length} of"
                f" them, got {shape}"
            )
        return super().__call__(tokens, *more)

    def hybrid_forward(self, F: Any, tokens: Any, types: Any = None, mask: Any = None) -> Any:
        """Compute the outputs for tokens (batch, length)."""
        row = F.slice_axis(F.cast(tokens, dtype="float32"), axis=0, begin=0, end=1)
        positions = self.place(F.contrib.arange_like(row, axis=1))
        x = F.broadcast_add(self.word(tokens), F.expand_dims(positions, axis=0))
        x = x + self.type(F.zeros_like(tokens) if types is None else types)
        x = self.dropout(self.norm(x))
        # (batch, queries, keys): all positions attend to the valid tokens
        if mask is not None:
            column = F.ones_like(F.expand_dims(mask, axis=2))
            mask = F.cast(F.broadcast_mul(column, F.expand_dims(mask, axis=1)), dtype="float32")
        x = self.encoder(x) if mask is None else self.encoder(x, mask)
        first = self.pooler(F.slice_axis(x, axis=1, begin=0, end=1))
        return (x, first) if self.output is None else self.output(self.dropout(first))
