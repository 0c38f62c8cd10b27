"""RecordBatches: the order of records in batches, and the filling of batches by threads."""

import logging
import threading

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, CynetError, FormatError, shown, with_message
from ..base.opencv import cv
from ..engine.trace import Span
from .codec import decode_rgb
from .into_batch import writable_view
from .record_augment import Normalizer, RecordAugmenter
from .record_options import NORMALIZE_OPTIONS
from .source import RecordSource, read_list_file

_DECODE_SPAN = Span("decode image", "data")  # time range in the profiler's trace


class ImageBatch:  # images and labels of a batch, which threads fill
    """Arrays of a batch, which threads fill."""

    def __init__(self, numbers, pad, epoch, at, data_shape, label_width, dtype):
        count = len(numbers)
        self.numbers, self.pad, self.epoch, self.at = numbers, pad, epoch, at
        # reuses pooled memory of an earlier batch: new pages cost as much as normalizing
        self.array = nd.empty((count, *data_shape), dtype=dtype)
        self.data = writable_view(self.array)
        self.labels = np.empty((count, label_width), np.float32)
        self.index = np.empty(count, np.uint64)


class RecordBatches:  # decodes a record file's images into batches
    """Makes and fills batches of a record file; several threads may fill batches at once.

    options (dict): Of ``READ_OPTIONS``, ``AUGMENT_OPTIONS`` and, perhaps, ``NORMALIZE_OPTIONS``.
    shape (tuple of int): (channels, height, width).
    dtype: numpy dtype
    """

    def __init__(self, options, shape, dtype):
        self._o = o = options
        self._shape, self._kind = shape, dtype
        self._lock = threading.Lock()
        self.skipped = 0
        self.parts = min(max(o["preprocess_threads"], 1), o["batch_size"])
        labels = None
        if o["path_imglist"]:
            labels = {number: each[0] for number, each in read_list_file(o["path_imglist"]).items()}
        self._source = RecordSource(
            o["path_imgrec"],
            o["path_imgidx"] or None,
            labels,
            self._skip_record if o["skip_damaged"] else None,
        )
        self._numbers = self._part_record_numbers(o["part_index"], o["num_parts"])
        if o["verbose"]:
            logging.getLogger("cynet").info("%s: %d images", o["path_imgrec"], len(self._numbers))
        self._augment = self._make_augmenter(o, shape)
        normalizing = {key: option.default for key, option in NORMALIZE_OPTIONS.items()} | o
        self._normalize = Normalizer(self._normalization_options(normalizing), shape)
        self.label_width = self._label_row_length(o)

    def _make_augmenter(self, options, shape):
        return RecordAugmenter(options, shape)

    def _normalization_options(self, options):
        return options

    def _label_row_length(self, options):
        return options["label_width"]

    def __len__(self):
        return len(self._numbers)

    def _skip_record(self, error):
        with self._lock:
            self.skipped += 1
        logging.getLogger("cynet").warning("left out: %s", error)

    def _part_record_numbers(self, index, count):
        if count < 1 or not 0 <= index < count:
            raise ArgumentError(f"part_index is from 0 to num_parts - 1, got {index}, {count}")
        each = -(-len(self._source) // count)  # the last part is shorter, as in MXNet
        numbers = np.arange(index * each, min((index + 1) * each, len(self._source)))
        if not len(numbers):
            raise FormatError(
                f"{shown(self._source.path)} has no images for part {index} of {count}"
            )
        return numbers

    def _record_order(self, epoch):
        if not self._o["shuffle"]:
            return self._numbers
        seed = abs(self._o["seed"] + self._o["shuffle_chunk_seed"])
        return self._numbers[np.random.default_rng([seed, epoch]).permutation(len(self._numbers))]

    def empty_batches(self, epoch, start):
        """Yield empty batches of an epoch from batch `start` on."""
        order, size = self._record_order(epoch), self._o["batch_size"]
        for at in range(start, len(order), size):
            numbers = order[at : at + size]
            pad = size - len(numbers)
            if pad:
                after = self._record_order(epoch + 1) if self._o["round_batch"] else order
                numbers = np.concatenate([numbers, np.resize(after, pad)])
            yield ImageBatch(numbers, pad, epoch, at, self._shape, self.label_width, self._kind)

    def fill(self, batch, part):  # the samples of one thread's part
        good = None
        for row in range(part, len(batch.numbers), self.parts):
            try:
                with _DECODE_SPAN:
                    self._fill_sample(batch, row, int(batch.numbers[row]))
                good = row
            except FormatError as error:
                if not self._o["skip_damaged"]:
                    raise
                self._skip_record(error)
                self._replace_damaged_samples(batch, row, good)

    def _fill_sample(self, batch, row, index):
        seed = self._o["seed_aug"] if self._o["seed_aug"] is not None else self._o["seed"]
        rng = np.random.default_rng([abs(seed), batch.epoch, batch.at + row])
        try:
            id_, label, content = self._source.sample_with_id(index)
            channels = self._shape[0]
            image = decode_rgb(content, {1: 0, 3: 1, 4: -1}[channels])
            if image.shape[2] != channels:
                raise FormatError(f"an image of {image.shape[2]} channels, not {channels}")
            if channels == 4:
                image = cv().cvtColor(image, cv().COLOR_BGRA2RGBA)
            self._store_sample(batch, row, image, np.asarray(label, np.float32).reshape(-1), rng)
        except CynetError as error:
            name = self._source.name(index)
            if name in str(error):
                raise
            raise with_message(error, f"{name}: {error}") from error
        batch.index[row] = id_

    def _store_sample(self, batch, row, image, label, rng):
        """Write an image and its label into a batch."""
        if label.size != self.label_width:
            raise FormatError(
                f"its label has {label.size} numbers, label_width is {self.label_width}"
            )
        self._normalize(self._augment(image, rng), batch.data[row], rng)
        batch.labels[row] = label

    def _replace_damaged_samples(self, batch, row, good_row):
        """Replace a damaged image by the last good one before it, or else by the next good one."""
        if good_row is not None:
            for each in (batch.data, batch.labels, batch.index):
                each[row] = each[good_row]
            return
        first = int(batch.numbers[row])
        for number in [*range(first + 1, len(self._source)), *range(first)]:
            try:
                self._fill_sample(batch, row, number)
                return
            except FormatError:
                continue
        raise FormatError(f"{shown(self._source.path)} has no image that can be read")
