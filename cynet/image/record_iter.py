"""ImageRecordIter and variants: batches of images, prepared by threads ahead of their use."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..io import DataDesc, MXDataIter
from ..io.positions import check_item_count, check_keys, read_position
from .mean_image import write_mean_image
from .pipeline import BatchPipeline
from .record_batches import ImageBatch, RecordBatches
from .record_options import AUGMENT_OPTIONS, NORMALIZE_OPTIONS, READ_OPTIONS, read_options

if TYPE_CHECKING:
    from ..typing import NDArray, NumpyArray


class ImageRecordIter(MXDataIter):
    """Iterates over batches of images from a record file; threads read, decode and augment the
    images ahead of their use.

    One seed gives the same batches for any number of threads. The parameters are MXNet's; ``help``
    of ``cynet.image.record_options`` and docs/guide/feeding_data.md say what each one does.

    Parameters
    ----------
    path_imgrec : str
        File of records; several with ``;`` between, or a folder of files ``*.rec``.
    data_shape : tuple of int
        (channels, height, width).
    batch_size : int
    skip_damaged : bool
        Leave out images that cannot be read, and count them in ``skipped``; their place has the
        image before them, or the next one.
    **kwargs
        What MXNet 1.9.1 documents.

    Raises
    ------
    ArgumentTypeError
        When there is no such parameter.
    FormatError
        When a record or an image is damaged; in the order of batches. The message names it.
    """

    _dtype = "float32"
    _dtypes: tuple[str, ...] = ("float32", "uint8", "int8")
    _tables = (READ_OPTIONS, AUGMENT_OPTIONS, NORMALIZE_OPTIONS)
    _batches = RecordBatches

    def __init__(self, **kwargs: Any) -> None:
        name = type(self).__name__
        table = {key: option for each in self._tables for key, option in each.items()}
        self._o = o = read_options(name, table, kwargs)
        super().__init__(o["batch_size"])
        if not o["path_imgrec"]:
            raise ArgumentTypeError(f"{name} needs path_imgrec")
        shape = o["data_shape"]
        if len(shape) != 3 or shape[0] not in (1, 3, 4) or min(shape) < 1:
            raise ArgumentError(
                f"data_shape is (channels, height, width) with 1, 3 or 4 channels, got {shape}"
            )
        if o["batch_size"] < 1:
            raise ArgumentError(f"batch_size is 1 or more, got {o['batch_size']}")
        dtype = np.dtype(o["dtype"] or self._dtype)
        if dtype.name not in self._dtypes:
            known = ", ".join(self._dtypes)
            raise ArgumentError(f"dtype is one of {known}, got {shown(o['dtype'])}")
        write_mean_image(type(self), o)
        self._work = self._batches(o, shape, dtype)
        self._length = len(self._work)
        count, width = o["batch_size"], self._work.label_width
        label_shape = (count,) if width == 1 else (count, width)
        self.provide_data = [DataDesc(o["data_name"], (count, *shape), dtype.type)]
        self.provide_label = [DataDesc(o["label_name"], label_shape)]
        self._next_epoch, self._start = 0, 0
        self._pipeline: BatchPipeline | None = None
        self._current: ImageBatch | None = None  # the batch that was returned last
        self._began = False

    def _begin_epoch(self):
        self._stop_pipeline()
        threads = max(self._o["preprocess_threads"], 1)
        tasks = self._work.empty_batches(self._next_epoch, self._start)
        ahead = max(self._o["prefetch_buffer"], 1)
        self._began = False  # stays False if Ctrl-C interrupts the start
        self._pipeline = BatchPipeline(tasks, self._work.parts, self._work.fill, threads, ahead)

    def _stop_pipeline(self):
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.close()

    @property
    def num_data(self) -> int:
        """The number of images in an epoch."""
        return self._length

    @property
    def skipped(self) -> int:
        """The number of damaged images that were left out."""
        return self._work.skipped

    def reset(self) -> None:
        """Begin the next epoch; a call before the first batch does nothing."""
        if not self._began and self._pipeline is not None:
            return
        if self._began:
            over = max(self.state_dict()["position"] - self._length, 0)
            self._start = over % self._length if self._o["round_batch"] else 0
            self._next_epoch += 1
            self._current = self._batch = None
        self._begin_epoch()

    def _load_batch(self) -> ImageBatch | None:
        if self._pipeline is None or not self._pipeline.is_usable():
            self.load_state_dict(self.state_dict())
        batch = self._pipeline.next()
        self._began = True
        if batch is not None:
            self._current = batch
        return batch

    def getdata(self) -> NDArray:
        """The current batch's images."""
        return self._current_batch().array

    def getlabel(self) -> NDArray:
        """The current batch's labels."""
        labels = self._current_batch().labels
        return nd.from_numpy(labels[:, 0].copy() if labels.shape[1] == 1 else labels)

    def getpad(self) -> int:
        return self._current_batch().pad

    def getindex(self) -> NumpyArray:
        """Return the ids of the current batch's images, from their records."""
        return self._current_batch().index

    def close(self) -> None:
        """End the threads; the next batch starts new ones."""
        self._stop_pipeline()

    def state_dict(self) -> dict[str, int]:
        """Return the iterator's position: the epoch, the index of its next batch, and whether
        ``reset`` begins another epoch."""
        began = int(self._began)
        epoch, at = self._next_epoch, self._start
        if self._current is not None and self._began:
            epoch, at = self._current.epoch, self._current.at + self.batch_size
        return {"epoch": epoch, "position": at, "began": began, "records": self._length}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue at the position from `state_dict`.

        Raises
        ------
        FormatError
            That is no state of it, or one of another number of records.
        """
        who = type(self).__name__
        check_keys(state, who, ("epoch", "position"), optional=("began", "records"))
        check_item_count(state, "records", who, self._length, "records")
        epoch = read_position(state, "epoch", who, 0, 1 << 62)
        start = read_position(state, "position", who, 0, self._length + self.batch_size - 1)
        began = read_position({"began": int(start > 0), **state}, "began", who, 0, 1)
        self._next_epoch, self._start = epoch, start
        self._current = self._batch = None
        self._begin_epoch()
        self._began = bool(began)


def options_signature(tables):
    """Return the signature that ``help`` shows, from option tables."""
    required, others = [], []
    for name, option in (item for each in tables for item in each.items()):
        needed = name in ("path_imgrec", "data_shape", "batch_size")
        default = inspect.Parameter.empty if needed else option.default
        one = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        (required if needed else others).append(one)
    return inspect.Signature([*required, *others])


class ImageRecordUInt8Iter(ImageRecordIter):
    """An :class:`ImageRecordIter` whose batches are uint8, neither mirrored nor normalized."""

    _dtype = "uint8"
    _dtypes = ("uint8",)
    _tables = (READ_OPTIONS, AUGMENT_OPTIONS)


class ImageRecordInt8Iter(ImageRecordUInt8Iter):
    """An :class:`ImageRecordUInt8Iter` with int8 batches: 128 to 255 become 127, as in MXNet."""

    _dtype = "int8"
    _dtypes = ("int8",)


for _kind in (ImageRecordIter, ImageRecordUInt8Iter, ImageRecordInt8Iter):
    _kind.__signature__ = options_signature(_kind._tables)
