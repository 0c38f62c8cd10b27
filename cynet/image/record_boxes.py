"""ImageDetRecordIter: batches of images with boxes, prepared by threads ahead of their use."""

from __future__ import annotations

import numpy as np

from ..base.errors import ArgumentError, CynetError, FormatError, with_message
from . import record_options as tables
from .box_augment import BoxAugmenter
from .boxes import select_nonempty_boxes, split_box_label
from .record_batches import RecordBatches
from .record_iter import ImageRecordIter, options_signature

_HEADER_LENGTH = 4  # channels, height and width of the image, length of its label


class BoxBatches(RecordBatches):  # batches of images with boxes
    """Makes and fills batches of images with boxes. A row of labels is: channels, height and width
    of the image in the batch, the number of values that follow, head and boxes, padding."""

    def _make_augmenter(self, options, shape):
        return BoxAugmenter(options, shape)

    def _normalization_options(self, options):
        # options with another meaning for images with boxes
        others = {name: tables.NORMALIZE_OPTIONS[name].default for name in tables.NON_BOX_OPTIONS}
        if any(options[f"mean_{c}"] for c in "rgba"):
            others["mean_img"] = ""  # as in MXNet, channel means replace the mean image
        return options | others | {f"std_{c}": options[f"std_{c}"] or 1.0 for c in "rgba"}

    def _label_row_length(self, options):
        """Return the length of a label row, including its header."""
        width, capacity = options["label_width"], options["label_pad_width"]
        if width <= 0 and capacity <= 0:
            width = max(map(self._label_width, self._numbers.tolist()))
        if 0 < capacity < width:
            raise ArgumentError(f"label_pad_width={capacity} is less than label_width={width}")
        return _HEADER_LENGTH + max(width, capacity)

    def _label_width(self, index):
        try:
            return self._source.label_size(index)
        except CynetError as error:
            if self._o["skip_damaged"]:
                return 0  # such a record is counted when its image is decoded
            name = self._source.name(index)
            raise (
                error if name in str(error) else with_message(error, f"{name}: {error}")
            ) from error

    def _store_sample(self, batch, i, image, label, rng):
        capacity = batch.labels.shape[1] - _HEADER_LENGTH
        if len(label) > capacity or 0 < self._o["label_width"] != len(label):
            says = f"label_width is {self._o['label_width']}, label_pad_width {capacity}"
            raise FormatError(f"its label has {len(label)} numbers; {says}")
        head, boxes = split_box_label(label)
        image, boxes = self._augment(image, select_nonempty_boxes(boxes), rng)
        out, row = batch.data[i], batch.labels[i]
        channels, height, width = out.shape
        new_h, new_w = image.shape[:2]
        if (new_h, new_w) != (height, width):  # the area beside and below the image is black
            image = np.pad(image, ((0, height - new_h), (0, width - new_w), (0, 0)))
        self._normalize(image, out, rng)
        numbers = np.concatenate([head, boxes.ravel()])
        row[:_HEADER_LENGTH] = channels, new_h, new_w, len(numbers)
        row[_HEADER_LENGTH : _HEADER_LENGTH + len(numbers)] = numbers
        row[_HEADER_LENGTH + len(numbers) :] = self._o["label_pad_value"]


class ImageDetRecordIter(ImageRecordIter):
    """Iterates over batches of images with boxes from a record file, like :class:`ImageRecordIter`.

    A record's label is flat: how many numbers its head has (2 or more), how many a box has (5 or
    more), the rest of the head, and the boxes: class, xmin, ymin, xmax, ymax from 0 to 1, and what
    more there is. A row of a batch's labels has before that: channels, height and width of the
    image in the batch, how many numbers follow; after it it is filled up with `label_pad_value`.

    Colors, a mirror image, a border (``rand_pad_prob``) and a crop (``rand_crop_prob``) are drawn
    in this order. A crop is of one of ``num_crop_sampler`` kinds, tried in any order: it is taken
    when one object fulfils all ranges of overlap and coverage, and one stays in it.

    Parameters
    ----------
    path_imgrec : str
        File of records.
    data_shape : tuple of int
        (channels, height, width).
    batch_size : int
    **kwargs
        What MXNet 1.9.1 documents; ``help`` of ``cynet.image.record_options`` says what each does.

    Raises
    ------
    ArgumentTypeError
        When there is no such parameter.
    FormatError
        When a record, its label or its image is damaged; in the order of batches, with its name.
    """

    _tables = (tables.BOX_READ_OPTIONS, tables.BOX_AUGMENT_OPTIONS, tables.BOX_NORMALIZE_OPTIONS)
    _dtypes = ("float32",)
    _batches = BoxBatches


ImageDetRecordIter.__signature__ = options_signature(ImageDetRecordIter._tables)
