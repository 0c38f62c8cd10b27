"""SparseEmbedding: an Embedding whose weight is a row_sparse parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import ndarray as nd
from ...block import Block

if TYPE_CHECKING:
    from ....typing import DTypeLike, InitializerLike, NDArray

__all__ = ["SparseEmbedding"]


class SparseEmbedding(Block):
    """An embedding whose weight and gradient are row_sparse.

    Parameters
    ----------
    dtype : str or numpy.dtype
        Type of the weight, and so of the vectors.
    weight_initializer : Initializer or str, optional
        Initializer of the matrix.
    **kwargs
        See :class:`Block`.

    Examples
    --------
    >>> layer = mx.gluon.contrib.nn.SparseEmbedding(10, 4)
    >>> layer.initialize()
    >>> with mx.autograd.record():
    ...     y = layer(mx.nd.array([7, 2]))
    ...
    >>> y.backward()
    >>> layer.weight.grad().indices.asnumpy()  # the gradient holds these rows only
    array([2, 7])
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitializerLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": True,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def forward(self, x: NDArray) -> NDArray:
        """Return the weight's rows at the indices `x`."""
        return nd.Embedding(x, self.weight.row_sparse_data(x), name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        sizes = f"{self._kwargs['input_dim']} -> {self._kwargs['output_dim']}"
        return f"SparseEmbedding({sizes}, {self._kwargs['dtype']})"
