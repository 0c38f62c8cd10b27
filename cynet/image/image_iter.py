"""ImageIter: batches of images from records, list files or lists, with augmenters."""

from __future__ import annotations

import logging
import os
import random
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    FormatError,
    ShapeError,
    describe_error,
    loop_error,
    shown,
    with_message,
)
from ..base.files import read_file
from ..base.overrides import overridden_methods
from ..io import DataBatch, DataDesc, DataIter
from ..io.positions import check_keys, read_position, read_row_indices
from ..io.rows_iter import resolve_data_part
from ..ndarray import NDArray
from ..recordio import MXIndexedRecordIO, MXRecordIO
from .augment import CreateAugmenter, checked_shape
from .augmenter import apply_augmenter
from .codec import decode_rgb
from .geometry import imdecode, pixel_array
from .source import FileSource, RecordSource, parse_image_list, part_range, read_list_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kvstore import KVStoreBase
    from ..typing import FileName

__all__ = ["ImageIter"]

_LABEL_DTYPES = ("float32", "float64", "int32", "int64")
_MODES = ("pad", "discard", "roll_over")  # values of last_batch_handle
SUBCLASS_HOOKS = ("imdecode", "check_valid_image", "augmentation_transform", "postprocess_data")


class ImageIter(DataIter):
    """Iterates over batches of images, which are decoded and augmented one by one.

    Faster, and with fewer augmenters: :class:`cynet.io.ImageRecordIter`.

    Parameters
    ----------
    batch_size : int
        Number of images in a batch.
    data_shape : tuple of int
        Shape of an image in a batch: (3, height, width).
    label_width : int
        Number of values in a label.
    path_imgrec : str, optional
        File of records to read the images from.
    path_imglist : str, optional
        List file, with lines of number, labels and path; with `path_imgrec` its labels replace
        those of the records.
    path_root : str, optional
        Folder that the paths of images are relative to.
    path_imgidx : str, optional
        Index of the records; without one the file is scanned first.
    shuffle : bool
        Draw a new order each epoch, from Python's ``random``.
    part_index, num_parts : int
        Which of `num_parts` equal parts of the data to read; a KVStore as `num_parts` is one part
        for each of its ranks.
    aug_list : list of Augmenter, optional
        Augmenters of each image; by default ``CreateAugmenter(data_shape, **kwargs)``.
    imglist : list, optional
        The images as items [label, path], instead of a file.
    dtype : str
        Type of labels: float32, float64, int32 or int64.
    last_batch_handle : str
        What to do with a last batch that is not full: ``'pad'`` fills it up with images from the
        beginning, ``'discard'`` leaves it out, ``'roll_over'`` begins the next epoch with it.
    skip_damaged : bool
        Leave out images that cannot be read, and count them in ``skipped``.
    **kwargs
        Arguments of :func:`CreateAugmenter`.

    Attributes
    ----------
    num_image : int
        Number of images in this part.
    imgrec, imgidx, imglist, path_root
        The sources of the images, None if they are not used.

    Raises
    ------
    FormatError
        An image or a record is damaged, and `skip_damaged` is not set.

    Examples
    --------
    Four images in a file of records:

    >>> records = mx.recordio.MXRecordIO("images.rec", "w")
    >>> for i in range(4):
    ...     pixels = np.full((8, 10, 3), 50 * i, "uint8")
    ...     header = mx.recordio.IRHeader(0, i, i, 0)
    ...     records.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> records.close()
    >>> images = mx.image.ImageIter(2, (3, 6, 6), path_imgrec="images.rec")
    >>> [(batch.data[0].shape, batch.label[0].asnumpy().tolist()) for batch in images]
    [((2, 3, 6, 6), [0.0, 1.0]), ((2, 3, 6, 6), [2.0, 3.0])]

    What it does with each of them:

    >>> images.hard_reset()
    >>> place = images.state_dict()
    >>> label, content = images.next_sample()
    >>> image = images.imdecode(content)
    >>> images.check_valid_image([image])
    >>> image.shape, images.postprocess_data(images.augmentation_transform(image)).shape
    ((8, 10, 3), (3, 6, 6))

    Back to the first of them:

    >>> images.load_state_dict(place)
    >>> images.next_sample()[0].item()
    0.0
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: FileName | None = None,
        path_imglist: FileName | None = None,
        path_root: FileName | None = None,
        path_imgidx: FileName | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int | KVStoreBase = 1,
        aug_list: Sequence[Any] | None = None,
        imglist: Sequence[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        skip_damaged: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(batch_size)
        num_parts, part_index = resolve_data_part(num_parts, part_index, type(self).__name__)
        if dtype not in _LABEL_DTYPES:
            raise ArgumentError(f"dtype is one of {', '.join(_LABEL_DTYPES)}, got {shown(dtype)}")
        if last_batch_handle not in _MODES:
            raise ArgumentError(
                f"last_batch_handle is one of {', '.join(_MODES)}, got {shown(last_batch_handle)}"
            )
        if batch_size < 1 or label_width < 1:
            raise ArgumentError(
                f"batch_size and label_width are 1 or more, got {batch_size}, {label_width}"
            )
        self.check_data_shape(data_shape)
        self.data_shape = checked_shape(data_shape)
        self.label_width = label_width
        self.skip_damaged, self.skipped = skip_damaged, 0
        self.shuffle, self.last_batch_handle = shuffle, last_batch_handle
        # scripts pass empty strings for missing values
        path_imgrec, path_imgidx, path_imglist = (
            None if isinstance(each, str) and not each else each
            for each in (path_imgrec, path_imgidx, path_imglist)
        )
        self.path_root, self._index = path_root, path_imgidx
        self._listed: dict[Any, Any] | None = None  # id to (label, path)
        self._source = self._open_source(path_imgrec, path_imgidx, path_imglist, imglist, path_root)
        if num_parts == 1 and part_index == 0:
            self.seq = list(range(len(self._source)))
        else:
            self.seq = list(part_range(len(self._source), part_index, num_parts))
        if not self.seq:
            raise FormatError(f"there are no images for part {part_index} of {num_parts}")
        self.num_image = len(self.seq)
        if aug_list is None:
            self.auglist = self._create_augmenters(self.data_shape, kwargs)
        elif kwargs:
            raise ArgumentTypeError(f"with aug_list there are no other augmenters: {list(kwargs)}")
        else:
            self.auglist = list(aug_list)
        labels = (batch_size,) if label_width == 1 else (batch_size, label_width)
        self.provide_data = [DataDesc(data_name, (batch_size, *self.data_shape))]
        self.provide_label = [DataDesc(label_name, labels, np.dtype(dtype).type)]
        self._of_user = overridden_methods(type(self), (*SUBCLASS_HOOKS, "read_image"))
        self._left: list[int] = []  # samples left from the last epoch (roll_over)
        self.reset()

    def _open_source(self, path_imgrec, path_imgidx, path_imglist, imglist, path_root):
        if path_imglist is not None:
            self._listed = read_list_file(path_imglist)
        if path_imgrec is not None:
            labels = self._listed and {number: each[0] for number, each in self._listed.items()}
            return RecordSource(
                path_imgrec, path_imgidx, labels, self._skip_sample if self.skip_damaged else None
            )
        if self._listed is None:
            if imglist is None:
                raise ArgumentError("images come from path_imgrec, path_imglist or imglist")
            self._listed = {str(i): each for i, each in enumerate(parse_image_list(imglist), 1)}
        return FileSource(list(self._listed.values()), path_root)

    # attributes of MXNet, which scripts and subclasses may replace
    @cached_property
    def imgrec(self) -> MXRecordIO | None:
        """Return a new reader at the first record; None without `path_imgrec`."""
        if not isinstance(self._source, RecordSource):
            return None
        name = self._source.single_file()
        if self._index is None:
            return MXRecordIO(name, "r")
        return MXIndexedRecordIO(os.fspath(self._index), name, "r")

    @cached_property
    def imgidx(self) -> list[int] | None:
        """The keys of the index, or None without an index."""
        return self._source.keys if isinstance(self._source, RecordSource) else None

    @cached_property
    def imglist(self) -> dict[Any, tuple[NDArray, str]] | None:
        """Dict of id to (label, path), from a list file or a list (ids ``"1"``, ...), or None."""
        if self._listed is None:
            return None
        return {number: (nd.array(label), path) for number, (label, path) in self._listed.items()}

    def _create_augmenters(self, data_shape, kwargs):
        return CreateAugmenter(data_shape, **kwargs)

    def _skip_sample(self, error):
        self.skipped += 1
        logging.getLogger("cynet").warning("left out: %s", error)

    def reset(self) -> None:
        """Begin an epoch."""
        if self.shuffle:
            random.shuffle(self.seq)
        self.cur = -len(self._left)

    def hard_reset(self) -> None:
        """Begin an epoch, and drop samples that ``roll_over`` left from the last epoch."""
        self._left = []
        self.reset()

    def state_dict(self) -> dict[str, Any]:
        """Return the iterator's position, for `load_state_dict`.

        Augmenters draw from Python's ``random`` and from ``numpy.random``, whose states are theirs.

        Returns
        -------
        dict
            ``'seq'``, the order of the images, ``'left'``, those that rolled over, and ``'cur'``,
            the place in that order.
        """
        return {
            "seq": np.array(self.seq, np.int64),
            "left": np.array(self._left, np.int64),
            "cur": self.cur,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position from `state_dict`, with the same images.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.

        Raises
        ------
        FormatError
            That is not a state of it, or one of another number of images.
        """
        who, count = type(self).__name__, len(self._source)
        check_keys(state, who, ("seq", "left", "cur"))
        seq = read_row_indices(state, "seq", who, count, np.array(self.seq))
        left = read_row_indices(state, "left", who, count)
        if len(left) >= self.batch_size or not np.isin(left, seq).all():
            raise FormatError(f"expected a state of {who}, got one with {shown(left)} besides")
        cur = read_position(state, "cur", who, -len(left), len(seq))
        self.seq, self._left, self.cur = seq.tolist(), left.tolist(), cur

    def _next_index(self):
        """Return the next sample's index, or None at the end."""
        if self.cur >= len(self.seq):
            return None
        number = self._left[self.cur] if self.cur < 0 else self.seq[self.cur]
        self.cur += 1
        self._last = number
        return number

    def next_sample(self) -> tuple[Any, bytes]:
        """Return label and compressed image of the next sample.

        Returns
        -------
        (label, content) : float or numpy.ndarray, bytes
            A label of one number is a ``numpy.float32``, one of several an array.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        FormatError
            If a record is damaged, or a label has not `label_width` numbers.
        """
        number = self._next_index()
        if number is None:
            raise StopIteration
        try:
            if isinstance(self._source, FileSource) and self._overrides_method("read_image"):
                label = self._source.label(number)
                content = self.read_image(self._source.entries[number][1])
            else:
                label, content = self._source.sample(number)
            return self._parse_sample_label(label, number), content
        except StopIteration as error:  # a subclass's StopIteration must not end the epoch
            raise loop_error(
                error, f"{describe_error(error)} ({self._source.name(number)})"
            ) from error

    def _parse_sample_label(self, label, index):
        label = np.asarray(label, np.float32).reshape(-1)
        if len(label) != self.label_width:
            raise FormatError(
                f"{self._source.name(index)}: its label has {len(label)} numbers, label_width is"
                f" {self.label_width}"
            )
        return label[0] if self.label_width == 1 else label

    def next(self) -> DataBatch:
        data = np.empty((self.batch_size, *self.data_shape), np.float32)
        labels = np.empty(self.provide_label[0].shape, np.float32)
        taken: list[int] = []
        self._fill_batch(data, labels, taken)
        count = len(taken)
        if count < self.batch_size:
            if self.last_batch_handle == "roll_over":
                self._left = taken
            if not count or self.last_batch_handle != "pad":
                raise StopIteration
            while len(taken) < self.batch_size:
                self.cur, before = 0, len(taken)
                self._fill_batch(data, labels, taken)
                if len(taken) == before:
                    raise FormatError("no image can be read any more")
            self.cur = len(self.seq)
        elif self.cur >= 0:
            self._left = []
        return DataBatch(
            [nd.array(data)],
            [nd.array(labels, dtype=self.provide_label[0].dtype)],
            pad=self.batch_size - count,
        )

    def _fill_batch(self, data, labels, taken):
        """Fill the remainder of a batch with the epoch's next samples."""
        while len(taken) < self.batch_size:
            try:
                try:
                    label, content = self.next_sample()
                except StopIteration:
                    return
                self._store_sample(data, labels, len(taken), label, content)
            except StopIteration as error:  # an augmenter's StopIteration would end the epoch
                name = self._source.name(self._last)
                raise loop_error(
                    error, f"{describe_error(error)} ({type(self).__name__}: in {name})"
                ) from error
            except CynetError as error:
                name = self._source.name(self._last)
                if not isinstance(error, (FormatError, ShapeError)) or not self.skip_damaged:
                    if name in str(error):
                        raise
                    raise with_message(error, f"{name}: {error}") from error
                self._skip_sample(error)
                continue
            taken.append(self._last)

    def _overrides_method(self, *names):
        """Return whether a subclass, or this object, overrides one of the methods `names`."""
        return not (self._of_user.isdisjoint(names) and vars(self).keys().isdisjoint(names))

    def _store_sample(self, data, labels, row, label, content):
        labels[row] = label
        if not self._overrides_method(*SUBCLASS_HOOKS):
            array = decode_rgb(content)
            for each in self.auglist:
                array = apply_augmenter(each, array)
        else:
            image = self.imdecode(content)
            self.check_valid_image([image])
            image = self.postprocess_data(self.augmentation_transform(image))
            array = pixel_array(image).transpose(1, 2, 0)
        self._store_image(data, row, array)

    def _store_image(self, data, row, array):
        array = array.transpose(2, 0, 1)
        if array.shape != self.data_shape:
            raise ShapeError(
                f"the augmenters give an image of shape {array.shape}, data_shape is"
                f" {self.data_shape}"
            )
        data[row] = array

    # --- methods that subclasses may override ----------------------------------------------------
    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Refuse a `data_shape` that is not (3, height, width).

        Parameters
        ----------
        data_shape : tuple of int
            The shape to check.

        Raises
        ------
        ArgumentError
            If it has another length or another number of channels.

        Examples
        --------
        >>> mx.image.ImageIter(1, (1, 8, 8), imglist=[[0, "a.png"]])
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentError: ImageIter gives 3 channels, data_shape is (1, 8, 8)
        """
        if checked_shape(data_shape)[0] != 3:
            raise ArgumentError(f"ImageIter gives 3 channels, data_shape is {shown(data_shape)}")

    def check_valid_image(self, data: Sequence[NDArray]) -> None:
        """Refuse an image without axes; a subclass may refuse more.

        Parameters
        ----------
        data : list of NDArray
            One image (H, W, C).

        Raises
        ------
        FormatError
            If it has no axes.
        """
        if len(data[0].shape) == 0:
            raise FormatError("an image without pixels")

    def imdecode(self, s: bytes) -> NDArray:
        """Decode an image: (H, W, 3), uint8.

        Parameters
        ----------
        s : bytes
            The compressed image as `next_sample` returned it: JPEG, PNG or another format that
            OpenCV reads.
        """
        return imdecode(s)

    def read_image(self, fname: FileName) -> bytes:
        """Read a file below ``path_root``.

        Parameters
        ----------
        fname : str
            Path of the file, relative to ``path_root``.

        Raises
        ------
        FileError
            If it cannot be read.

        Examples
        --------
        >>> from pathlib import Path
        >>> Path("photos").mkdir()
        >>> _ = Path("photos/a.png").write_bytes(b"what the file has")
        >>> images = mx.image.ImageIter(1, (3, 6, 6), imglist=[[0, "a.png"]], path_root="photos")
        >>> images.read_image("a.png")
        b'what the file has'
        """
        return read_file(FileSource([(None, fname)], self.path_root).path(0))

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """Apply all augmenters to an image; the result has the shape (H, W, C).

        Parameters
        ----------
        data : NDArray
            An image, (H, W, C).
        """
        for each in self.auglist:
            data = each(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """Move the channels of an image to the front: (C, H, W).

        Parameters
        ----------
        datum : NDArray
            Shape (H, W, C).
        """
        return nd.transpose(datum, axes=(2, 0, 1))
