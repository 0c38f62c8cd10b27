"""ImageDetIter: batches of images and their boxes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, CynetError, FormatError, ShapeError, shown
from ..base.opencv import cv
from ..io import DataDesc
from .augment import checked_shape
from .boxes import MIN_COLUMNS, select_nonempty_boxes, split_box_label
from .codec import decode_rgb
from .detection import CreateDetAugmenter, apply_with_boxes
from .geometry import pixel_array
from .image_iter import SUBCLASS_HOOKS, ImageIter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..kvstore import KVStoreBase
    from ..typing import FileName, NumpyArray

__all__ = ["ImageDetIter"]


class ImageDetIter(ImageIter):
    """Iterates over batches of images with boxes.

    A batch's label is (N, most boxes, numbers of a box), filled up with rows of -1.

    A record's label is: how many numbers its head has, how many each box has, the rest of the head,
    and the boxes: class, xmin, ymin, xmax, ymax from 0 to 1, and what more there is.

    Parameters
    ----------
    batch_size : int
        Number of examples in a batch.
    data_shape : tuple of int
        (3, height, width).
    path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index
        See :class:`ImageIter`.
    num_parts, imglist, last_batch_handle, skip_damaged
        See :class:`ImageIter`.
    aug_list : list of DetAugmenter, optional
        Augmenters of each image; by default ``CreateDetAugmenter(data_shape, **kwargs)``.
    **kwargs
        Arguments of :func:`CreateDetAugmenter`.

    Raises
    ------
    FormatError
        If a label is none of that form, or none of its boxes has an area; the message names the
        image.

    Examples
    --------
    Two images, of one box and of two:

    >>> records = mx.recordio.MXRecordIO("boxes.rec", "w")
    >>> for i, boxes in enumerate([[1, 0, 0, 0.5, 0.5], [0, 0, 0, 1, 1, 2, 0.5, 0.5, 1, 1]]):
    ...     header = mx.recordio.IRHeader(0, [2, 5, *boxes], i, 0)
    ...     pixels = np.zeros((8, 10, 3), "uint8")
    ...     records.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> records.close()
    >>> images = mx.image.ImageDetIter(2, (3, 16, 16), path_imgrec="boxes.rec")
    >>> batch = images.next()
    >>> batch.data[0].shape, batch.label[0].shape
    ((2, 3, 16, 16), (2, 2, 5))
    >>> batch.label[0][0].asnumpy()
    array([[ 1. ,  0. ,  0. ,  0.5,  0.5],
           [-1. , -1. , -1. , -1. , -1. ]], dtype=float32)

    Capacity for more boxes, in both of two iterators:

    >>> images.reshape(label_shape=(4, 5))
    >>> other = mx.image.ImageDetIter(2, (3, 16, 16), path_imgrec="boxes.rec")
    >>> images.sync_label_shape(other).label_shape
    (4, 5)

    Images with their boxes drawn on them:

    >>> images.reset()
    >>> [(drawn.shape, drawn.dtype) for drawn in images.draw_next(color=(255, 0, 0))]
    [((16, 16, 3), dtype('uint8')), ((16, 16, 3), dtype('uint8'))]
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
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
        label_name: str = "label",
        last_batch_handle: str = "pad",
        skip_damaged: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            batch_size,
            data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=aug_list,
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
            skip_damaged=skip_damaged,
            **kwargs,
        )
        self.label_shape = self._estimate_label_shape()
        self._set_data_descriptions()
        if shuffle:  # MXNet shuffles before and after finding the label shape
            self.reset()
            self.reset()

    def _create_augmenters(self, data_shape, kwargs):
        return CreateDetAugmenter(data_shape, **kwargs)

    def _set_data_descriptions(self):
        data, label = self.provide_data[0].name, self.provide_label[0].name
        self.provide_data = [DataDesc(data, (self.batch_size, *self.data_shape))]
        self.provide_label = [DataDesc(label, (self.batch_size, *self.label_shape))]

    def _estimate_label_shape(self):
        """Return (largest number of boxes, length of a box) among all samples."""
        maximum, width = 0, MIN_COLUMNS
        for number in self.seq:
            try:
                boxes = self._parse_label(self._source.label(number))
            except CynetError as error:
                if not self.skip_damaged:
                    raise FormatError(f"{self._source.name(number)}: {error}") from None
                continue
            maximum, width = max(maximum, len(boxes)), max(width, boxes.shape[1])
        return maximum, width

    def _parse_label(self, label):
        """Return the boxes (N, length of a box) of a record's label; drop boxes without area."""
        boxes = select_nonempty_boxes(split_box_label(label)[1])
        if not len(boxes):
            raise FormatError("no box of a label has an area")
        return boxes

    def _parse_sample_label(self, label, index):
        return self._parse_label(label)

    def _store_sample(self, data, labels, row, label, content):
        if np.ndim(label) < 2:  # a subclass's next_sample may return the record's flat label
            label = self._parse_label(label)
        if self._overrides_method(*SUBCLASS_HOOKS):
            image = self.imdecode(content)
            self.check_valid_image([image])
            image, boxes = self.augmentation_transform(image, label)
            boxes = boxes.asnumpy() if isinstance(boxes, nd.NDArray) else np.asarray(boxes)
            array = pixel_array(self.postprocess_data(image)).transpose(1, 2, 0)
        else:
            array, boxes = self._augment_sample(decode_rgb(content), label)
        self._check_valid_label(boxes)
        maximum, width = self.label_shape
        labels[row] = -1
        if len(boxes) > maximum or boxes.shape[1] > width:
            raise ShapeError(f"{boxes.shape} boxes do not fit into label_shape {self.label_shape}")
        labels[row, : len(boxes), : boxes.shape[1]] = boxes
        self._store_image(data, row, array)

    def _check_valid_label(self, label):
        if label.ndim != 2 or label.shape[1] < MIN_COLUMNS:
            raise FormatError(
                f"boxes of shape {label.shape}: expected are rows of {MIN_COLUMNS} numbers or more"
            )

    def _augment_sample(self, array, boxes):
        for each in self.auglist:
            array, boxes = apply_with_boxes(each, array, boxes)
        return array, boxes

    def augmentation_transform(self, data: Any, label: NumpyArray) -> Any:
        """Apply all augmenters to an image and its boxes.

        Parameters
        ----------
        data : NDArray
            Shape (H, W, C).
        label : numpy.ndarray
            A box a row.

        Returns
        -------
        (NDArray, numpy.ndarray)
        """
        for each in self.auglist:
            data, label = each(data, label)
        return data, label

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Refuse a label shape that cannot hold boxes.

        Parameters
        ----------
        label_shape : tuple of int
            Shape of a label: (largest number of boxes, numbers of a box).

        Raises
        ------
        ArgumentError
            If it is not a pair, has room for fewer boxes than there are, or for boxes of another
            width.

        Examples
        --------
        >>> records = mx.recordio.MXRecordIO("boxes.rec", "w")
        >>> header = mx.recordio.IRHeader(0, [2, 5, 0, 0, 0, 1, 1, 2, 0.5, 0.5, 1, 1], 0, 0)
        >>> pixels = np.zeros((8, 10, 3), "uint8")
        >>> records.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
        >>> records.close()
        >>> images = mx.image.ImageDetIter(1, (3, 16, 16), path_imgrec="boxes.rec")
        >>> images.check_label_shape((3, 5))
        >>> images.check_label_shape((1, 5))
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentError: label_shape (1, 5) holds less than (2, 5), or boxes of another
            width
        """
        if len(label_shape) != 2:
            raise ArgumentError(f"label_shape is (most boxes, numbers), got {shown(label_shape)}")
        maximum, width = self.label_shape
        if label_shape[0] < maximum or label_shape[1] != width:
            raise ArgumentError(
                f"label_shape {tuple(label_shape)} holds less than {self.label_shape}, or boxes of"
                " another width"
            )

    def reshape(
        self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None
    ) -> None:
        """Change the shapes of batches; the last augmenter must produce images of `data_shape`.

        Parameters
        ----------
        data_shape : tuple of int, optional
            (3, height, width).
        label_shape : tuple of int, optional
            (largest number of boxes, numbers of a box); at least as many boxes as before.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = checked_shape(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.label_shape = tuple(label_shape)
        self._set_data_descriptions()

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Set the label shapes of two iterators, such as training and validation, to the larger of
        both.

        Parameters
        ----------
        it : ImageDetIter
            The other iterator.
        verbose : bool
            Log the shape.

        Returns
        -------
        ImageDetIter
            `it`.

        Raises
        ------
        ArgumentError
            The labels of the two iterators have boxes of different widths.
        """
        if self.label_shape[1] != it.label_shape[1]:
            raise ArgumentError(f"boxes of widths {self.label_shape[1]} and {it.label_shape[1]}")
        maximum = max(self.label_shape[0], it.label_shape[0])
        for each in (self, it):
            each.reshape(label_shape=(maximum, self.label_shape[1]))
        if verbose:
            import logging

            logging.getLogger("cynet").info("label shape: %s", self.label_shape)
        return it

    def draw_next(
        self,
        color: Any = None,
        thickness: int = 2,
        mean: Any = None,
        std: Any = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: dict[int, str] | None = None,
    ) -> Iterator[NumpyArray]:
        """Yield the next images with their boxes drawn on them, until the end of the epoch.

        Parameters
        ----------
        color : tuple of int, optional
            Color of all boxes; None draws a random color for each.
        thickness : int
            Width of the lines, in pixels.
        mean, std : array, or True, optional
            Mean and standard deviation that a normalization used, to undo it; True means
            ImageNet's.
        clip : bool
            Clip pixels to the range from 0 to 255.
        waitKey : int, optional
            Number of milliseconds for which each image is shown in a window; this needs an OpenCV
            with windows.
        window_name : str
            Title of the window.
        id2labels : dict, optional
            Text to write beside the boxes of each class.

        Yields
        ------
        numpy.ndarray
            (H, W, 3), uint8.
        """
        mean = np.array([123.68, 116.28, 103.53]) if mean is True else mean
        std = np.array([58.395, 57.12, 57.375]) if std is True else std
        module = cv()
        while True:
            try:
                label, content = self.next_sample()
            except StopIteration:
                return
            array, boxes = self._augment_sample(decode_rgb(content), label)
            array = array.astype(np.float32)
            if std is not None:
                array = array * np.asarray(std, np.float32)
            if mean is not None:
                array = array + np.asarray(mean, np.float32)
            array = np.ascontiguousarray(array.clip(0, 255) if clip else array, np.uint8)
            height, width = array.shape[:2]
            for box in boxes:
                corners = (box[1:5] * [width, height, width, height]).astype(int).tolist()
                chosen = color or tuple(random.randint(0, 255) for _ in range(3))
                module.rectangle(array, corners[:2], corners[2:], chosen, thickness)
                text = (id2labels or {}).get(int(box[0]))
                if text is not None:
                    at = (corners[0] + 5, corners[1] + 15)
                    module.putText(array, str(text), at, module.FONT_HERSHEY_SIMPLEX, 0.5, chosen)
            if waitKey is not None:
                module.imshow(window_name, array[..., ::-1])
                module.waitKey(waitKey)
            yield array
