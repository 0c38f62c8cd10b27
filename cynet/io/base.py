"""DataDesc, DataBatch and DataIter: what a training loop gets its data through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import ArgumentTypeError
from ..base.guard import PER_BATCH, guarded
from ..engine.trace import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..typing import DTypeLike, Shape

_DATA = Span("data", "training")


@guarded
class DataDesc(NamedTuple("DataDesc", [("name", str), ("shape", tuple[int, ...])])):
    """Name and shape of one input, with its dtype and layout.

    Compares as the pair (name, shape).

    Parameters
    ----------
    name : str
    shape : tuple of int
        With the batch axis.
    dtype : numpy dtype
    layout : str
        One letter an axis; ``N`` is the batch axis.

    Examples
    --------
    >>> DataDesc("data", (128, 1, 28, 28))
    DataDesc[data,(128, 1, 28, 28),<class 'numpy.float32'>,NCHW]
    """

    dtype: DTypeLike
    layout: str

    def __new__(
        cls, name: str, shape: Sequence[int], dtype: DTypeLike = np.float32, layout: str = "NCHW"
    ) -> DataDesc:
        desc = super().__new__(cls, name, tuple(shape))
        desc.dtype = dtype
        desc.layout = layout
        return desc

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __getnewargs__(self):
        return self.name, self.shape, self.dtype, self.layout

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The position of ``N`` in `layout`; 0 for None, -1 when there is none.

        Parameters
        ----------
        layout : str
            Letters of the axes: ``'NCHW'``.

        Returns
        -------
        int
        """
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Iterable[tuple[str, Shape]], types: Iterable[tuple[str, DTypeLike]] | None
    ) -> list[DataDesc]:
        """Descriptions from pairs (name, shape) and, unless None, pairs (name, dtype).

        Returns
        -------
        list of DataDesc
        """
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """One batch: lists of data and label arrays.

    One thread at a time uses it (docs/guide/threads.md).

    Parameters
    ----------
    data : list of NDArray
    label : list of NDArray, optional
    pad : int, optional
        How many entries at the end only fill the batch up.
    index : array, optional
        Numbers of the examples.
    bucket_key : optional
        Which symbol of a BucketingModule the batch is for.
    provide_data, provide_label : list of DataDesc, optional
        Names and shapes, when they differ from the iterator's.

    Raises
    ------
    ArgumentTypeError
        A value has another type; the message names it.
    """

    def __init__(
        self,
        data: Sequence[Any] | None,
        label: Sequence[Any] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Sequence[DataDesc] | None = None,
        provide_label: Sequence[DataDesc] | None = None,
    ) -> None:
        for name, arrays in (("data", data), ("label", label)):
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise ArgumentTypeError(
                    f"DataBatch: {name} must be a list of NDArrays, got {type(arrays).__name__}"
                )
        self.data: Sequence[Any] | Any = data
        self.label: Sequence[Any] | Any = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        data, label = (
            None if arrays is None else [array.shape for array in arrays]
            for arrays in (self.data, self.label)
        )
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


@guarded(but=PER_BATCH)
class DataIter:
    """Base of iterators over batches.

    One thread at a time uses an iterator (docs/guide/threads.md).

    A subclass defines ``provide_data`` and ``provide_label`` and either ``next`` or the parts it is
    made from: ``iter_next`` (move on; False at the end), ``getdata``, ``getlabel``, ``getpad``,
    ``getindex``. ``reset`` starts over.

    Parameters
    ----------
    batch_size : int
    """

    if TYPE_CHECKING:

        @property
        def provide_data(self) -> list[DataDesc]: ...
        @property
        def provide_label(self) -> list[DataDesc]: ...

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def __next__(self) -> DataBatch:
        with _DATA:
            return self.next()

    def reset(self) -> None:
        """Start over."""

    def next(self) -> DataBatch:
        """The next batch, or StopIteration."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Move to the next batch; False when there is none.

        Returns
        -------
        bool
        """
        return False

    def getdata(self) -> Any:
        """The current batch's data arrays."""
        return None

    def getlabel(self) -> Any:
        """The current batch's label arrays."""
        return None

    def getindex(self) -> Any:
        """The current batch's example numbers, or None."""
        return None

    def getpad(self) -> int | None:
        """How many entries of the current batch only fill it up."""
        return 0
