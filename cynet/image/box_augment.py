"""Augmentation of an image and its boxes in ImageDetRecordIter."""

import math

import numpy as np

from ..base.errors import ArgumentError, shown
from .boxes import box_areas, intersection_areas, mirror_boxes, move_boxes, select_nonempty_boxes
from .record_augment import add_border, check_inter_method, resize_by_method, shift_hls

# range of a crop -> the options with its lower and upper bound, one value for each kind of crop
_CROP_RANGES = {  # options with lower and upper bounds
    "scale": ("min_crop_scales", "max_crop_scales"),
    "ratio": ("min_crop_aspect_ratios", "max_crop_aspect_ratios"),
    "overlap": ("min_crop_overlaps", "max_crop_overlaps"),
    "sample": ("min_crop_sample_coverages", "max_crop_sample_coverages"),
    "object": ("min_crop_object_coverages", "max_crop_object_coverages"),
}


class _CropKind:  # ranges of a random crop's size and overlap
    """One kind of crop: ranges of its size and aspect ratio, and of its overlap with objects."""

    def __init__(self, ranges, trials):
        self.ranges, self.trials = ranges, trials

    def draw_box(self, height, width, rng):
        """Draw a random crop (x, y, width, height) in pixels; None if it has no pixels."""
        scale = rng.uniform(*self.ranges["scale"])
        low, high = self.ranges["ratio"]
        if scale > 0:  # only aspect ratios with which the crop fits
            low = max(low, scale**2 * width / height)
            high = max(low, min(high, width / height / scale**2))
        ratio, side = rng.uniform(low, high), scale * math.sqrt(width * height)
        if ratio <= 0:
            return None
        w = min(int(side * math.sqrt(ratio) + 1e-6), width)
        h = min(int(side / math.sqrt(ratio) + 1e-6), height)
        if w < 1 or h < 1:
            return None
        return int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1)), w, h

    def contains_object(self, boxes, crop_box):
        """Return whether the crop `crop_box` overlaps an object as the ranges require."""
        x, y, w, h = crop_box
        common = intersection_areas(boxes[:, 1:5], (x, y, x + w, y + h))
        of = box_areas(boxes[:, 1:5])
        good = np.ones(len(boxes), bool)
        with np.errstate(divide="ignore", invalid="ignore"):  # a box may have no area
            for name, value in (
                ("overlap", common / (of + w * h - common)),
                ("sample", common / (w * h)),
                ("object", common / of),
            ):
                low, high = self.ranges[name]
                if (low, high) != (0, 1):
                    value = np.minimum(value, 1)  # rounding may exceed 1
                    good &= (low <= value) & (value <= high)
        return bool(good.any())


class BoxAugmenter:  # random changes of an image and its boxes
    """Augments uint8 pixels (H, W, C) and boxes (N, 5 or more) by ``BOX_AUGMENT_OPTIONS``.

    All that is random is drawn from the generator of the call.
    """

    def __init__(self, options, data_shape):
        self.o = o = options
        self.channels, self.height, self.width = data_shape
        if o["aug_seq"] not in ("det_aug_default", ""):
            raise ArgumentError(f"aug_seq is 'det_aug_default', got {shown(o['aug_seq'])}")
        check_inter_method(o["inter_method"])
        if o["max_pad_scale"] < 1:
            raise ArgumentError(f"max_pad_scale is 1 or more, got {o['max_pad_scale']}")
        self.crops = self._read_crops() if o["rand_crop_prob"] > 0 else []

    def _read_crops(self):
        count = self.o["num_crop_sampler"]
        if count < 1:
            raise ArgumentError(f"num_crop_sampler is 1 or more, got {count}")
        names = [*sum(_CROP_RANGES.values(), ()), "max_crop_trials"]
        values = {name: self.o[name] for name in names}
        for name, given in values.items():
            if len(given) not in (1, count):
                raise ArgumentError(
                    f"{name} has 1 or num_crop_sampler={count} values, got {shown(given)}"
                )
            values[name] = given if len(given) == count else given * count
        for low, high in _CROP_RANGES.values():
            for a, b in zip(values[low], values[high]):
                if not 0 <= a <= b < math.inf:
                    raise ArgumentError(f"expected {low} <= {high}, got {low}={a} and {high}={b}")
        for high in values["max_crop_scales"]:
            if not 0 < high <= 1:
                raise ArgumentError(f"max_crop_scales are above 0 and at most 1, got {high}")
        return [
            _CropKind(
                {k: (values[low][i], values[high][i]) for k, (low, high) in _CROP_RANGES.items()},
                values["max_crop_trials"][i],
            )
            for i in range(count)
        ]

    def __call__(self, image, boxes, rng):
        """Return (pixels, boxes); pixels have the size of `data_shape`, or less
        (``resize_mode``)."""
        o = self.o
        if o["resize"] > 0:
            height, width = image.shape[:2]
            short = o["resize"] / min(height, width)
            new_w = o["resize"] if width <= height else int(width * short)
            new_h = o["resize"] if height <= width else int(height * short)
            image = resize_by_method(image, new_w, new_h, o["inter_method"], rng)
        if self.channels == 3:
            image = self._jitter_colors(image, rng)
        if self._happens_by_chance("rand_mirror_prob", rng):
            image, boxes = image[:, ::-1], mirror_boxes(boxes)
        if o["max_pad_scale"] > 1 and self._happens_by_chance("rand_pad_prob", rng):
            image, boxes = self._pad_image(image, boxes, rng)
        if self.crops and self._happens_by_chance("rand_crop_prob", rng):
            image, boxes = self._crop_image(image, boxes, rng)
        return resize_by_method(
            image, *self._final_size(*image.shape[:2]), o["inter_method"], rng
        ), boxes

    def _happens_by_chance(self, name, rng):
        return self.o[name] > 0 and rng.random() < self.o[name]

    def _jitter_colors(self, image, rng):
        o, shift = self.o, [0, 0, 0]
        for i, name in enumerate(("hue", "illumination", "saturation")):  # HLS as in OpenCV
            maximum = o[f"max_random_{name}"]
            if maximum > 0 and self._happens_by_chance(f"random_{name}_prob", rng):
                shift[i] = int(rng.integers(-maximum, maximum + 1))
        if any(shift):
            image = shift_hls(image, shift)
        maximum = o["max_random_contrast"]
        if maximum > 0 and self._happens_by_chance("random_contrast_prob", rng):
            factor = np.float32(1 + rng.uniform(-maximum, maximum))
            image = (image * factor).clip(0, 255).astype(np.uint8)
        return image

    def _pad_image(self, image, boxes, rng):
        height, width = image.shape[:2]
        scale = rng.uniform(1, self.o["max_pad_scale"])
        new_h, new_w = int(height * scale), int(width * scale)
        y, x = (int(rng.integers(n + 1)) for n in (new_h - height, new_w - width))
        sides = (y, new_h - height - y, x, new_w - width - x)
        image = add_border(image, sides, self.o["fill_value"])
        return image, move_boxes(boxes, -x / width, -y / height, new_w / width, new_h / height)

    def _crop_image(self, image, boxes, rng):
        height, width = image.shape[:2]
        for number in rng.permutation(len(self.crops)):
            kind = self.crops[number]
            for _ in range(kind.trials):
                found = kind.draw_box(height, width, rng)
                if found is None:
                    continue
                x, y, w, h = found
                crop_box = (x / width, y / height, w / width, h / height)
                if len(boxes) and not kind.contains_object(boxes, crop_box):
                    continue
                left = self._clip_boxes(boxes, crop_box)
                if len(left) or not len(boxes):
                    return image[y : y + h, x : x + w], left
        return image, boxes

    def _clip_boxes(self, boxes, crop_box):
        """Return the boxes that stay in a crop, cut at its border."""
        out = move_boxes(boxes, *crop_box)
        inside = out.copy()
        inside[:, 1:5] = out[:, 1:5].clip(0, 1)
        if self.o["crop_emit_mode"] == "center":
            middle = (out[:, 1:3] + out[:, 3:5]) / 2
            stays = ((middle >= 0) & (middle <= 1)).all(1)
        else:
            part = box_areas(inside[:, 1:5])
            stays = part >= self.o["emit_overlap_thresh"] * box_areas(out[:, 1:5])
        return select_nonempty_boxes(inside[stays])

    def _final_size(self, height, width):
        """Return the final (width, height) of an image under ``resize_mode``."""
        mode = self.o["resize_mode"]
        if mode == "force":
            return self.width, self.height
        if mode == "shrink" and width <= self.width and height <= self.height:
            return width, height
        if width * self.height >= self.width * height:
            return self.width, max(height * self.width // width, 1)
        return max(width * self.height // height, 1), self.height
