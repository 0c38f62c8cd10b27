"""mx.contrib.io: an iterator over a Gluon DataLoader, for Module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentTypeError, FormatError, NotFoundError, ShapeError, shown
from ..io import DataBatch, DataDesc, DataIter
from ..ndarray import NDArray, array, concat, zeros

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DataLoaderIter"]


class DataLoaderIter(DataIter):
    """Iterates over a DataLoader whose batches are pairs (data, label).

    A last batch that is smaller is filled with zeros, and its `pad` says by how many rows.

    Parameters
    ----------
    loader : gluon.data.DataLoader
        A loader whose batches are pairs of data and label.
    data_name, label_name : str
        Names in ``provide_data`` and ``provide_label``.
    dtype : str or numpy.dtype
        Type that data and labels are converted to.

    Raises
    ------
    ArgumentTypeError
        The loader gives something else than pairs.

    Examples
    --------
    >>> pairs = mx.gluon.data.ArrayDataset(mx.nd.ones((5, 2)), mx.nd.zeros(5))
    >>> batches = mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(pairs, batch_size=3))
    >>> [batch.pad for batch in batches]
    [0, 1]

    An epoch goes on where it was:

    >>> batches.reset()
    >>> first = next(batches)
    >>> state = batches.state_dict()
    >>> batches.load_state_dict(state)
    >>> [batch.pad for batch in batches]
    [1]
    """

    def __init__(
        self,
        loader: Any,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self._loader, self._iter = loader, iter(loader)
        self._dtype, self._batch = dtype, None
        first = next(self._iter, None)
        if not isinstance(first, (list, tuple)) or len(first) != 2:
            raise ArgumentTypeError(
                "DataLoaderIter: the loader's batches must be pairs of data and label"
            )
        data, label = first
        self.batch_size = data.shape[0]
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self.reset()

    def reset(self) -> None:
        self._iter = iter(self._loader)
        self._batch, self._ended = None, False

    @property
    def state_dict(self) -> Callable[[], dict[str, Any]]:
        """Return the loader's ``state_dict``, its position; only if the loader supports it."""
        of_loader = self._check_resumable().state_dict
        return lambda: {"ended": self._ended, **of_loader()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position from `state_dict`, with the remaining batches of the epoch.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.

        Raises
        ------
        FormatError
            That is not a state of it.
        NotFoundError
            The loader inside cannot say where it is.
        """
        loader = self._check_resumable()
        if not isinstance(state, dict) or not isinstance(state.get("ended"), bool):
            raise FormatError(f"expected a state of a DataLoaderIter, got {shown(state)}")
        loader.load_state_dict({name: value for name, value in state.items() if name != "ended"})
        if state["ended"]:  # reset starts the next epoch
            self._iter, self._batch, self._ended = iter(()), None, True
        else:
            self.reset()

    def _check_resumable(self):
        if not hasattr(self._loader, "state_dict"):
            kind = type(self._loader).__name__
            raise NotFoundError(f"DataLoaderIter: {kind} inside has no state_dict")
        return self._loader

    def iter_next(self) -> bool:
        self._batch = next(self._iter, None)
        self._ended = self._batch is None
        if self._batch is not None and self._batch[0].shape[0] > self.batch_size:
            raise ShapeError(
                f"DataLoaderIter: a batch has {self._batch[0].shape[0]} rows, "
                f"the first one had {self.batch_size}"
            )
        return self._batch is not None

    def _pad_batch(self, value: Any) -> NDArray:
        value = value.astype(self._dtype) if isinstance(value, NDArray) else array(value)
        pad = self.getpad()
        if pad:
            value = concat(value, zeros((pad, *value.shape[1:]), dtype=self._dtype), dim=0)
        return value

    def getdata(self) -> list[NDArray]:
        return [self._pad_batch(self._batch[0])]

    def getlabel(self) -> list[NDArray]:
        return [self._pad_batch(self._batch[1])]

    def getpad(self) -> int:
        return self.batch_size - self._batch[0].shape[0]

    def getindex(self) -> None:
        return None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())
