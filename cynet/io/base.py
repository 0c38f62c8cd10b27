"""DataDesc, DataBatch and DataIter: the interface between data and training loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import ArgumentTypeError
from ..base.guard import PER_BATCH_METHODS, Guarded, guarded
from ..base.reprs import ReprMixin
from ..engine.trace import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..typing import DTypeLike, Shape

_DATA_SPAN = Span("data", "training")  # time range in the profiler's trace


@guarded
class DataDesc(NamedTuple("DataDesc", [("name", str), ("shape", tuple[int, ...])])):
    """Name and shape of one input, with its dtype and layout.

    Compares as the pair (name, shape).

    Parameters
    ----------
    name : str
        Name of the input.
    shape : tuple of int
        Shape, with the batch axis.
    dtype : str or numpy.dtype
        Element type.
    layout : str
        One letter for each axis; ``N`` is the batch axis.

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
        """Return the index of ``N`` in a layout: 0 for None, -1 if it has no batch axis.

        Parameters
        ----------
        layout : str or None
            One letter for each axis: ``'NCHW'``.

        Examples
        --------
        >>> [DataDesc.get_batch_axis(layout) for layout in ("TNC", None, "C")]
        [1, 0, -1]
        """
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Iterable[tuple[str, Shape]], types: Iterable[tuple[str, DTypeLike]] | None
    ) -> list[DataDesc]:
        """Make descriptions from names, shapes and dtypes.

        Parameters
        ----------
        shapes : list of (str, tuple of int)
            Names and shapes.
        types : list of (str, numpy dtype) or None
            A dtype for each of the names; None makes all of them float32.

        Examples
        --------
        >>> shapes = [("data", (8, 3)), ("label", (8,))]
        >>> DataDesc.get_list(shapes, [("data", "float16"), ("label", "int8")])
        [DataDesc[data,(8, 3),float16,NCHW], DataDesc[label,(8,),int8,NCHW]]
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
        The input arrays.
    label : list of NDArray, optional
        The label arrays.
    pad : int, optional
        Number of examples at the end that only fill up the batch.
    index : array, optional
        Numbers of the examples in the data set.
    bucket_key : hashable, optional
        Selects the symbol of a BucketingModule.
    provide_data, provide_label : list of DataDesc, optional
        Names and shapes, if they differ from the iterator's.

    Raises
    ------
    ArgumentTypeError
        `data` or `label` is not a list.

    Examples
    --------
    >>> batch = DataBatch([mx.nd.zeros((8, 3))], [mx.nd.zeros((8,))], pad=2)
    >>> print(batch)
    DataBatch: data shapes: [(8, 3)] label shapes: [(8,)]
    >>> batch.pad
    2
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


class DataIter(Guarded, ReprMixin):
    """Base of iterators over batches.

    One thread at a time uses an iterator (docs/guide/threads.md).

    A subclass defines ``provide_data`` and ``provide_label`` and either ``next`` or the parts it is
    made from: ``iter_next`` (move on; False at the end), ``getdata``, ``getlabel``, ``getpad``,
    ``getindex``. ``reset`` starts over.

    Examples
    --------
    >>> class Squares(mx.io.DataIter):
    ...     provide_data = [mx.io.DataDesc("x", (2,))]
    ...     provide_label = [mx.io.DataDesc("y", (2,))]
    ...     start = -2
    ...     def reset(self):
    ...         self.start = -2
    ...     def iter_next(self):
    ...         self.start += 2
    ...         return self.start < 6
    ...     def getdata(self):
    ...         return [mx.nd.arange(self.start, self.start + 2)]
    ...     def getlabel(self):
    ...         return [self.getdata()[0] ** 2]
    >>> squares = Squares(batch_size=2)
    >>> [batch.label[0].asnumpy().tolist() for batch in squares]
    [[0.0, 1.0], [4.0, 9.0], [16.0, 25.0]]
    >>> squares.reset()
    >>> squares.next().data[0].asnumpy()
    array([0., 1.], dtype=float32)
    """

    _unguarded = PER_BATCH_METHODS

    if TYPE_CHECKING:

        @property
        def provide_data(self) -> list[DataDesc]: ...
        @property
        def provide_label(self) -> list[DataDesc]: ...

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def _repr_settings(self):
        data, labels = (
            [(each[0], each[1]) for each in given or ()] or None
            for given in (self.provide_data, self.provide_label)
        )
        return {"data": data, "labels": labels, "batch_size": self.batch_size or None}

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def __next__(self) -> DataBatch:
        with _DATA_SPAN:
            return self.next()

    def reset(self) -> None:
        """Start over: the next batch is the first batch of a new epoch.

        Examples
        --------
        >>> batches = mx.io.NDArrayIter(np.arange(4), batch_size=2)
        >>> len(list(batches)), len(list(batches))
        (2, 0)
        >>> batches.reset()
        >>> len(list(batches))
        2
        """

    def next(self) -> DataBatch:
        """Return the next batch.

        Raises
        ------
        StopIteration
            At the end of the epoch.

        Examples
        --------
        >>> batches = mx.io.NDArrayIter(np.arange(3), batch_size=2)
        >>> batches.next().data[0].asnumpy(), batches.next().data[0].asnumpy()
        (array([0., 1.], dtype=float32), array([2., 0.], dtype=float32))
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Move to the next batch, for `getdata`, `getlabel`, `getpad` and `getindex`.

        Returns
        -------
        bool
            False if there is none.

        Examples
        --------
        >>> batches = mx.io.NDArrayIter(np.arange(3), batch_size=2)
        >>> while batches.iter_next():
        ...     print(batches.getdata()[0].asnumpy(), batches.getpad())
        [0. 1.] 0
        [2. 0.] 1
        """
        return False

    def getdata(self) -> Any:
        """Return the data arrays of the current batch.

        Returns
        -------
        list of NDArray
            One NDArray of iterators over files, as in MXNet.

        Examples
        --------
        >>> batches = mx.io.NDArrayIter(np.arange(4), batch_size=2)
        >>> batches.iter_next(), batches.getdata()[0].shape
        (True, (2,))
        """
        return None

    def getlabel(self) -> Any:
        """Return the label arrays of the current batch.

        Returns
        -------
        list of NDArray
            One NDArray of iterators over files, as in MXNet.

        Examples
        --------
        >>> batches = mx.io.NDArrayIter(np.arange(4), np.array([0, 1, 1, 0]), batch_size=2)
        >>> batches.iter_next(), batches.getlabel()[0].asnumpy()
        (True, array([0., 1.], dtype=float32))
        """
        return None

    def getindex(self) -> Any:
        r"""Return the indices of the examples in the current batch.

        Returns
        -------
        numpy.ndarray or None
            None if the iterator does not tell.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("x.csv").write_text("1\n2\n3\n4\n")
        >>> batches = mx.io.CSVIter("x.csv", (1,), batch_size=2)
        >>> batches.iter_next(), batches.iter_next(), batches.getindex()
        (True, True, array([2, 3], dtype=uint64))
        """
        return None

    def getpad(self) -> int | None:
        """Return the number of padding entries at the end of the current batch.

        Examples
        --------
        >>> batches = mx.io.NDArrayIter(np.arange(3), batch_size=4)
        >>> batches.iter_next(), batches.getpad()
        (True, 1)
        """
        return 0
